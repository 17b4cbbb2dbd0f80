/**
 * Answers that their clients have not read yet, and the bounds of the memory that these answers take. The server writes an answer only a little ahead of
 * its client. The unread answers of one connection have a bound, and so have those of the whole server: beyond it, the server refuses new requests with
 * 429. The server breaks off an answer whose client reads nothing for a minute.
 */
import type { ServerResponse } from 'node:http';
import { constants, type Http2ServerResponse } from 'node:http2';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { BanyanError } from '../../runtime/errors.ts';

type Response = ServerResponse | Http2ServerResponse;

/** Bytes that the server writes ahead of a client that reads a list: enough for 20 Mbit/s at a round trip of 100 ms. */
export const aheadBytesMax = 256 * 1024;
/** Unread bytes of one watch, whose events cannot be made later. Beyond them the watch ends, and its client resumes from its last revision. */
export const watchBytesMax = 8 * 1024 * 1024;
/** Unread bytes of one connection: one watch, or 32 lists, or 5 of the largest objects. */
export const connectionBytesMax = 8 * 1024 * 1024;
/** Unread bytes of the whole server: 256 lists that nobody reads. The smallest nodes have 256 MiB. */
export const serverBytesMax = 64 * 1024 * 1024;
/**
 * Time without a read after which the server breaks off an answer; nginx has the same default (send_timeout). A running client reads something within a
 * minute.
 */
export const stallMs = 60_000;
const lookEveryMs = 10_000;
/** Kubernetes clients wait for this time, and then repeat the request. */
const retryAfterSeconds = 1;

export interface AnswerOf {
  readonly connection: object;
  /** Called with the error if a later piece of the answer cannot be made. */
  failed(error: unknown): void;
}

/** The receiver of a watch's events. */
export interface WatchSink {
  write(bytes: Buffer): void;
  /** Bytes that the client has not read yet. */
  queuedBytes(): number;
  /** False if the bounds leave no room for another event. */
  hasRoom(): boolean;
  /** Calls `act` once, when the client has read the unread bytes. There must be some. */
  onTaken(act: () => void): void;
  end(): void;
  /** Drops the unread bytes. */
  break(): void;
}

export class OutgoingAnswers {
  readonly #clock: Clock;
  /** Answers that may have unread bytes. A watch without events is not in this set, so a thousand of them cost a request nothing. */
  readonly #behind = new Set<OutgoingAnswer>();
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Throws TooManyRequests while too much waits for the client of this connection, or for all of them. */
  admit(connection: object): void {
    const { ofConnection, ofServer } = this.#unread(connection);
    const whose = ofConnection > connectionBytesMax ? 'this connection' : 'all connections';
    if (ofConnection <= connectionBytesMax && ofServer <= serverBytesMax) return;
    const message = `answers of ${Math.max(ofConnection, ofServer)} bytes wait for clients on ${whose}: read them, or list in chunks (limit)`;
    throw new BanyanError('TooManyRequests', message, { retryAfterSeconds });
  }

  /** Counts the answer until its response is closed. */
  begin(response: Response, { connection, failed }: AnswerOf): OutgoingAnswer {
    const othersLeaveRoom = () => {
      const { ofConnection, ofServer } = this.#unread(connection);
      return ofConnection <= connectionBytesMax && ofServer <= serverBytesMax;
    };
    const writes = () => this.#mayWait(answer);
    const answer = new OutgoingAnswer(response, { connection, failed, othersLeaveRoom, writes });
    response.once('close', () => this.#behind.delete(answer));
    this.#mayWait(answer);
    return answer;
  }

  /** Bytes that wait for clients. */
  unreadBytes(): number {
    return this.#unread(undefined).ofServer;
  }

  end(): void {
    this.#timer?.stop();
  }

  #mayWait(answer: OutgoingAnswer): void {
    this.#behind.add(answer);
    this.#timer ??= this.#clock.after(lookEveryMs, () => this.#look());
  }

  #unread(connection: object | undefined): { ofConnection: number; ofServer: number } {
    let ofConnection = 0;
    let ofServer = 0;
    for (const answer of this.#behind) {
      const bytes = answer.queuedBytes();
      if (bytes === 0) this.#behind.delete(answer);
      ofServer += bytes;
      if (answer.connection === connection) ofConnection += bytes;
    }
    return { ofConnection, ofServer };
  }

  #look(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const answer of this.#behind) {
      if (answer.queuedBytes() === 0) this.#behind.delete(answer);
      else if (answer.stalledMs(nowMs) >= stallMs) answer.break();
    }
    this.#timer = this.#behind.size > 0 ? this.#clock.after(lookEveryMs, () => this.#look()) : undefined;
  }
}

interface AnswerOptions extends AnswerOf {
  othersLeaveRoom(): boolean;
  /** Called before each write. */
  writes(): void;
}

/** One answer that the server writes. */
export class OutgoingAnswer implements WatchSink {
  readonly connection: object;
  readonly #response: Response;
  readonly #options: AnswerOptions;
  #writtenBytes = 0;
  #takenBytes = 0;
  #takenAtMs: number | undefined;

  constructor(response: Response, options: AnswerOptions) {
    this.#response = response;
    this.#options = options;
    this.connection = options.connection;
  }

  write(bytes: Buffer): void {
    this.#options.writes();
    this.#writtenBytes += bytes.length;
    (this.#response as ServerResponse).write(bytes);
  }

  /** For events, which cannot be made later. */
  hasRoom(): boolean {
    const queued = this.queuedBytes();
    return queued <= aheadBytesMax || (queued <= watchBytesMax && this.#options.othersLeaveRoom());
  }

  queuedBytes(): number {
    return this.#response.destroyed ? 0 : this.#response.writableLength;
  }

  onTaken(act: () => void): void {
    this.#response.once('drain', () => {
      try {
        act();
      } catch (error) {
        this.#options.failed(error);
      }
    });
  }

  onClosed(act: () => void): void {
    this.#response.once('close', act);
  }

  end(): void {
    this.#response.end();
  }

  break(): void {
    breakOff(this.#response);
  }

  /** The time in which the client has read none of the unread bytes. Exact only if called regularly. */
  stalledMs(nowMs: number): number {
    const queued = this.queuedBytes();
    const taken = this.#writtenBytes - queued;
    if (taken !== this.#takenBytes || this.#takenAtMs === undefined) {
      this.#takenBytes = taken;
      this.#takenAtMs = nowMs;
    }
    return nowMs - this.#takenAtMs;
  }
}

/** Ends the answer so that its client sees that it is not whole. Unread bytes are dropped. */
export function breakOff(response: Response): void {
  if ('stream' in response) response.stream?.close(constants.NGHTTP2_INTERNAL_ERROR);
  response.destroy();
}

/**
 * Writes the head, then the pieces as fast as the client reads them. If all pieces fit into the first write, `sendHead` gets the length. If the first piece
 * throws, the function throws the same error and sends nothing.
 */
export function writePieces(
  pieces: Generator<Buffer, void>,
  answer: OutgoingAnswer,
  sendHead: (length: number | undefined) => void,
): void {
  const first = take(pieces, aheadBytesMax);
  sendHead(first.isLast ? first.bytes.length : undefined);
  answer.write(first.bytes);
  if (first.isLast) return answer.end();
  // A client that leaves ends the list, which then keeps no snapshot.
  answer.onClosed(() => pieces.return());
  const goOn = () => {
    while (answer.queuedBytes() < aheadBytesMax) {
      const { bytes, isLast } = take(pieces, pieceBytes);
      answer.write(bytes);
      if (isLast) return answer.end();
    }
    answer.onTaken(goOn);
  };
  goOn();
}

/** Bytes of one write: writes larger than a few records of TLS gain nothing. */
const pieceBytes = 64 * 1024;

function take(pieces: Generator<Buffer, void>, bytesMin: number): { bytes: Buffer; isLast: boolean } {
  const taken: Buffer[] = [];
  for (let bytes = 0; bytes < bytesMin; ) {
    const { value, done } = pieces.next();
    if (done) return { bytes: Buffer.concat(taken), isLast: true };
    taken.push(value!);
    bytes += value!.length;
  }
  return { bytes: Buffer.concat(taken), isLast: false };
}
