/** The parent's end of one transport: gets finished TLS connections and makes links of them. */

import type { TLSSocket } from 'node:tls';
import { identityOfPeer, type PeerIdentity } from '../identity/peer-identity.ts';
import type { Clock } from '../runtime/clock.ts';
import { BanyanError } from '../runtime/errors.ts';
import { hostPort } from '../runtime/host-port.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Random } from '../runtime/random.ts';
import type { FrameLink } from './frame-link.ts';
import type { Joins } from './joins.ts';
import type { Accept, Link, LinkEvents } from './link.ts';
import type { Refusal } from './refusals.ts';
import type { StrangersLog } from './strangers.ts';

export interface Acceptor {
  /** From now on, the acceptor owns the connection. */
  take(socket: TLSSocket): void;
  /** The open links. */
  links(): Link[];
  /** Called when no connection is left. */
  end(): void;
}

/** Called once for each connection, or call on a shared connection, that ends before its link is accepted. */
export type Refused = (refusal: Refusal) => void;

/** The parts that an acceptor uses to handle its connections. */
export interface Accepting {
  readonly accept: Accept;
  /** For links whose peer has yet to prove its identity. The proof comes before `accept` is called. */
  readonly acceptUnproven: (link: FrameLink) => LinkEvents;
  /** The connection has no certificate and needs none, since TLS is terminated on the way. */
  isTerminated(socket: TLSSocket): boolean;
  /**
   * Asks the handshake rate limiter for a further session on a connection whose own turn was used by another session. Ms to wait. Undefined: the session is
   * turned away.
   */
  admit(): number | undefined;
  /** Absent: this node gives no certificates. */
  readonly joins: Joins | undefined;
  readonly refused: Refused;
  readonly strangers: StrangersLog;
  readonly log: Logger;
  readonly clock: Clock;
  readonly random: Random;
}

/** The peer of a link whose child has not identified itself yet. No child attaches under this identity. */
export const unproven: PeerIdentity = { path: '', role: 'agent' };

/** A connection that has not finished its handshake, or has no session, is closed after this time. */
export const sessionWithinMs = 10_000;
/** How long the other side has to read why its call ended, and to close the connection. */
export const lingerMs = 2_000;
/** Length of a session's name. Nobody can guess the name, although only the session's own child could use it. */
export const sessionNameBytes = 16;

export function remoteOf({ remoteAddress, remotePort }: Pick<TLSSocket, 'remoteAddress' | 'remotePort'>): string {
  return remoteAddress === undefined ? 'gone already' : hostPort(remoteAddress, remotePort ?? 0);
}

/** The fault of a new connection's certificate. A closed connection has no certificate any more, so this is checked when the connection begins. */
export function flawOf(socket: TLSSocket): BanyanError | undefined {
  try {
    identityOfPeer(socket);
    return undefined;
  } catch (flaw) {
    if (flaw instanceof BanyanError) return flaw;
    throw flaw;
  }
}

/** For a connection that never carried a session: why it was closed, for the log, and the reason under which it is counted. */
export function whyUnused({ error, flaw }: { readonly error?: Error; readonly flaw: BanyanError | undefined }): {
  readonly error: Error;
  readonly refusal: Refusal;
} {
  if (error) return { error, refusal: 'no_session' };
  if (flaw) return { error: flaw, refusal: 'certificate' };
  // Usually the peer is a child of another tree, whose certificate this node would have refused as well.
  const message = 'it closed the connection without opening a session: it may not trust the certificate of this node';
  return { error: new Error(message), refusal: 'no_session' };
}
