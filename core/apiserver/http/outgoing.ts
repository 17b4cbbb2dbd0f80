/**
 * Answers under way, and the memory that they take while their clients do not. Each answer is written only so far ahead of its client; all answers of a connection, and of
 * the server, have a bound together, beyond which new requests are told to come again; and a client that takes nothing for a while has its answer broken off.
 */
import type { ServerResponse } from 'node:http';
import { constants, type Http2ServerResponse } from 'node:http2';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { BanyanError } from '../../runtime/errors.ts';

type Response = ServerResponse | Http2ServerResponse;

/** What can be made later is written so far ahead of the client: enough for 20 Mbit/s at a round trip of 100 ms. */
export const aheadBytesMax = 256 * 1024;
/** Of one watch: its events can't be made later. With more its client resumes from its last revision, and holds nobody's memory meanwhile. */
export const watchBytesMax = 8 * 1024 * 1024;
/** Of a connection: as much as one watch may have, or 32 lists, or 5 of the largest objects. */
export const connectionBytesMax = 8 * 1024 * 1024;
/** Of the server: 256 lists that nobody reads. The smallest nodes have 256 MiB. */
export const serverBytesMax = 64 * 1024 * 1024;
/** As in nginx (send_timeout): a client that is there takes something within a minute over any line, if only 4 KiB/s of it. */
export const stallMs = 60_000;
const lookEveryMs = 10_000;
/** Clients of Kubernetes wait as long and ask again. */
const retryAfterSeconds = 1;

export interface AnswerOf {
  readonly connection: object;
  /** What is wrong while the rest of it is made. */
  failed(error: unknown): void;
}

/** Where the events go. */
export interface WatchSink {
  write(bytes: Buffer): void;
  /** Bytes that the client has not taken yet. */
  queuedBytes(): number;
  /** False: more waits for the client than may. */
  hasRoom(): boolean;
  /** Once, when it has taken them: there are some. */
  onTaken(act: () => void): void;
  end(): void;
  /** What waits is dropped. */
  break(): void;
}

export class OutgoingAnswers {
  readonly #clock: Clock;
  readonly #answers = new Set<OutgoingAnswer>();
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

  /** From here on until it is closed. */
  begin(response: Response, { connection, failed }: AnswerOf): OutgoingAnswer {
    const othersLeaveRoom = () => {
      const { ofConnection, ofServer } = this.#unread(connection);
      return ofConnection <= connectionBytesMax && ofServer <= serverBytesMax;
    };
    const answer = new OutgoingAnswer(response, { connection, failed, othersLeaveRoom });
    this.#answers.add(answer);
    response.once('close', () => this.#answers.delete(answer));
    this.#timer ??= this.#clock.after(lookEveryMs, () => this.#look());
    return answer;
  }

  /** Bytes that wait for clients. */
  unreadBytes(): number {
    return this.#unread(undefined).ofServer;
  }

  end(): void {
    this.#timer?.stop();
  }

  #unread(connection: object | undefined): { ofConnection: number; ofServer: number } {
    let ofConnection = 0;
    let ofServer = 0;
    for (const answer of this.#answers) {
      const bytes = answer.queuedBytes();
      ofServer += bytes;
      if (answer.connection === connection) ofConnection += bytes;
    }
    return { ofConnection, ofServer };
  }

  #look(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const answer of this.#answers) if (answer.stalledMs(nowMs) >= stallMs) answer.break();
    this.#timer = this.#answers.size > 0 ? this.#clock.after(lookEveryMs, () => this.#look()) : undefined;
  }
}

/** One answer, to be written. */
export class OutgoingAnswer implements WatchSink {
  readonly connection: object;
  readonly #response: Response;
  readonly #options: AnswerOf & { othersLeaveRoom(): boolean };
  #writtenBytes = 0;
  #takenBytes = 0;
  #takenAtMs: number | undefined;

  constructor(response: Response, options: AnswerOf & { othersLeaveRoom(): boolean }) {
    this.#response = response;
    this.#options = options;
    this.connection = options.connection;
  }

  write(bytes: Buffer): void {
    this.#writtenBytes += bytes.length;
    (this.#response as ServerResponse).write(bytes);
  }

  /** For what can't be made later: whether more of it may wait. */
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

  /** How long its client has taken nothing of what is there for it; to be asked now and then. */
  stalledMs(nowMs: number): number {
    const queued = this.queuedBytes();
    const taken = this.#writtenBytes - queued;
    if (queued === 0 || taken !== this.#takenBytes || this.#takenAtMs === undefined) {
      this.#takenBytes = taken;
      this.#takenAtMs = nowMs;
    }
    return nowMs - this.#takenAtMs;
  }
}

/** Its client sees that it is not whole, and what waits for it is dropped. */
export function breakOff(response: Response): void {
  if ('stream' in response) response.stream?.close(constants.NGHTTP2_INTERNAL_ERROR);
  response.destroy();
}

/**
 * Writes what `pieces` gives as the client takes it, behind the head, which has the length if all is there at once. Throws what the first piece throws; nothing
 * is sent then.
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
  // What was given up keeps nothing.
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

/** So much is handed to the connection at once: more than a few records of TLS gain nothing. */
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
