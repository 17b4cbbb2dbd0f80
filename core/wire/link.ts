/**
 * A link is one live connection between a child and its parent that carries frames, whatever its transport. The session machine uses links; grpc/ and
 * websocket/ make them.
 */
import type { Expiry } from '../identity/expiry.ts';
import type { PeerIdentity } from '../identity/peer-identity.ts';
import type { Frame } from './generated/mesh.ts';

export interface Link {
  readonly peer: PeerIdentity;
  /** `grpc`, `grpc+proxy`, `websocket`, `memory`: for logs and status. */
  readonly transport: string;
  /** Known when the session begins. Absent: nothing here expires. */
  readonly expiry?: Expiry | undefined;
  /**
   * Queues a frame for sending, in order. False: the transport's own buffer is full; wait for `onDrain` before sending more data frames (control frames may
   * still be sent). Throws nothing. A broken link reports by `onClose`; so does a link that a frame over the limit has ended.
   */
  send(frame: Frame): boolean;
  /** Sends everything queued, for up to a minute, then closes. The reason reaches the other side's log where the transport can carry it. */
  close(reason: string): void;
  /** Bytes queued here and not yet taken by the operating system. */
  queuedBytes(): number;
  /**
   * At the child: opens a call for a stream beside this link. The parent's end reports the call by `onStream`. The call is a link of its own that ends with
   * this one. `apart`: on another connection, so that a large stream does not delay the session. Resolves when frames can be sent, without waiting for the
   * parent's answer: a refusal comes as `onClose`. Rejects with Unavailable. Absent: the transport carries no streams.
   */
  openStream?(id: number, apart: boolean, events: LinkEvents): Promise<Link>;
}

/** The listeners of a link, given when the link is made. Called one at a time, never before the maker has returned. */
export interface LinkEvents {
  onFrame(frame: Frame): void;
  /** Bytes of any kind came, also of an unfinished frame: a sign of life. */
  onBytes(count: number): void;
  onDrain(): void;
  /** The last call, exactly once, also after `close` of this side. `error` is absent when either side closed in order. */
  onClose(error?: Error): void;
  /** At the parent: the child opened a call for a stream. Throws to refuse it. Absent: no streams are taken. */
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

/**
 * Called for each child that connects with a certificate of this tree. Returns the events to use, or throws to refuse the child. It counts its own refusals.
 */
export type Accept = (link: Link) => LinkEvents;
