/** The parent's end of one transport: is given finished TLS connections and makes links of them. */

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
  /** From now on the connection is the acceptor's. */
  take(socket: TLSSocket): void;
  /** Those that are open. */
  links(): Link[];
  /** When no connection is left. */
  end(): void;
}

/** Told once of each connection, or call on a shared one, that ends before its link is accepted. */
export type Refused = (refusal: Refusal) => void;

/** What an acceptor asks about the connections that it is given. */
export interface Accepting {
  readonly accept: Accept;
  /** For links whose peer has yet to prove who it is; it is done before `accept` is asked. */
  readonly acceptUnproven: (link: FrameLink) => LinkEvents;
  /** The connection comes without a certificate, and may, since TLS is terminated on the way. */
  isTerminated(socket: TLSSocket): boolean;
  /** For a session on a connection that had its turn at the door for another one. Ms to wait; undefined: it is turned away. */
  admit(): number | undefined;
  /** Absent: this node gives no certificates. */
  readonly joins: Joins | undefined;
  readonly refused: Refused;
  readonly strangers: StrangersLog;
  readonly log: Logger;
  readonly clock: Clock;
  readonly random: Random;
}

/** The peer of a link whose child has not said yet who it is; nobody is attached by it. */
export const unproven: PeerIdentity = { path: '', role: 'agent' };

/** A connection that is still in its handshake, or on which no session was begun, after this is closed. */
export const sessionWithinMs = 10_000;
/** How long the other side has to read why its call ended, and to hang up. */
export const lingerMs = 2_000;
/** Of a session's name. Nobody guesses it, though only its own child could make use of it. */
export const sessionNameBytes = 16;

export function remoteOf({ remoteAddress, remotePort }: Pick<TLSSocket, 'remoteAddress' | 'remotePort'>): string {
  return remoteAddress === undefined ? 'gone already' : hostPort(remoteAddress, remotePort ?? 0);
}

/** What is wrong with the certificate that a new connection came with. A closed one has none any more, so this is asked when it begins. */
export function flawOf(socket: TLSSocket): BanyanError | undefined {
  try {
    identityOfPeer(socket);
    return undefined;
  } catch (flaw) {
    if (flaw instanceof BanyanError) return flaw;
    throw flaw;
  }
}

/** Of a connection that never carried a session: why it was closed, for the log, and what that is counted as. */
export function whyUnused({ error, flaw }: { readonly error?: Error; readonly flaw: BanyanError | undefined }): {
  readonly error: Error;
  readonly refusal: Refusal;
} {
  if (error) return { error, refusal: 'no_session' };
  if (flaw) return { error: flaw, refusal: 'certificate' };
  // Usually a child of another tree, whose own certificate this node would have refused as well.
  const words = 'it closed the connection without opening a session: it may not trust the certificate of this node';
  return { error: new Error(words), refusal: 'no_session' };
}
