/**
 * Messages with which an agent or a relay asks its parent for a certificate. The node sends HTTP/1.1 requests to the port for sessions, over TLS that ends at the
 * parent. Bodies are JSON. A refusal has a status, the error code in a header, and a message.
 */
import * as z from 'zod';
import { requestBytesMax } from '../identity/request-bytes.ts';

/** GET, allowed for anybody: returns the authorities of the tree as PEM. */
export const authorityPath = '/banyan.mesh.v1/authority';
/** POST with a JoinRequest that contains a join token. The node has no certificate. */
export const joinPath = '/banyan.mesh.v1/join';
/** POST with a RenewRequest. The node shows the certificate that it wants to renew. */
export const renewPath = '/banyan.mesh.v1/renew';

/** Maximal bytes of a body, in both directions. A request has at most a quarter of this. The two chains in an answer for a relay have at most 20 KB. */
export const joinBodyBytesMax = 32 * 1024;

const requestText = z.string().min(1).max(requestBytesMax);

export const joinRequestSchema = z.strictObject({
  /** The name of the join token. The next field has its secret. */
  name: z.string().max(64),
  secret: z.string().max(64),
  path: z.string().max(4_096),
  /** Absent: an agent. A parent of an older version refuses a request of a relay as a whole. */
  role: z.literal('relay').optional(),
  /** A PKCS #10 request as PEM. */
  request: requestText,
});

export const renewRequestSchema = z.strictObject({ request: requestText });

export const joinAnswerSchema = z.object({
  /** All authorities that the parent trusts, as PEM. */
  authority: z.string().min(1),
  /** The certificates of the node and of the issuers above, as PEM. */
  certificate: z.string().min(1),
  /** Only for a relay: the certificate with which it signs for its subtree, for the same key, and those of the issuers above, as PEM. */
  issuer: z.string().min(1).optional(),
});

export type JoinRequest = z.infer<typeof joinRequestSchema>;
export type JoinAnswer = z.infer<typeof joinAnswerSchema>;
