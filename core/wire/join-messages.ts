/**
 * Messages with which an agent asks its parent for a certificate. The agent sends HTTP/1.1 requests to the port for sessions, over TLS that ends at the
 * parent. Bodies are JSON. A refusal has a status, the error code in a header, and a message.
 */
import * as z from 'zod';
import { requestBytesMax } from '../identity/request-bytes.ts';

/** GET, allowed for anybody: returns the authorities of the tree as PEM. */
export const authorityPath = '/banyan.mesh.v1/authority';
/** POST with a JoinRequest that contains a join token. The agent has no certificate. */
export const joinPath = '/banyan.mesh.v1/join';
/** POST with a RenewRequest. The agent shows the certificate that it wants to renew. */
export const renewPath = '/banyan.mesh.v1/renew';

/** Maximal bytes of a body, in both directions. A request has at most a quarter of this. The chain in an answer has a few kilobytes. */
export const joinBodyBytesMax = 32 * 1024;

const requestText = z.string().min(1).max(requestBytesMax);

export const joinRequestSchema = z.strictObject({
  /** The name of the join token. The next field has its secret. */
  name: z.string().max(64),
  secret: z.string().max(64),
  path: z.string().max(4_096),
  /** A PKCS #10 request as PEM. */
  request: requestText,
});

export const renewRequestSchema = z.strictObject({ request: requestText });

export const joinAnswerSchema = z.object({
  /** All authorities that the parent trusts, as PEM. */
  authority: z.string().min(1),
  /** The certificates of the agent and of the issuer, as PEM. */
  certificate: z.string().min(1),
});

export type JoinRequest = z.infer<typeof joinRequestSchema>;
export type JoinAnswer = z.infer<typeof joinAnswerSchema>;
