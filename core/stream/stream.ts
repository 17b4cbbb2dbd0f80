/**
 * The contract of a byte stream between two nodes of the tree. The stream goes from hop to hop. Promises: all bytes arrive, in sequence, or the stream is
 * reset; each direction ends separately; a reset reaches both ends with its code; no end holds more bytes than its window. Not promised: that bytes which were
 * written before a reset have arrived.
 */
import { BanyanError, type ErrorCode } from '../runtime/errors.ts';

/** Numbers on the wire: append-only. */
export const resetCodes = {
  /** The requester has gone, or does not want more bytes. */
  Cancelled: 1,
  /** The peer sent frames that break the protocol. */
  Protocol: 2,
  /** The peer sent more bytes than its credit allows, or gave too much credit. */
  FlowControl: 3,
  DeadlineExceeded: 4,
  /** No node has this path, or the node has no endpoint for this kind of stream. */
  NotFound: 5,
  /** A child on the way has no session. */
  Disconnected: 6,
  Forbidden: 7,
  /** A limit for streams, for buffered bytes or for opens per second was reached. */
  TooMany: 8,
  /** A connection on the way broke, or a node on the way shut down. */
  Unavailable: 9,
  /** The endpoint failed. */
  Internal: 10,
  /** The endpoint cannot use the header of the request. */
  BadRequest: 11,
  /** The other side of the session does not know this stream. */
  Unknown: 12,
} as const;

export type ResetCode = keyof typeof resetCodes;

/** The reason why a stream was aborted. */
export interface StreamReset {
  readonly code: ResetCode;
  readonly message: string;
  /** Path of the node that found the reason. */
  readonly at: string;
  /** For a disconnected child: how long it has been disconnected, in ms. */
  readonly sinceMs?: number;
}

export interface StreamRequest {
  /** Path of the target node; empty: the center. */
  readonly path: string;
  /** Kind of the stream. The target node has one endpoint for each kind. */
  readonly kind: string;
  /** Data for the endpoint. */
  readonly header: Uint8Array;
  /** Path of the node that has authenticated the user: the node where the stream begins. */
  readonly voucher: string;
  readonly user: string;
  readonly groups: readonly string[];
  /** Time until an endpoint has to accept the stream. An accepted stream has no deadline. */
  readonly deadlineMs: number;
  /** True: for large amounts of data. The stream does not use the session's connection, and has a larger window. */
  readonly bulk: boolean;
}

/** One end of a stream. After the stream is closed, all calls do nothing. After `end`, a `write` is an error; other calls are allowed. */
export interface ByteStream {
  /** Queues the bytes. The end sends them when the credit allows it, and reports them with `onWritten`. The writer has to limit the queue. */
  write(bytes: Uint8Array): void;
  /** Ends this direction: the caller writes no more. Queued bytes are still sent. */
  end(): void;
  /** Reports that this number of delivered bytes was processed. The other side may then send as many more. */
  consumed(bytes: number): void;
  reset(reset: StreamReset): void;
}

/** The owner of an end. The end calls one function at a time. The functions may call the end. */
export interface StreamHandler {
  /** An endpoint has accepted the stream. This is the first call at the end that asked. It is not called at the end that accepts. */
  onAccepted?(): void;
  onData(bytes: Uint8Array): void;
  onWritten(bytes: number): void;
  /** The other side will send no more bytes. */
  onEnd(): void;
  /** The last call, exactly once. Without a reset: both directions have ended, and all bytes were consumed. */
  onClosed(reset?: StreamReset): void;
}

/** A request for a stream. The receiver accepts or refuses it exactly once, at any time. */
export interface Offer {
  readonly request: StreamRequest;
  accept(handler: StreamHandler): ByteStream;
  refuse(reset: StreamReset): void;
  /** Sets a function that is called if the requester withdraws the stream before it is accepted. */
  onGone(gone: (reset: StreamReset) => void): void;
}

/** The origin of a request: this node's own API, its parent, or a child. */
export type RequestOrigin = 'here' | 'above' | 'below';

/** Counts streams, for metrics. */
export interface StreamObserver {
  opened(): void;
  /** No `code`: closed without a reset. */
  closed(code?: ResetCode): void;
  /** A frame or a request was refused, for this reason. */
  refused(code: ResetCode): void;
}

/** Window of a stream: the bytes that an end may hold before its handler has consumed them. Enough for one second at 2 Mbit/s. */
export const streamWindowBytes = 256 * 1024;
/** Window of a bulk stream: enough for 100 Mbit/s at a round trip of 160 ms. */
export const bulkWindowBytes = 2 * 1024 * 1024;
/** Limit for the data in a frame. At 32 Mbit/s, this is 128 frames per second, so frames of other streams get their turn often. */
export const dataBytesMax = 32 * 1024;
/** Limit for a peer's credit: more than any correct peer gives. */
export const creditBytesMax = 16 * 1024 * 1024;
/** Limit for a deadline: one day. To wait longer, send another request. */
export const deadlineMsMax = 24 * 3_600_000;

/** The error that a client of the API gets for a reset. */
export function errorOfReset({ code, message, at, sinceMs }: StreamReset): BanyanError {
  const since = sinceMs === undefined ? '' : `, for ${Math.round(sinceMs / 1000)} s`;
  return new BanyanError(errorCodes[code], `${at === '' ? 'center' : at}: ${message}${since} (${code})`);
}

const errorCodes: { readonly [code in ResetCode]: ErrorCode } = {
  Cancelled: 'Unavailable',
  Protocol: 'Protocol',
  FlowControl: 'Protocol',
  DeadlineExceeded: 'Timeout',
  NotFound: 'NotFound',
  Disconnected: 'Unavailable',
  Forbidden: 'Forbidden',
  TooMany: 'TooManyRequests',
  Unavailable: 'Unavailable',
  Internal: 'Internal',
  BadRequest: 'BadRequest',
  Unknown: 'Unavailable',
};
