/**
 * A link is one live connection between a child and its parent that carries frames, whatever transport it runs on. The session machine
 * sits on it; grpc/ and websocket/ make it.
 */
import type { Expiry } from '../identity/expiry.ts';
import type { PeerIdentity } from '../identity/peer-identity.ts';
import type { Frame } from './generated/mesh.ts';

export interface Link {
  readonly peer: PeerIdentity;
  /** `grpc`, `grpc+proxy`, `websocket`, `memory`: for logs and status. */
  readonly transport: string;
  /** Known when the session begins; absent: nothing here expires. */
  readonly expiry?: Expiry | undefined;
  /**
   * Queues a frame for sending, in order. False: the transport's own buffer is full; wait for `onDrain` before sending more data
   * frames (control frames may still be sent). Throws nothing; a broken link tells by `onClose`, one that was ended by a frame over the
   * limit as well.
   */
  send(frame: Frame): boolean;
  /** Sends what is queued, for up to a minute, then closes. The reason reaches the other side's log where the transport can carry it. */
  close(reason: string): void;
  /** Bytes queued here and not yet taken by the operating system. */
  queuedBytes(): number;
  /**
   * At the child: opens a call for a stream beside this link, which the parent's end tells by `onStream`; it is a link of its own that ends
   * with this one. `apart`: on another connection, so that what is large does not stand in the way. Resolves when frames can be sent, without
   * waiting for the parent's word: its refusal comes as `onClose`. Rejects with Unavailable. Absent: the transport carries none.
   */
  openStream?(id: number, apart: boolean, events: LinkEvents): Promise<Link>;
}

/** Given when the link is made; called one at a time, never before the maker has returned. */
export interface LinkEvents {
  onFrame(frame: Frame): void;
  /** Any bytes count as life, also those of an unfinished frame. */
  onBytes(count: number): void;
  onDrain(): void;
  /** Once, last, also after `close` of this side. `error` is absent when either side closed in order. */
  onClose(error?: Error): void;
  /** At the parent: the child opened a call for a stream. Throws to refuse it; absent: none is taken. */
  onStream?(id: number, link: Link): LinkEvents;
}

export interface Dialer {
  /** Connects or fails with Unavailable, Unauthorized or Protocol, within `timeoutMs`. */
  dial(events: LinkEvents, timeoutMs: number): Promise<Link>;
}

export interface Listener extends AsyncDisposable {
  /** host:port on which children reach it. */
  readonly address: string;
}

/** Called for each child that connects with a certificate of this tree; returns the events to use or throws to refuse, which it counts itself. */
export type Accept = (link: Link) => LinkEvents;
