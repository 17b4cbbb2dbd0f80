/**
 * A link is one live connection between a child and its parent. It carries frames over any transport. The session uses links; grpc/ and websocket/ make
 * them.
 */
import type { Expiry } from '../identity/expiry.ts';
import type { PeerIdentity } from '../identity/peer-identity.ts';
import type { Frame } from './generated/mesh.ts';

export interface Link {
  readonly peer: PeerIdentity;
  /** `grpc`, `grpc+proxy`, `websocket`, `memory`: for logs and status. */
  readonly transport: string;
  /** Set when the session begins. Absent: no certificate of the link expires. */
  readonly expiry?: Expiry | undefined;
  /**
   * Adds a frame to the queue; frames are sent in this sequence. Returns false if the transport's own buffer is full: send more data frames only after
   * `onDrain` (control frames are still allowed). Throws nothing. A broken link reports `onClose`. A frame over the limit ends the link, which then reports
   * `onClose` too.
   */
  send(frame: Frame): boolean;
  /** Sends all queued bytes, for at most a minute, then closes the link. The reason is in the log of the other side if the transport can carry it. */
  close(reason: string): void;
  /** Bytes in the queue of this process that the operating system has not accepted yet. */
  queuedBytes(): number;
  /**
   * Only at the child: opens a call for a stream. The parent's end of this link reports the call in `onStream`. The call is a link of its own, and ends
   * together with this link. `apart`: uses another connection, so that a large stream does not delay the session. Resolves when the caller may send frames,
   * without waiting for the parent's answer: a refusal is reported as `onClose`. Rejects with Unavailable. Absent: the transport can't carry streams.
   */
  openStream?(id: number, apart: boolean, events: LinkEvents): Promise<Link>;
}

/**
 * The listeners of a link, passed in when the link is made. The link calls one listener at a time, and none before the function that makes the link has
 * returned.
 */
export interface LinkEvents {
  onFrame(frame: Frame): void;
  /** Reports received bytes of every kind, including bytes of an unfinished frame. The session uses them as a sign of liveness. */
  onBytes(count: number): void;
  onDrain(): void;
  /** The last event, reported exactly once, also after this side has called `close`. `error` is absent if either side closed properly. */
  onClose(error?: Error): void;
  /** Only at the parent: the child has opened a call for a stream. Throws to refuse the call. Absent: the parent accepts no streams. */
  onStream?(id: number, link: Link): LinkEvents;
}

export interface Dialer {
  /** Connects within `timeoutMs`, or fails with Unavailable, Unauthorized or Protocol. */
  dial(events: LinkEvents, timeoutMs: number): Promise<Link>;
}

export interface Listener extends AsyncDisposable {
  /** The host:port that children dial. */
  readonly address: string;
}

/**
 * Called for each child that connects with a certificate of this tree. Returns the listeners of the link, or throws to refuse the child. This function
 * counts its own refusals.
 */
export type Accept = (link: Link) => LinkEvents;
