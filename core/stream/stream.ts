/**
 * A byte stream between two nodes of the tree, as both ends see it. Between them, the stream goes hop by hop. Promised: bytes arrive complete and in order,
 * or the stream is reset; each direction ends separately; a reset reaches both ends with its code; no end holds more than its window. Not promised: that
 * bytes written before a reset have arrived.
 */
import { BanyanError, type ErrorCode } from '../runtime/errors.ts';

/** Numbers on the wire: append-only. */
export const resetCodes = {
  /** The requester is gone, or wants no more bytes. */
  Cancelled: 1,
  /** Frames that break the rules. */
  Protocol: 2,
  /** More bytes than credited, or more credit than allowed. */
  FlowControl: 3,
  DeadlineExceeded: 4,
  /** No node has this path, or the node has no such kind of stream. */
  NotFound: 5,
  /** A child on the way has no session. */
  Disconnected: 6,
  Forbidden: 7,
  /** A limit on streams, on buffered bytes or on opens a second. */
  TooMany: 8,
  /** A connection on the way broke, or a node ends. */
  Unavailable: 9,
  /** The endpoint failed. */
  Internal: 10,
  /** The endpoint can't use the header. */
  BadRequest: 11,
  /** The other side of the session does not know this stream. */
  Unknown: 12,
} as const;

export type ResetCode = keyof typeof resetCodes;

/** Why a stream did not end in order by both sides. */
export interface StreamReset {
  readonly code: ResetCode;
  readonly message: string;
  /** Path of the node that found the reason. */
  readonly at: string;
  /** For a disconnected child: for how long. */
  readonly sinceMs?: number;
}

export interface StreamRequest {
  /** Path of the target node; empty: the center. */
  readonly path: string;
  /** What the target node has to do with the stream: it has an endpoint of this kind. */
  readonly kind: string;
  /** For the endpoint. */
  readonly header: Uint8Array;
  readonly user: string;
  readonly groups: readonly string[];
  /** Time until an endpoint has to take the stream. After that, the stream has no deadline. */
  readonly deadlineMs: number;
  /** For large amounts: apart from the session's connection, with a larger window. */
  readonly bulk: boolean;
}

/** One end of a stream. After the close, every call is harmless. After `end`, only `write` is an error. */
export interface ByteStream {
  /** Queues the bytes. The writer bounds the queue: `onWritten` reports bytes that were sent, as the credit allows. */
  write(bytes: Uint8Array): void;
  /** Nothing more will be written. Queued bytes are still sent. */
  end(): void;
  /** This many of the delivered bytes are processed: the other side may send as many again. */
  consumed(bytes: number): void;
  reset(reset: StreamReset): void;
}

/** The owner of an end. Its functions are called one at a time, and may call the end. */
export interface StreamHandler {
  /** An endpoint has taken the stream. Called first, at the end that asked; never at the end that takes the stream. */
  onAccepted?(): void;
  onData(bytes: Uint8Array): void;
  onWritten(bytes: number): void;
  /** The other side will send no more bytes. */
  onEnd(): void;
  /** Called once, last. Without a reset: both directions ended, and all bytes were consumed. */
  onClosed(reset?: StreamReset): void;
}

/** A stream that somebody asks for. The receiver accepts or refuses it once, at any time. */
export interface Offer {
  readonly request: StreamRequest;
  accept(handler: StreamHandler): ByteStream;
  refuse(reset: StreamReset): void;
  /** `gone` is called if the stream is withdrawn before it is accepted. */
  onGone(gone: (reset: StreamReset) => void): void;
}

/** Where a request comes from: this node's own API, its parent, or a child. */
export type RequestOrigin = 'here' | 'above' | 'below';

/** For metrics. */
export interface StreamObserver {
  opened(): void;
  /** Without `code`: closed in order. */
  closed(code?: ResetCode): void;
  /** A frame or a request was refused, for this reason. */
  refused(code: ResetCode): void;
}

/** How many bytes an end may hold that its handler has not consumed: a second at 2 Mbit/s. */
export const streamWindowBytes = 256 * 1024;
/** 100 Mbit/s at a round trip of 160 ms. */
export const bulkWindowBytes = 2 * 1024 * 1024;
/** Bytes in a frame: at 32 Mbit/s, 128 frames a second, and frames of other streams get in between. */
export const dataBytesMax = 32 * 1024;
/** More than an end ever grants: a peer that grants more is faulty. */
export const creditBytesMax = 16 * 1024 * 1024;
/** A day. To wait longer, ask again. */
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
