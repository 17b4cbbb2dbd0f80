/**
 * Bounds for messages, because grpc-js has none:
 * - grpc-js keeps each piece of an unfinished message separately. A byte in an HTTP/2 frame of its own needs 240 bytes of memory.
 * - grpc-js unpacks compressed messages, although no node sends any. Four kilobytes become four megabytes, for any number of messages at once.
 * - grpc-js accepts a first message of any size from a peer that has not proven its identity yet.
 *
 * A message that breaks a bound ends its call. Bytes are counted when they arrive and not when they are read, because grpc-js does not read a call that
 * waits for its turn.
 */
import { type ClientHttp2Stream, constants, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { UnprovenBudget } from '../proof/unproven-budget.ts';
import { onClientStreams, onServerStreams } from './announced-streams.ts';
import { isOfGrpc, streamMethod } from './session-method.ts';

/**
 * Maximal pieces of one message. The library ws has the same bound for a message of a WebSocket. With 256 bytes per piece, this is a frame of 4 MiB, and
 * the overhead of the pieces needs as much memory again.
 */
const piecesMax = 16_384;
/** The header of a message: a byte for compression, and the length (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md). */
const headerBytes = 5;

let areAnswersBound = false;

/** At the child: bounds the answers of all mesh calls in this process from now on. */
export function boundAnswers(): void {
  if (areAnswersBound) return;
  areAnswersBound = true;
  onClientStreams((stream, method) => {
    if (!method) return;
    let isAnswer = true;
    // Runs before all other listeners. If the answer is the page of a gateway, ends the stream without reading more. The call then reports its status.
    stream.once('response', (headers) => {
      isAnswer = headers[':status'] === constants.HTTP_STATUS_OK && isOfGrpc(headers['content-type']);
      if (!isAnswer) stream.close(constants.NGHTTP2_NO_ERROR);
    });
    bound(stream, new MessageBounds(true), () => isAnswer);
  });
}

/**
 * At the parent: bounds messages until the returned function is called. `connectionOf` returns the connection of a socket, or undefined if the socket does
 * not belong to this listener.
 */
export function boundMessages(
  connectionOf: (socket: Socket) => { readonly isProven: boolean } | undefined,
): () => void {
  return onServerStreams((stream, method) => {
    const connection = method && stream.session && connectionOf(stream.session.socket as Socket);
    if (!connection) return;
    // A call for a stream needs no bound for unproven peers, because its session has a proven peer.
    bound(stream, new MessageBounds(connection.isProven || method === streamMethod));
  });
}

/**
 * Checks the bytes of one HTTP/2 stream. `isOfMesh` returns whether the bytes are messages. The code calls it in a later tick: if headers and bytes are in
 * one packet, node:http2 delivers the headers after the bytes.
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
  /** Present until the first message has been read. Whoever reads that message then ends the call or knows the peer. */
  #unproven: UnprovenBudget | undefined;
  #firstEnd: number | undefined;
  #bytes = 0;
  /** Pieces of the current message, including the piece in which the message begins. */
  #pieces = 0;
  #headerRemaining = headerBytes;
  /** Remaining bytes of the current message. While the header arrives: the part of the length that has been read. */
  #remaining = 0;

  constructor(isProven: boolean) {
    this.#unproven = isProven ? undefined : new UnprovenBudget();
  }

  /** Counts received bytes. `unread` is the number of earlier bytes that nobody has read yet. Returns false if a bound is broken. */
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
