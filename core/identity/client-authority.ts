/**
 * To which of several authorities the certificate of a client leads. TLS has already checked signatures, dates and use, against the authorities of all kinds
 * together. It does not say which of them it has used.
 */
import { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import * as z from 'zod';
import { pathUp, sentChain } from './certificate-chain.ts';

/**
 * `pki.users` of a configuration. `ca`: the file with the authorities of users. Several at once are possible, so that one can replace another. Absent: the
 * authority of the tree is the one of users too.
 */
export const usersSchema = z.strictObject({ ca: z.string().min(1) });

/** Limit for the certificates between the client's own and the authority. OpenSSL accepts up to 100; companies use two or three. */
const betweenMax = 8;

/** Whether a path leads from the first certificate, through the others, to one of the authorities. */
export function leadsTo(chain: readonly X509Certificate[], authorities: readonly X509Certificate[]): boolean {
  return pathUp(chain, authorities) !== undefined;
}

/** The certificates that the client has sent: its own, then those between. */
export function clientChain(socket: Pick<TLSSocket, 'getPeerX509Certificate'>): X509Certificate[] {
  return sentChain(socket, betweenMax).map((der) => new X509Certificate(der));
}
