/** The HTTPS side of the API: handles connections, finds the user and the space of each request, and sends the answer. */
import { createServer, type IncomingMessage } from 'node:http';
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { isFromIssuer } from '../../identity/issuer-name.ts';
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError, describeError } from '../../runtime/errors.ts';
import { hostPort } from '../../runtime/host-port.ts';
import { closeWhenIdle } from '../../runtime/idle-session.ts';
import type { Logger } from '../../runtime/logger.ts';
import { type Ask, answerOf, passOn, passUpgrade, sendHead } from '../../stream/pass-on.ts';
import type { Space, UserInfo } from '../space.ts';
import { readBody } from './body.ts';
import { SpaceHandler } from './handler.ts';
import { refuseImpersonation } from './impersonation.ts';
import { breakOff, type OutgoingAnswer, OutgoingAnswers, writePieces, writeStream } from './outgoing.ts';
import type { ApiRequest, ApiResponse, StreamedResponse } from './requests.ts';
import { whoIsAsking } from './reviews.ts';
import { decodePart } from './route.ts';
import { failureOf } from './status.ts';
import { WatchRequest } from './watches.ts';
import { YamlThread } from './yaml-thread.ts';

/** Key and certificates as PEM. */
export interface ApiTls {
  readonly key: Buffer;
  readonly cert: Buffer;
  readonly ca: Buffer;
}

export interface ApiServerOptions {
  /** Called for each new connection. Must return the same object as long as no file has changed. */
  tls(): ApiTls;
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  readonly log: Logger;
  /** The user of a certificate. Undefined if the certificate is not of a user. Throws Forbidden if the user has no right to use the API. */
  authenticate(certificate: { subject: Record<string, unknown> } | undefined): UserInfo | undefined;
  /** The reason why the node is not ready. Undefined: it is ready. Everybody may request this, as with health. */
  notReady(): string | undefined;
  /** The text of the answer when the node is ready. Absent: `ok`. */
  readyAs?(): string;
  metrics(): Promise<string>;
  /** Serves `/tree/...`: requests to other nodes. Absent: the node does not serve these URLs. */
  readonly tree?: TreeUrls;
  /** Serves further URLs of the node. Absent: there are none. */
  readonly urls?: NodeUrls;
}

/**
 * Answers a request if its path is one of the node's own URLs. Undefined: the path is another one. `signal` is aborted when the client closes the connection, or
 * when the server ends.
 */
export type NodeUrls = (
  request: ApiRequest,
  signal: AbortSignal,
) => Promise<ApiResponse | StreamedResponse> | undefined;

export interface TreeUrls {
  answer(request: ApiRequest): Promise<ApiResponse>;
  /**
   * The next hop for a request: the stream on which the server passes the request on, and the target there. `target` is the encoded path and query.
   * Undefined: `answer` serves the request. Throws NotFound.
   */
  way(target: string, user: UserInfo): { readonly target: string; readonly ask: Ask } | undefined;
}

/**
 * The server keeps an idle HTTP/1.1 connection as long as clients keep it (Go clients and kube-apiserver: 90 s). If the server closed a connection while a
 * client writes a request, the request would fail.
 */
const idleConnectionMs = 90_000;
/**
 * The server closes an idle HTTP/2 connection properly after this time. Most clients close their connections earlier. The bound also closes connections
 * without any request.
 */
const idleSessionMs = 2 * idleConnectionMs;
/**
 * Requests at the same time on one HTTP/2 connection, as in Go's servers. A client that needs more opens another connection. node:http2 itself has no
 * bound.
 */
const streamsMax = 250;
/** Time limit for the whole body of a request. node:http has such a limit for HTTP/1.1; node:http2 would wait for ever. */
const bodyWithinMs = 300_000;
/** When the server ends, open requests get this much time. After that, the server closes their connections. */
const drainMs = 1_000;

export class ApiServer implements AsyncDisposable {
  readonly #options: ApiServerOptions;
  readonly #server: Http2SecureServer;
  readonly #handlers = new Map<string, SpaceHandler>();
  readonly #resolvers: ((prefix: string) => Space | undefined)[] = [];
  /** The handlers of spaces that resolvers have returned. An entry exists as long as its resolver keeps the space. */
  readonly #resolved = new WeakMap<Space, SpaceHandler>();
  readonly #watches = new Set<WatchRequest>();
  /** The answers of `urls` that are not finished. */
  readonly #unfinished = new Set<AbortController>();
  readonly #outgoing: OutgoingAnswers;
  readonly #yaml: YamlThread;
  /** The user of each connection. A client sends its certificate once per connection, and decoding a certificate takes a third of a millisecond. */
  readonly #users = new WeakMap<object, UserInfo>();
  readonly #sockets = new Set<TLSSocket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  /** Serves the connections that other code hands over with their user (`take`). */
  readonly #taken = createServer({ requestTimeout: 0 });
  #tls: ApiTls;

  constructor(options: ApiServerOptions) {
    this.#options = options;
    this.#outgoing = new OutgoingAnswers(options.clock);
    this.#yaml = new YamlThread(options.clock);
    this.#tls = options.tls();
    this.#server = createSecureServer({
      ...this.#tls,
      allowHTTP1: true,
      http1Options: { keepAliveTimeout: idleConnectionMs },
      settings: { maxConcurrentStreams: streamsMax },
      requestCert: true,
      rejectUnauthorized: false,
    });
    // This listener runs before the TLS handshake of the new connection.
    this.#server.prependListener('connection', () => this.#renew());
    for (const server of [this.#server, this.#taken]) {
      server.on('request', (request: Http2ServerRequest, response: Http2ServerResponse) => {
        void this.#serve(request, response);
      });
      server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
        this.#upgrade(request, socket, head);
      });
    }
    this.#server.on('secureConnection', (socket: TLSSocket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.#server.on('session', (session) => {
      this.#sessions.add(session);
      closeWhenIdle(session, idleSessionMs, options.clock);
      session.once('close', () => this.#sessions.delete(session));
    });
    this.#server.on('sessionError', (error) => options.log.debug({ reason: error.message }, 'a connection broke'));
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
    const { host, port, log } = this.#options;
    return new Promise((resolve, reject) => {
      // This listener is never removed. Errors after the start, for example because of too few descriptors, must not end the process.
      this.#server.on('error', (error: NodeJS.ErrnoException) => {
        if (this.#server.listening) return log.error({ reason: error.message }, 'the listener of the API failed');
        reject(
          new BanyanError(
            'Unavailable',
            `can't listen on ${hostPort(host, port)} (${error.code}): free the port or choose another`,
            {},
            { cause: error },
          ),
        );
      });
      this.#server.listen(port, host, () => {
        const address = this.#server.address();
        resolve(`https://${hostPort(host, typeof address === 'object' && address ? address.port : port)}`);
      });
    });
  }

  /** Serves HTTP/1.1 on a connection of this user. */
  take(connection: Duplex, user: UserInfo): void {
    connection.on('error', (error) => this.#options.log.debug({ reason: error.message }, 'a connection broke'));
    this.#users.set(connection, user);
    this.#taken.emit('connection', connection);
  }

  /** Number of bytes of answers that clients have not read yet. */
  unreadBytes(): number {
    return this.#outgoing.unreadBytes();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const watch of this.#watches) watch.end();
    for (const answer of this.#unfinished) answer.abort();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const late = new Promise<void>((resolve) => this.#options.clock.after(drainMs, resolve));
    // Closes the session and not its socket. Closing the socket would cut off unfinished answers on the session's streams.
    for (const session of this.#sessions) session.close();
    for (const socket of this.#sockets) if (socket.alpnProtocol !== 'h2') socket.end();
    await Promise.race([closed, late]);
    for (const socket of this.#sockets) socket.destroy();
    this.#outgoing.end();
    this.#yaml.end();
  }

  #renew(): void {
    const tls = this.#options.tls();
    if (tls === this.#tls) return;
    this.#server.setSecureContext({ ...tls });
    this.#tls = tls;
  }

  async #serve(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
    try {
      const url = urlOf(request.url);
      if (await this.#health(url.pathname, response)) return;
      const user = this.#userOf(request);
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
        body: () => this.#body(request),
        readLongYaml: (text) => this.#yaml.read(text),
      };
      const { tree } = this.#options;
      const isTree = tree !== undefined && url.pathname.startsWith('/tree/');
      const way = isTree ? tree.way(request.url, user) : undefined;
      // A request that is passed on to another node is not in `#outgoing`. Its stream already bounds the unread bytes. And such a request may wait for a
      // long time, for example while a person scrolls through a log.
      const failed = (error: unknown) => this.#fail(request, response, error);
      if (way) return await passOn(request, response, { ...way, failed });
      const outgoing = this.#outgoing.begin(response, { connection, failed });
      if (isTree) return this.#answer(response, await tree.answer(asked));
      const over = new AbortController();
      const answer = this.#options.urls?.(asked, over.signal);
      if (answer) return await this.#answerOfNode(answer, over, outgoing, response);
      const { handler, path } = this.#find(url.pathname);
      const api = { ...asked, path };
      const review = await whoIsAsking(api);
      if (review) return this.#answer(response, review);
      const handled = await handler.handle(api);
      if ('answer' in handled) return this.#answer(response, handled.answer);
      if ('list' in handled) return this.#list(handled.list, outgoing, response);
      this.#watch(handled.watch, outgoing, response);
    } catch (error) {
      this.#fail(request, response, error);
    }
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
  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const asked = request as unknown as Http2ServerRequest;
    const answer = answerOf(request, socket) as unknown as Http2ServerResponse | undefined;
    if (!answer) return;
    const { tree } = this.#options;
    try {
      const url = urlOf(request.url ?? '');
      const way = url.pathname.startsWith('/tree/') ? tree?.way(request.url ?? '', this.#userOf(asked)) : undefined;
      if (!way) return void this.#serve(asked, answer);
      const failed = (error: unknown) => this.#fail(asked, answer, error);
      void passUpgrade(request, socket, head, { ...way, failed });
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

  /** The user of a request. Refuses impersonation for every request, including requests that the server passes on to another node. */
  #userOf(request: Http2ServerRequest): UserInfo {
    const user = this.#holderOf(request);
    refuseImpersonation(request.headers, user.name);
    return user;
  }

  /** The user of the connection. Throws Unauthorized if the connection has no user. */
  #holderOf(request: Http2ServerRequest): UserInfo {
    const socket = request.socket as TLSSocket;
    const connection = connectionOf(request);
    const known = this.#users.get(connection);
    if (known) return known;
    const certificate = isUser(socket) ? socket.getPeerCertificate() : undefined;
    const user = this.#options.authenticate(certificate as { subject: Record<string, unknown> } | undefined);
    if (!user) throw new BanyanError('Unauthorized', 'Unauthorized');
    this.#users.set(connection, user);
    return user;
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

  #answer(response: Http2ServerResponse, { status, body, headers }: ApiResponse): void {
    if (response.writableEnded || response.destroyed) return;
    if (response.headersSent) {
      // A part is already sent. The client must see that this part is not the whole answer.
      breakOff(response);
      return;
    }
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

/** The HTTP/2 session, or the socket of an HTTP/1.1 connection. In HTTP/2, `request.socket` is another object for every request. */
function connectionOf(request: Http2ServerRequest): object {
  return request.stream?.session ?? request.socket;
}

/** Parses the target of a request line. A target such as "//host" is treated as a path, not as a host. */
function urlOf(target: string): URL {
  if (target.startsWith('/')) return new URL(`https://node${target}`);
  throw new BanyanError(
    'BadRequest',
    `the server has nothing at ${JSON.stringify(target)}: a URL's path begins with "/"`,
  );
}

/**
 * True if the authority of the tree itself has signed the certificate. A certificate from a relay's issuer must not count: whoever holds the issuer could
 * make a certificate for any user.
 */
function isUser(socket: TLSSocket): boolean {
  const certificate = socket.authorized ? socket.getPeerX509Certificate() : undefined;
  return certificate !== undefined && !isFromIssuer(certificate);
}
