/**
 * How an agent asks its parent for a certificate: by HTTP/1.1 requests to the port where sessions begin, over TLS that ends at the parent. Bodies are JSON. A
 * refusal has a status, the code in a header, and a message.
 */
import * as z from 'zod';
import { requestBytesMax } from '../identity/request-bytes.ts';

/** GET: the authorities of the tree as PEM, to anybody. */
export const authorityPath = '/banyan.mesh.v1/authority';
/** POST: a JoinRequest with a join token, without a certificate. */
export const joinPath = '/banyan.mesh.v1/join';
/** POST: a RenewRequest. The agent shows the certificate that is to be renewed. */
export const renewPath = '/banyan.mesh.v1/renew';

/** Bytes of a body, in either direction: a request has at most a quarter of this, and the chain in an answer some kilobytes. */
export const joinBodyBytesMax = 32 * 1024;

const requestText = z.string().min(1).max(requestBytesMax);

export const joinRequestSchema = z.strictObject({
  /** The name and the secret of the join token. */
  name: z.string().max(64),
  secret: z.string().max(64),
  path: z.string().max(4_096),
  /** PEM: PKCS #10. */
  request: requestText,
});

export const renewRequestSchema = z.strictObject({ request: requestText });

export const joinAnswerSchema = z.object({
  /** PEM: all authorities that the parent trusts. */
  authority: z.string().min(1),
  /** PEM: the certificates of the agent and of the issuer. */
  certificate: z.string().min(1),
});

export type JoinRequest = z.infer<typeof joinRequestSchema>;
export type JoinAnswer = z.infer<typeof joinAnswerSchema>;
