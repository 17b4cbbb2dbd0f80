/** The HTTPS side of the API: finds the user and the space of each request, and sends the answer. */
import type { IncomingMessage } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { AccessAttributes } from '../../access/attributes.ts';
import type { Authorizer } from '../../access/authorizer.ts';
import { describePart } from '../../access/grant-scope.ts';
import { accessRefused } from '../../access/refusal.ts';
import type { AuditPort } from '../../audit/audit-port.ts';
import { shownPath } from '../../identity/node-path.ts';
import { BanyanError, describeError } from '../../runtime/errors.ts';
import { answerOf, passOn, passUpgrade, sendHead } from '../../stream/pass-on.ts';
import type { Space, UserInfo } from '../space.ts';
import { type AskedAccess, askedAccess } from './asked-access.ts';
import { readBody } from './body.ts';
import { SpaceHandler } from './handler.ts';
import { HttpsListener, type HttpsListenerOptions } from './https-listener.ts';
import type { NodeUrls, TreeUrls } from './node-urls.ts';
import { breakOff, type OutgoingAnswer, OutgoingAnswers, writePieces, writeStream } from './outgoing.ts';
import { RequestAudit } from './request-audit.ts';
import { type Authenticate, connectionOf, type IsRevoked, RequestUsers } from './request-users.ts';
import type { ApiRequest, ApiResponse, StreamedResponse } from './requests.ts';
import { reviewOf } from './reviews.ts';
import { decodePart } from './route.ts';
import { failureOf } from './status.ts';
import { type TokenIssuer, tokenAnswerOf } from './token-requests.ts';
import { WatchRequest } from './watches.ts';
import { YamlThread } from './yaml-thread.ts';

export interface ApiServerOptions extends HttpsListenerOptions {
  readonly authenticate: Authenticate;
  readonly authorizer: Authorizer;
  readonly isRevoked: IsRevoked;
  /** The tokens of the ServiceAccounts of the node. Absent: the node has none. */
  readonly tokens?: TokenIssuer | undefined;
  /** The path of the node. Empty: the center. */
  readonly path: string;
  /** The reason why the node is not ready. Undefined: it is ready. Everybody may request this, as with health. */
  notReady(): string | undefined;
  /** The text of the answer when the node is ready. Absent: `ok`. */
  readyAs?(): string;
  metrics(): Promise<string>;
  /** Serves `/tree/...`: requests to other nodes. Absent: the node does not serve these URLs. */
  readonly tree?: TreeUrls;
  /** Serves further URLs of the node. Absent: there are none. */
  readonly urls?: NodeUrls;
  /** Absent: the node has no audit log. `newId` makes the id of a request that has none. */
  readonly audit?: { readonly port: AuditPort; newId(): string } | undefined;
}

/** Time limit for the whole body of a request. node:http has such a limit for HTTP/1.1; node:http2 would wait for ever. */
const bodyWithinMs = 300_000;

export class ApiServer implements AsyncDisposable {
  readonly #options: ApiServerOptions;
  readonly #listener: HttpsListener;
  readonly #users: RequestUsers;
  readonly #handlers = new Map<string, SpaceHandler>();
  readonly #resolvers: ((prefix: string) => Space | undefined)[] = [];
  /** The handlers of spaces that resolvers have returned. An entry exists as long as its resolver keeps the space. */
  readonly #resolved = new WeakMap<Space, SpaceHandler>();
  readonly #watches = new Set<WatchRequest>();
  /** The answers of `urls` that are not finished. */
  readonly #unfinished = new Set<AbortController>();
  readonly #outgoing: OutgoingAnswers;
  readonly #yaml: YamlThread;
  readonly #audits = new WeakMap<Http2ServerResponse, RequestAudit>();
  constructor(options: ApiServerOptions) {
    this.#options = options;
    this.#outgoing = new OutgoingAnswers(options.clock);
    this.#yaml = new YamlThread(options.clock);
    this.#users = new RequestUsers(options.authenticate, options.isRevoked, options.tokens);
    this.#listener = new HttpsListener(options, {
      request: (request, response) => void this.#serve(request, response),
      upgrade: (request, socket, head) => void this.#upgrade(request, socket, head),
    });
  }

  /** Serves a space at a URL prefix. `''` is the system space. Other prefixes are, for example, `/spaces/NAME`. */
  mount(prefix: string, space: Space): void {
    this.#handlers.set(prefix, new SpaceHandler(space, prefix, this.#options.clock));
  }

  /** Adds a resolver for spaces that are created and deleted while the server runs. The server calls the resolver for each request. */
  resolveWith(resolver: (prefix: string) => Space | undefined): void {
    this.#resolvers.push(resolver);
  }

  listen(): Promise<string> {
    return this.#listener.listen();
  }

  /** Serves HTTP/1.1 on a connection of this user. */
  take(connection: Duplex, user: UserInfo): void {
    this.#users.set(connection, user);
    this.#listener.take(connection);
  }

  /** Ends the connections of users who are revoked now. */
  revocationsChanged(): void {
    this.#users.endRevoked();
  }

  /** Number of bytes of answers that clients have not read yet. */
  unreadBytes(): number {
    return this.#outgoing.unreadBytes();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const watch of this.#watches) watch.end();
    for (const answer of this.#unfinished) answer.abort();
    await this.#listener.close();
    this.#outgoing.end();
    this.#yaml.end();
  }

  async #serve(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
    try {
      const url = urlOf(request.url);
      if (await this.#health(url.pathname, response)) return;
      const audit = this.#auditOf(request, response);
      const access = await this.#accessOf(request, url, audit);
      const { user } = access.attributes;
      const connection = connectionOf(request);
      this.#outgoing.admit(connection);
      if (url.pathname === '/metrics')
        return this.#answer(response, {
          status: 200,
          body: Buffer.from(await this.#options.metrics()),
          headers: { 'content-type': 'text/plain; version=0.0.4' },
        });
      const asked: ApiRequest = {
        method: request.method,
        path: url.pathname,
        query: url.searchParams,
        headers: request.headers,
        user,
        alsoMay: (verb) => this.#authorize({ ...access, attributes: { ...access.attributes, verb } }),
        body: () =>
          this.#body(request).then((bytes) => {
            audit?.bodyCame(bytes.length);
            return bytes;
          }),
        parsed: (body) => audit?.bodyParsed(body),
        readLongYaml: (text) => this.#yaml.read(text),
      };
      const { tree } = this.#options;
      const isTree = tree !== undefined && url.pathname.startsWith('/tree/');
      const way = isTree ? tree.way(targetOf(url), user) : undefined;
      // A request that is passed on to another node is not in `#outgoing`. Its stream already bounds the unread bytes. And such a request may wait for a
      // long time, for example while a person scrolls through a log.
      const failed = (error: unknown) => this.#fail(request, response, error);
      if (way) return await passOn(request, response, { ...way, failed, answers: audit?.passedOn });
      const outgoing = this.#outgoing.begin(response, { connection, failed });
      if (isTree) return this.#answer(response, await tree.answer(asked));
      const { place } = access;
      const { authorizer, tokens, path: ownPath } = this.#options;
      const review = await reviewOf({ ...asked, path: access.path }, { authorizer, place, tokens });
      if (review) return this.#answer(response, review);
      const isHere = 'node' in place && place.node === ownPath;
      const token = isHere && tokens ? await tokenAnswerOf(asked, tokens) : undefined;
      if (token) return this.#answer(response, token);
      const over = new AbortController();
      const answer = this.#options.urls?.(asked, over.signal);
      if (answer) return await this.#answerOfNode(answer, over, outgoing, response);
      const { handler, path } = this.#find(url.pathname);
      const handled = await handler.handle({ ...asked, path });
      if ('answer' in handled) return this.#answer(response, handled.answer);
      if ('list' in handled) return this.#list(audit?.pieces(handled.list) ?? handled.list, outgoing, response);
      audit?.started(200);
      this.#watch(handled.watch, outgoing, response);
    } catch (error) {
      this.#fail(request, response, error);
    }
  }

  /** Throws Unauthorized and Forbidden. */
  async #accessOf(request: Http2ServerRequest, url: URL, audit: RequestAudit | undefined): Promise<AskedAccess> {
    const { path, authorizer } = this.#options;
    const decide = (attributes: AccessAttributes) => authorizer.decide(attributes, { node: path });
    const accessOf = (user: UserInfo) =>
      askedAccess({ user, method: request.method, path: url.pathname, query: url.searchParams }, path);
    const user = await this.#users.of(request, decide, (own) => audit?.authenticated(own, accessOf(own)));
    audit?.actsAs(user);
    const access = accessOf(user);
    this.#authorize(access, audit);
    return access;
  }

  /** The audit of the request. A request is followed only once, although `#upgrade` may give the request to `#serve`. */
  #auditOf(request: Http2ServerRequest, response: Http2ServerResponse): RequestAudit | undefined {
    const { audit, clock } = this.#options;
    if (!audit) return undefined;
    const known = this.#audits.get(response);
    if (known) return known;
    const followed = new RequestAudit({ ...audit, clock }, request, response);
    this.#audits.set(response, followed);
    return followed;
  }

  #authorize({ attributes, place }: AskedAccess, audit?: RequestAudit): void {
    const { authorizer, path } = this.#options;
    const decision = authorizer.decide(attributes, place);
    const { allowed, reason } = decision;
    audit?.decided(decision);
    if (allowed) return;
    const isHere = 'node' in place && place.node === path;
    const missing = isHere ? '' : `no AccessGrant of ${shownPath(path)} allows this ${describePart({ place })}`;
    throw accessRefused(attributes, reason || missing);
  }

  async #body(request: Http2ServerRequest): Promise<Buffer> {
    const late = new BanyanError('Timeout', `the body of the request did not come within ${bodyWithinMs} ms`);
    const timer = this.#options.clock.after(bodyWithinMs, () => {
      // Closes the stream after the answer. Otherwise the client would keep the stream open.
      const stream = request.stream as ServerHttp2Stream | undefined;
      stream?.once('finish', () => stream.close(constants.NGHTTP2_NO_ERROR));
      request.destroy(late);
    });
    try {
      return await readBody(request as AsyncIterable<Buffer>);
    } finally {
      timer.stop();
    }
  }

  #fail(request: Http2ServerRequest, response: Http2ServerResponse, error: unknown): void {
    if (!(error instanceof BanyanError))
      this.#options.log.error(
        { url: request.url, reason: describeError(error), stack: (error as Error).stack },
        'a request failed',
      );
    this.#answer(response, failureOf(error, [request.headers.accept ?? ''].flat().join(',')));
  }

  /**
   * Passes a request to an edge cluster on, which may change the protocol. For all other requests, the server ignores the upgrade header and answers
   * normally.
   */
  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const asked = request as unknown as Http2ServerRequest;
    const answer = answerOf(request, socket) as unknown as Http2ServerResponse | undefined;
    if (!answer) return;
    const { tree } = this.#options;
    try {
      const url = urlOf(request.url ?? '');
      const audit = url.pathname.startsWith('/tree/') ? this.#auditOf(asked, answer) : undefined;
      const way = url.pathname.startsWith('/tree/')
        ? tree?.way(targetOf(url), (await this.#accessOf(asked, url, audit)).attributes.user)
        : undefined;
      if (socket.destroyed) return;
      if (!way) return void this.#serve(asked, answer);
      const failed = (error: unknown) => this.#fail(asked, answer, error);
      void passUpgrade(request, socket, head, { ...way, failed, answers: audit?.passedOn });
    } catch (error) {
      this.#fail(asked, answer, error);
    }
  }

  async #health(path: string, response: Http2ServerResponse): Promise<boolean> {
    if (path !== '/healthz' && path !== '/livez' && path !== '/readyz') return false;
    const wrong = path === '/readyz' ? this.#options.notReady() : undefined;
    this.#answer(response, {
      status: wrong ? 503 : 200,
      body: Buffer.from(wrong ?? this.#options.readyAs?.() ?? 'ok'),
      headers: { 'content-type': 'text/plain' },
    });
    return true;
  }

  /** The handler of the space, and the rest of the path after the prefix of the space. */
  #find(pathname: string): { handler: SpaceHandler; path: string } {
    const match = /^\/(?:spaces|mailboxes|reported)\/[^/]+/.exec(pathname);
    const prefix = match ? decodePart(match[0]) : '';
    const handler = this.#handlers.get(prefix) ?? this.#resolve(prefix);
    if (!handler) throw new BanyanError('NotFound', `there is nothing at ${prefix || pathname}`);
    return { handler, path: match ? pathname.slice(match[0].length) : pathname };
  }

  #resolve(prefix: string): SpaceHandler | undefined {
    const space = this.#resolvers.map((resolve) => resolve(prefix)).find((found) => found !== undefined);
    if (!space) return undefined;
    const known = this.#resolved.get(space);
    if (known) return known;
    const handler = new SpaceHandler(space, prefix, this.#options.clock);
    this.#resolved.set(space, handler);
    return handler;
  }

  #answer(response: Http2ServerResponse, answer: ApiResponse): void {
    const { status, body, headers } = answer;
    if (response.writableEnded || response.destroyed) return;
    if (response.headersSent) {
      // A part is already sent. The client must see that this part is not the whole answer.
      breakOff(response);
      return;
    }
    this.#audits.get(response)?.answered(answer);
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length, ...headers });
    response.end(body);
  }

  async #answerOfNode(
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
    if ('body' in made) return this.#answer(response, made);
    response.writeHead(made.status, { 'content-type': 'application/json', ...made.headers });
    sendHead(response);
    await writeStream(made.pieces, outgoing);
  }

  #list(pieces: Generator<Buffer, void>, outgoing: OutgoingAnswer, response: Http2ServerResponse): void {
    writePieces(pieces, outgoing, (length) => {
      const known = length === undefined ? {} : { 'content-length': length };
      response.writeHead(200, { 'content-type': 'application/json', ...known });
    });
  }

  #watch(
    { listing, options }: Extract<Awaited<ReturnType<SpaceHandler['handle']>>, { watch: unknown }>['watch'],
    outgoing: OutgoingAnswer,
    response: Http2ServerResponse,
  ): void {
    const watch = new WatchRequest(listing, options, outgoing, this.#options.clock);
    this.#watches.add(watch);
    response.once('close', () => {
      this.#watches.delete(watch);
      watch.end();
    });
    response.writeHead(200, { 'content-type': 'application/json' });
    sendHead(response);
    watch.start();
  }
}

/**
 * The target by which the server authorizes a request and passes it on. Without dot segments: otherwise the server could authorize another target than the one
 * that the next node serves.
 */
function targetOf({ pathname, search }: URL): string {
  return `${pathname}${search}`;
}

/** Parses the target of a request line. A target such as "//host" is treated as a path, not as a host. */
function urlOf(target: string): URL {
  if (target.startsWith('/')) return new URL(`https://node${target}`);
  throw new BanyanError(
    'BadRequest',
    `the server has nothing at ${JSON.stringify(target)}: a URL's path begins with "/"`,
  );
}
