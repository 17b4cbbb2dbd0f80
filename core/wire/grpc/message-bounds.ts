/**
 * Bounds for messages that grpc-js does not have. grpc-js keeps each piece of an unfinished message by itself, and a byte in a frame of its own takes 240
 * bytes of memory. It unpacks compressed messages, which no node sends: four kilobytes become four megabytes, for any number of messages at once. And the
 * first message of a peer that has yet to prove its identity may be as large as any. A message that breaks a bound ends its call.
 *
 * Bytes are counted when they arrive and not when they are read, since nothing is read of a call that waits for its turn.
 */
import { type ClientHttp2Stream, constants, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { UnprovenBudget } from '../proof/unproven-budget.ts';
import { onClientStreams, onServerStreams } from './announced-streams.ts';
import { isOfGrpc, streamMethod } from './session-method.ts';

/**
 * Pieces of one message; the library ws has the same bound for a message of a WebSocket. At 256 bytes each, they are a frame of 4 MiB, and their own overhead
 * is as large again.
 */
const piecesMax = 16_384;
/** A flag for compression, and the length: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md */
const headerBytes = 5;

let areAnswersBound = false;

/** At the child's side: bounds the answers of all mesh calls in this process from now on. */
export function boundAnswers(): void {
  if (areAnswersBound) return;
  areAnswersBound = true;
  onClientStreams((stream, method) => {
    if (!method) return;
    let isAnswer = true;
    // Runs before all other listeners. Nothing more is read of a gateway's page. After such an end, the call reports its status.
    stream.once('response', (headers) => {
      isAnswer = headers[':status'] === constants.HTTP_STATUS_OK && isOfGrpc(headers['content-type']);
      if (!isAnswer) stream.close(constants.NGHTTP2_NO_ERROR);
    });
    bound(stream, new MessageBounds(true), () => isAnswer);
  });
}

/**
 * At the parent's side: bounds messages from now on until the returned function is called. `connectionOf`: the connection of a socket; undefined if it does not
 * belong to this listener.
 */
export function boundMessages(
  connectionOf: (socket: Socket) => { readonly isProven: boolean } | undefined,
): () => void {
  return onServerStreams((stream, method) => {
    const connection = method && stream.session && connectionOf(stream.session.socket as Socket);
    if (!connection) return;
    // A stream beside a session belongs to a session whose peer is proven.
    bound(stream, new MessageBounds(connection.isProven || method === streamMethod));
  });
}

/**
 * `isOfMesh`: whether the bytes are messages. Called only after the headers were delivered: if headers and later bytes are in one packet, the headers are
 * delivered after those bytes.
 */
function bound(stream: ServerHttp2Stream | ClientHttp2Stream, bounds: MessageBounds, isOfMesh = () => true): void {
  const push = stream.push;
  let isBroken = false;
  stream.push = (chunk: Buffer | null, ...rest) => {
    if (chunk === null || (!isBroken && (stream.closed || bounds.take(chunk, stream.readableLength)))) {
      return push.call(stream, chunk, ...rest);
    }
    if (!isBroken) {
      process.nextTick(() => {
        if (isOfMesh()) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
      });
    }
    isBroken = true;
    return true;
  };
}

export class MessageBounds {
  /** Present until the first message has been read. The reader of that message then ends the call, or knows the peer. */
  #unproven: UnprovenBudget | undefined;
  #firstEnd: number | undefined;
  #bytes = 0;
  /** Pieces of the message under way, including the piece in which it begins. */
  #pieces = 0;
  #headerRemaining = headerBytes;
  /** Remaining bytes of the message. While its header arrives: the length as far as it has been read. */
  #remaining = 0;

  constructor(isProven: boolean) {
    this.#unproven = isProven ? undefined : new UnprovenBudget();
  }

  /** Takes received bytes. `unread`: the number of earlier bytes that were not read yet. False: a bound is broken. */
  take(chunk: Buffer, unread: number): boolean {
    if (this.#firstEnd !== undefined && this.#bytes - unread >= this.#firstEnd) this.#unproven = undefined;
    if (this.#unproven?.take(chunk.length) === false) return false;
    this.#pieces++;
    let at = 0;
    while (at < chunk.length) {
      if (this.#headerRemaining > 0) {
        if (!this.#takeHeader(chunk[at]!)) return false;
        at++;
      } else {
        const taken = Math.min(this.#remaining, chunk.length - at);
        this.#remaining -= taken;
        at += taken;
      }
      if (this.#headerRemaining === 0 && this.#remaining === 0) this.#ended(this.#bytes + at);
    }
    this.#bytes += chunk.length;
    return this.#pieces <= piecesMax;
  }

  #takeHeader(byte: number): boolean {
    const isFlag = this.#headerRemaining === headerBytes;
    this.#headerRemaining--;
    if (!isFlag) {
      this.#remaining = this.#remaining * 256 + byte;
      return true;
    }
    this.#pieces = 1;
    return byte === 0;
  }

  #ended(at: number): void {
    this.#firstEnd ??= at;
    this.#headerRemaining = headerBytes;
  }
}
