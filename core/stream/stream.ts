/**
 * A byte stream between two nodes of the tree, as both ends see it; between them it goes hop by hop. What it promises: bytes arrive whole
 * and in order or the stream is reset; each direction ends by itself; a reset reaches both ends with its code; no end holds more than its
 * window. What it does not: that what was written before a reset has arrived.
 */
import { BanyanError, type ErrorCode } from '../runtime/errors.ts';

/** Numbers of the wire: append-only. */
export const resetCodes = {
  /** Whoever asked is gone, or wants no more. */
  Cancelled: 1,
  /** Frames that break the rules. */
  Protocol: 2,
  /** More bytes than were credited, or more credit than there may be. */
  FlowControl: 3,
  DeadlineExceeded: 4,
  /** No such path, or no such kind of stream there. */
  NotFound: 5,
  /** A child on the way has no session. */
  Disconnected: 6,
  Forbidden: 7,
  /** A limit of streams, of buffered bytes or of opens a second. */
  TooMany: 8,
  /** A connection on the way broke, or a node ends. */
  Unavailable: 9,
  /** The endpoint failed. */
  Internal: 10,
  /** What the header asks for makes no sense. */
  BadRequest: 11,
  /** The other side of the session knows no such stream. */
  Unknown: 12,
} as const;

export type ResetCode = keyof typeof resetCodes;

/** Why a stream ended otherwise than by both its ends. */
export interface StreamReset {
  readonly code: ResetCode;
  readonly message: string;
  /** Path of the node that found the reason. */
  readonly at: string;
  /** Of a child that is disconnected: for how long. */
  readonly sinceMs?: number;
}

export interface StreamRequest {
  /** Of the node that is meant; empty: the center. */
  readonly path: string;
  /** What the node is to do with it: an endpoint is registered there under this word. */
  readonly kind: string;
  /** For the endpoint. */
  readonly header: Uint8Array;
  readonly user: string;
  readonly groups: readonly string[];
  /** How long it may take until an endpoint has taken the stream. After that only its ends end it. */
  readonly deadlineMs: number;
  /** Large amounts: apart from the session's connection, with a larger window. */
  readonly bulk: boolean;
}

/** One end of a stream. Nothing but `write` and `end` after `end`, or anything after the close, does harm. */
export interface ByteStream {
  /** Queues. How much is queued is the writer's business: `onWritten` tells what has left, credit permitting. */
  write(bytes: Uint8Array): void;
  /** No more is written; what is queued still goes. */
  end(): void;
  /** So many of the bytes that were handed out are dealt with: the other side may send as many again. */
  consumed(bytes: number): void;
  reset(reset: StreamReset): void;
}

/** The holder of an end. Called one at a time; may call the end from inside. */
export interface StreamHandler {
  /** An endpoint has taken the stream. To the end that asked, first; never to the one that takes. */
  onAccepted?(): void;
  onData(bytes: Uint8Array): void;
  onWritten(bytes: number): void;
  /** The other side writes no more. */
  onEnd(): void;
  /** Once, last: without a reset both directions ended and all bytes were consumed. */
  onClosed(reset?: StreamReset): void;
}

/** A stream that somebody asks for. It is taken once or refused once, now or later. */
export interface Offer {
  readonly request: StreamRequest;
  accept(handler: StreamHandler): ByteStream;
  refuse(reset: StreamReset): void;
  /** Told when it is withdrawn before it was taken. */
  onGone(gone: (reset: StreamReset) => void): void;
}

/** Where a request comes from: this node's own API, its parent, or a child. */
export type RequestOrigin = 'here' | 'above' | 'below';

/** For metrics. */
export interface StreamObserver {
  opened(): void;
  /** `code` absent: in order. */
  closed(code?: ResetCode): void;
  /** A frame or a request that was turned away, by its reason. */
  refused(code: ResetCode): void;
}

/** What an end holds at most that its handler has not consumed: a second of 2 Mbit/s. */
export const streamWindowBytes = 256 * 1024;
/** 100 Mbit/s at a round trip of 160 ms. */
export const bulkWindowBytes = 2 * 1024 * 1024;
/** Bytes in a frame: 128 frames a second at 32 Mbit/s, and others get in between. */
export const dataBytesMax = 32 * 1024;
/** More than an end ever grants: whoever is given more than this talks to something broken. */
export const creditBytesMax = 16 * 1024 * 1024;
/** A day; whoever wants to wait longer asks again. */
export const deadlineMsMax = 24 * 3_600_000;

/** What a reset is to a client of the API. */
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
