/** Sends the answers of an API server: whole ones, lists, streams and watches. Ends what has not ended when the server closes. */
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { describeUnexpected } from '../../runtime/unexpected-error.ts';
import { sendHead } from '../../stream/pass-on.ts';
import { protobufWatchType, sentForm } from './encoded-answer.ts';
import { EventLines } from './event-lines.ts';
import type { Handled } from './handler.ts';
import type { ListHead } from './lists.ts';
import { type AnswerOf, breakOff, type OutgoingAnswer, OutgoingAnswers, writePieces, writeStream } from './outgoing.ts';
import type { RequestAudits } from './request-audits.ts';
import type { ApiResponse, StreamedResponse } from './requests.ts';
import { failureOf } from './status.ts';
import { WatchRequest } from './watches.ts';

interface AnswerPorts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly audits: RequestAudits;
}

export class Answers {
  readonly #ports: AnswerPorts;
  readonly #outgoing: OutgoingAnswers;
  readonly #watches = new Set<WatchRequest>();
  readonly #lines = new EventLines();
  /** The streamed answers that are not finished. */
  readonly #unfinished = new Set<AbortController>();

  constructor(ports: AnswerPorts) {
    this.#ports = ports;
    this.#outgoing = new OutgoingAnswers(ports.clock);
  }

  /** Number of bytes of answers that clients have not read yet. */
  unreadBytes(): number {
    return this.#outgoing.unreadBytes();
  }

  /** Throws TooManyRequests if the client of this connection, or all clients together, have too many unread bytes. */
  admit(connection: object): void {
    this.#outgoing.admit(connection);
  }

  begin(request: Http2ServerRequest, response: Http2ServerResponse, of: Omit<AnswerOf, 'failed'>): OutgoingAnswer {
    return this.#outgoing.begin(response, { ...of, failed: (error) => this.fail(request, response, error) });
  }

  whole(response: Http2ServerResponse, answer: ApiResponse): void {
    if (response.writableEnded || response.destroyed) return;
    if (response.headersSent) {
      // A part is already sent. The client must see that this part is not the whole answer.
      breakOff(response);
      return;
    }
    this.#ports.audits.known(response)?.answered(answer);
    const { status, body, headers } = sentForm(answer);
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length, ...headers });
    response.end(body);
    this.#outgoing.sends(response);
  }

  fail(request: Pick<Http2ServerRequest, 'url' | 'headers'>, response: Http2ServerResponse, error: unknown): void {
    if (!(error instanceof BanyanError))
      this.#ports.log.error({ url: request.url, ...describeUnexpected(error) }, 'a request failed');
    this.whole(response, failureOf(error, [request.headers.accept ?? ''].flat().join(',')));
  }

  /** `over` is aborted when the client closes the connection, or when the server ends. */
  async streamed(
    answer: Promise<ApiResponse | StreamedResponse>,
    over: AbortController,
    outgoing: OutgoingAnswer,
    response: Http2ServerResponse,
  ): Promise<void> {
    this.#unfinished.add(over);
    response.once('close', () => {
      this.#unfinished.delete(over);
      over.abort();
    });
    const made = await answer;
    if ('body' in made) return this.whole(response, made);
    response.writeHead(made.status, { 'content-type': 'application/json', ...made.headers });
    sendHead(response);
    await writeStream(made.pieces, outgoing);
  }

  handled(handled: Handled, outgoing: OutgoingAnswer, response: Http2ServerResponse): void {
    const audit = this.#ports.audits.known(response);
    if ('answer' in handled) return this.whole(response, handled.answer);
    if ('list' in handled) {
      const { list, head } = handled;
      return this.#list(audit?.pieces(list) ?? list, head, outgoing, response);
    }
    audit?.started(200);
    this.#watch(handled.watch, outgoing, response);
  }

  end(): void {
    for (const watch of this.#watches) watch.end();
    for (const answer of this.#unfinished) answer.abort();
  }

  /** After `end`, when no connection is left. */
  closed(): void {
    this.#outgoing.end();
  }

  #list(
    pieces: Generator<Buffer, void>,
    head: ListHead,
    outgoing: OutgoingAnswer,
    response: Http2ServerResponse,
  ): void {
    writePieces(pieces, outgoing, (length) => {
      const known = length === undefined ? {} : { 'content-length': length };
      response.writeHead(200, { 'content-type': head.contentType, ...known });
    });
  }

  #watch(
    { listing, options }: Extract<Handled, { watch: unknown }>['watch'],
    outgoing: OutgoingAnswer,
    response: Http2ServerResponse,
  ): void {
    const watch = new WatchRequest(listing, options, outgoing, { clock: this.#ports.clock, lines: this.#lines });
    this.#watches.add(watch);
    response.once('close', () => {
      this.#watches.delete(watch);
      watch.end();
    });
    response.writeHead(200, { 'content-type': listing.form.protobuf ? protobufWatchType : 'application/json' });
    sendHead(response);
    watch.start();
  }
}
