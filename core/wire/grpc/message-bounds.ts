/**
 * What grpc-js does not bound of the messages that come over a call. It keeps each piece of an unfinished one by itself, and a byte in a frame of its own costs
 * 240 of memory. It unpacks what is compressed, as nobody does here: four kilobytes are four megabytes then, for any number of messages at once. And the
 * first message of who is yet to prove who it is may be as large as any. What breaks a bound ends its call.
 *
 * What comes is counted when it arrives and not when it is read, since nothing of a call is read that waits for its turn.
 */
import { type ClientHttp2Stream, constants, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { UnprovenBudget } from '../proof/unproven-budget.ts';
import { onClientStreams, onServerStreams } from './announced-streams.ts';
import { isOfGrpc, streamMethod } from './session-method.ts';

/** Of one message, as ws has it for one of a WebSocket. At 256 bytes each they are a frame of 4 MiB, and what is kept of them besides is as much. */
const piecesMax = 16_384;
/** Whether it is compressed, and its length: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md */
const headerBytes = 5;

let areAnswersBound = false;

/** At the child's side: of all calls of the mesh in this process from now on. */
export function boundAnswers(): void {
  if (areAnswersBound) return;
  areAnswersBound = true;
  onClientStreams((stream, method) => {
    if (!method) return;
    let isAnswer = true;
    // First of all that listen. Nothing more is read of the page of a gateway: ended like this, the call tells its status.
    stream.once('response', (headers) => {
      isAnswer = headers[':status'] === constants.HTTP_STATUS_OK && isOfGrpc(headers['content-type']);
      if (!isAnswer) stream.close(constants.NGHTTP2_NO_ERROR);
    });
    bound(stream, new MessageBounds(true), () => isAnswer);
  });
}

/** At the parent's side, from now on, until what it returns is called. `whose`: a connection; undefined: it is not of this listener. */
export function boundMessages(whose: (socket: Socket) => { readonly isProven: boolean } | undefined): () => void {
  return onServerStreams((stream, method) => {
    const connection = method && stream.session && whose(stream.session.socket as Socket);
    if (!connection) return;
    // A stream beside a session belongs to one whose peer is proven.
    bound(stream, new MessageBounds(connection.isProven || method === streamMethod));
  });
}

/** `isOfMesh`: what comes are messages; asked only when its headers have been heard, which come up after what is behind them in one packet. */
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
  /** Until the first message has been read: whoever reads it ends the call, or knows then who speaks. */
  #unproven: UnprovenBudget | undefined;
  #firstEnd: number | undefined;
  #bytes = 0;
  /** Of the message under way, with the piece that it begins in. */
  #pieces = 0;
  #headerLeft = headerBytes;
  /** Of its bytes; while its header comes, what that says so far. */
  #left = 0;

  constructor(isProven: boolean) {
    this.#unproven = isProven ? undefined : new UnprovenBudget();
  }

  /** What has come; `unread`: bytes of what came before. False: a bound is broken. */
  take(chunk: Buffer, unread: number): boolean {
    if (this.#firstEnd !== undefined && this.#bytes - unread >= this.#firstEnd) this.#unproven = undefined;
    if (this.#unproven?.take(chunk.length) === false) return false;
    this.#pieces++;
    let at = 0;
    while (at < chunk.length) {
      if (this.#headerLeft > 0) {
        if (!this.#takeHeader(chunk[at]!)) return false;
        at++;
      } else {
        const taken = Math.min(this.#left, chunk.length - at);
        this.#left -= taken;
        at += taken;
      }
      if (this.#headerLeft === 0 && this.#left === 0) this.#ended(this.#bytes + at);
    }
    this.#bytes += chunk.length;
    return this.#pieces <= piecesMax;
  }

  #takeHeader(byte: number): boolean {
    const isFlag = this.#headerLeft === headerBytes;
    this.#headerLeft--;
    if (!isFlag) {
      this.#left = this.#left * 256 + byte;
      return true;
    }
    this.#pieces = 1;
    return byte === 0;
  }

  #ended(at: number): void {
    this.#firstEnd ??= at;
    this.#headerLeft = headerBytes;
  }
}
