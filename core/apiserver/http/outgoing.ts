/**
 * Bounds the memory of answers that clients have not read yet. The server writes an answer only a little ahead of its client. There is a bound for the
 * unread bytes of one connection, and one for the whole server. Beyond a bound, the server refuses new requests with 429. If a client reads nothing for a
 * minute, the server aborts the answer.
 */
import type { ServerResponse } from 'node:http';
import { constants, type Http2ServerResponse } from 'node:http2';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { BanyanError } from '../../runtime/errors.ts';

type Response = ServerResponse | Http2ServerResponse;

/** Bytes that the server writes ahead of a client that reads a list. This is enough for 20 Mbit/s with a round trip of 100 ms. */
export const aheadBytesMax = 256 * 1024;
/** Unread bytes of one watch. A watch can't make its events again. So beyond this bound, the watch ends, and its client resumes from its last revision. */
export const watchBytesMax = 8 * 1024 * 1024;
/** Unread bytes of one connection. Enough for one watch, 32 lists, or 5 of the largest objects. */
export const connectionBytesMax = 8 * 1024 * 1024;
/** Unread bytes of the whole server. Enough for 256 lists that nobody reads. The smallest nodes have 256 MiB of memory. */
export const serverBytesMax = 64 * 1024 * 1024;
/**
 * If a client reads nothing for this time, the server aborts the answer. The default of nginx is the same (send_timeout). A client that works reads
 * something within a minute.
 */
export const stallMs = 60_000;
const lookEveryMs = 10_000;
/** Kubernetes clients wait for this time and then send the request again. */
const retryAfterSeconds = 1;

export interface AnswerOf {
  readonly connection: object;
  /** Called with the error if a further piece of the answer cannot be made. */
  failed(error: unknown): void;
  /** Calls `act` when the request has its next turn in the thread (request-turns.ts). */
  nextTurn(act: () => void): void;
}

/** The receiver of a watch's events. */
export interface WatchSink {
  write(bytes: Uint8Array): void;
  /** Number of bytes that the client has not read yet. */
  queuedBytes(): number;
  /** False if the bounds leave no room for one more event. */
  hasRoom(): boolean;
  /** Calls `act` once, when the client has read all unread bytes. Call this only while there are unread bytes. */
  onTaken(act: () => void): void;
  /** Calls `act` once, after other requests and everything else that has come were handled. */
  later(act: () => void): void;
  end(): void;
  /** Ends the sink and drops the unread bytes. */
  break(): void;
}

export class OutgoingAnswers {
  readonly #clock: Clock;
  /**
   * Answers that may have unread bytes. A watch without events is not in this set. So even with a thousand such watches, a request does not become slower.
   */
  readonly #behind = new Set<OutgoingAnswer>();
  readonly #answers = new WeakMap<Response, OutgoingAnswer>();
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Throws TooManyRequests if the client of this connection, or all clients together, have too many unread bytes. */
  admit(connection: object): void {
    const { ofConnection, ofServer } = this.#unread(connection);
    const whose = ofConnection > connectionBytesMax ? 'this connection' : 'all connections';
    if (ofConnection <= connectionBytesMax && ofServer <= serverBytesMax) return;
    const message = `answers of ${Math.max(ofConnection, ofServer)} bytes wait for clients on ${whose}: read them, or list in chunks (limit)`;
    throw new BanyanError('TooManyRequests', message, { retryAfterSeconds });
  }

  /** Counts the unread bytes of the answer until its response is closed. */
  begin(response: Response, of: AnswerOf): OutgoingAnswer {
    const { connection } = of;
    const othersLeaveRoom = () => {
      const { ofConnection, ofServer } = this.#unread(connection);
      return ofConnection <= connectionBytesMax && ofServer <= serverBytesMax;
    };
    const writes = () => this.#mayWait(answer);
    const answer = new OutgoingAnswer(response, { ...of, othersLeaveRoom, writes });
    response.once('close', () => this.#behind.delete(answer));
    this.#answers.set(response, answer);
    return answer;
  }

  /** Counts a whole answer that is written to the response now. */
  sends(response: Response): void {
    const answer = this.#answers.get(response);
    if (answer) this.#mayWait(answer);
  }

  /** Number of bytes that clients have not read yet. */
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

  write(bytes: Uint8Array): void {
    this.#options.writes();
    this.#writtenBytes += bytes.length;
    (this.#response as ServerResponse).write(bytes);
  }

  /** True if one more event fits into the bounds. An event needs this check because the watch can't make it again. */
  hasRoom(): boolean {
    const queued = this.queuedBytes();
    return queued <= aheadBytesMax || (queued <= watchBytesMax && this.#options.othersLeaveRoom());
  }

  queuedBytes(): number {
    return this.#response.destroyed ? 0 : this.#response.writableLength;
  }

  onTaken(act: () => void): void {
    this.#response.once('drain', () => this.#orFail(act));
  }

  later(act: () => void): void {
    this.#options.nextTurn(() => this.#orFail(act));
  }

  /** Resolves when the client has read all unread bytes, or has closed the connection. */
  taken(): Promise<void> {
    return new Promise((resolve) => {
      this.#response.once('drain', resolve);
      this.#response.once('close', resolve);
    });
  }

  get isClosed(): boolean {
    return this.#response.destroyed;
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

  #orFail(act: () => void): void {
    if (this.isClosed) return;
    try {
      act();
    } catch (error) {
      this.#options.failed(error);
    }
  }

  /** The time for which the client has read none of the unread bytes. Exact only if it is called at regular intervals. */
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

/** Ends the answer in such a way that its client sees that the answer is not complete. Drops unread bytes. */
export function breakOff(response: Response): void {
  if ('stream' in response) response.stream?.close(constants.NGHTTP2_INTERNAL_ERROR);
  response.destroy();
}

/**
 * Writes the head, then the pieces, as fast as the client reads them. If all pieces fit into the first write, `sendHead` gets the total length. A piece without
 * bytes lets others work before the next piece. If the first piece throws, this function throws the same error and sends nothing.
 */
export function writePieces(
  pieces: Generator<Buffer, void>,
  answer: OutgoingAnswer,
  sendHead: (length: number | undefined) => void,
): void {
  // When the client closes the connection, the list ends and releases its snapshot.
  answer.onClosed(() => pieces.return());
  const held: Buffer[] = [];
  let heldBytes = 0;
  let isBegun = false;
  const write = (isLast: boolean) => {
    if (!isBegun) sendHead(isLast ? heldBytes : undefined);
    isBegun = true;
    const [first] = held;
    answer.write(first && held.length === 1 ? first : Buffer.concat(held));
    held.length = 0;
    heldBytes = 0;
  };
  const goOn = () => {
    while (answer.queuedBytes() < aheadBytesMax) {
      const { value, done } = pieces.next();
      if (value) {
        held.push(value);
        heldBytes += value.length;
      }
      if (done || heldBytes >= (isBegun ? pieceBytes : aheadBytesMax)) write(done ?? false);
      if (done) return answer.end();
      if (value?.length === 0) return answer.later(goOn);
    }
    answer.onTaken(goOn);
  };
  goOn();
}

/** Writes pieces that take time to make, as fast as the client reads them. Ends early if the client closes the connection. */
export async function writeStream(pieces: AsyncIterable<Uint8Array>, answer: OutgoingAnswer): Promise<void> {
  for await (const piece of pieces) {
    answer.write(piece);
    if (answer.queuedBytes() > aheadBytesMax) await answer.taken();
    if (answer.isClosed) return;
  }
  answer.end();
}

/** Bytes of one write. A write of more than a few TLS records is not faster. */
const pieceBytes = 64 * 1024;
