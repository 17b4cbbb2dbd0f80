/** The HTTPS side of the API: finds the user and the space of each request, and sends the answer. */
import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { Authorizer } from '../../access/authorizer.ts';
import type { AccessPlace } from '../../access/grant-scope.ts';
import type { AuditPort } from '../../audit/audit-port.ts';
import type { FrontProxyConfig } from '../../authentication/front-proxy.ts';
import { answerOf, passOn, passUpgrade } from '../../stream/pass-on.ts';
import type { Space, UserInfo } from '../space.ts';
import { Answers } from './answers.ts';
import type { AskedAccess } from './asked-access.ts';
import { BodyThread } from './body-thread.ts';
import { encoded } from './encoded-answer.ts';
import type { Asking } from './fair-queue.ts';
import { HttpsListener, type HttpsListenerOptions } from './https-listener.ts';
import { preferredEncoding } from './negotiate.ts';
import type { NodeUrls, TreeUrls } from './node-urls.ts';
import type { OutgoingAnswer } from './outgoing.ts';
import { RequestAccess } from './request-access.ts';
import type { RequestAudit } from './request-audit.ts';
import { RequestAudits } from './request-audits.ts';
import { receiveBody } from './request-body.ts';
import { pathAndQuery, urlOf } from './request-target.ts';
import { RequestTurns } from './request-turns.ts';
import { type Authenticate, connectionOf, type IsRevoked, RequestUsers } from './request-users.ts';
import { type ApiRequest, type ApiResponse, header } from './requests.ts';
import { reviewOf } from './reviews.ts';
import { SpaceMounts } from './space-mounts.ts';
import { type TokenIssuer, tokenAnswerOf } from './token-requests.ts';

export interface ApiServerOptions extends HttpsListenerOptions {
  readonly authenticate: Authenticate;
  readonly authorizer: Authorizer;
  readonly isRevoked: IsRevoked;
  /** Which headers of a front proxy name users. Absent: none do. */
  readonly frontProxy?: FrontProxyConfig | undefined;
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
  /**
   * Called for each request that is authorized. Throws TooManyRequests. Returns what has to be called when the answer has ended. Absent, or undefined: there is
   * no limit.
   */
  admitRequest?(place: AccessPlace, isWatch: boolean): (() => void) | undefined;
  /** Absent: the node has no audit log. `newId` makes the id of a request that has none. */
  readonly audit?: { readonly port: AuditPort; newId(): string } | undefined;
}

/** Requests with these methods have no body. */
const bodyless: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Values of the parameter `watch` that ask for a watch. */
const watchValues: ReadonlySet<string> = new Set(['true', '1']);

export class ApiServer implements AsyncDisposable {
  readonly #options: ApiServerOptions;
  readonly #listener: HttpsListener;
  readonly #users: RequestUsers;
  readonly #access: RequestAccess;
  readonly #mounts: SpaceMounts;
  readonly #turns = new RequestTurns();
  readonly #audits: RequestAudits;
  readonly #answers: Answers;
  readonly #bodies: BodyThread;

  constructor(options: ApiServerOptions) {
    const { clock, log, audit, authorizer, path } = options;
    this.#options = options;
    this.#mounts = new SpaceMounts(clock);
    this.#audits = new RequestAudits(audit && { ...audit, clock });
    this.#answers = new Answers({ clock, log, audits: this.#audits });
    this.#bodies = new BodyThread(clock);
    this.#users = new RequestUsers(options);
    this.#access = new RequestAccess({ users: this.#users, authorizer, path });
    this.#listener = new HttpsListener(options, {
      request: (request, response) => void this.#serve(request, response),
      upgrade: (request, socket, head) => void this.#upgrade(request, socket, head),
    });
  }

  /** Serves a space at a URL prefix. `''` is the system space. Other prefixes are, for example, `/spaces/NAME`. */
  mount(prefix: string, space: Space): void {
    this.#mounts.mount(prefix, space);
  }

  /** Adds a resolver for spaces that are created and deleted while the server runs. The server calls the resolver for each request. */
  resolveWith(resolver: (prefix: string) => Space | undefined): void {
    this.#mounts.resolveWith(resolver);
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
    return this.#answers.unreadBytes();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#answers.end();
    await this.#listener.close();
    this.#answers.closed();
    this.#bodies.end();
  }

  async #serve(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
    const failed = (error: unknown) => this.#answers.fail(request, response, error);
    try {
      const url = urlOf(request.url);
      if (this.#health(url.pathname, response)) return;
      const audit = this.#audits.of(request, response);
      const access = await this.#access.of(request, url, audit);
      const connection = connectionOf(request);
      this.#answers.admit(connection);
      const isWatch = watchValues.has(url.searchParams.get('watch') ?? '');
      const ended = this.#options.admitRequest?.(access.place, isWatch);
      // The client may have gone while the user was authenticated.
      if (response.destroyed) ended?.();
      else if (ended) response.once('close', ended);
      const { user } = access.attributes;
      const { tree } = this.#options;
      const isTree = tree !== undefined && url.pathname.startsWith('/tree/');
      const way = isTree ? tree.way(pathAndQuery(url), user) : undefined;
      // A request that is passed on to another node is not in `#answers`. Its stream already bounds the unread bytes. And such a request may wait for a
      // long time, for example while a person scrolls through a log.
      if (way) return await passOn(request, response, { ...way, failed, answers: audit?.passedOn });
      const flow = JSON.stringify([access.place, user.name]);
      const turn = (asking: Omit<Asking, 'flow'>) => this.#turns.take({ flow, ...asking }, () => response.destroyed);
      const nextTurn = (act: () => void) => void turn({ bytes: 0, isFurther: true }).then(act).catch(failed);
      const outgoing = this.#answers.begin(request, response, { connection, nextTurn });
      const ready = async (bytes: number) => {
        await turn({ bytes });
        // The answers to requests that came before may have been made meanwhile.
        this.#answers.admit(connection);
      };
      const isGone = () => response.destroyed;
      const bodies = this.#bodiesOf({ flow, audit, isGone, again: () => turn({ bytes: 0, isFurther: true }) });
      const asked = { ...this.#askedOf(request, { url, access, audit, ready }), ...bodies };
      if (bodyless.has(request.method)) await ready(0);
      if (isTree) return this.#answers.whole(response, await tree.answer(asked));
      await this.#answer(asked, access, outgoing, response);
    } catch (error) {
      failed(error);
    }
  }

  /** `ready` resolves when the request may do its work in this thread. Its parameter is the length of the body. */
  #askedOf(
    request: Http2ServerRequest,
    of: { url: URL; access: AskedAccess; audit: RequestAudit | undefined; ready(bytes: number): Promise<void> },
  ): Omit<ApiRequest, 'readLongYaml'> {
    const { url, access, audit, ready } = of;
    return {
      method: request.method,
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      user: access.attributes.user,
      alsoMay: (verb) => this.#access.alsoMay(access, verb),
      mustRead: (key) => this.#access.mustRead(access, key),
      body: async () => {
        const bytes = await receiveBody(request, this.#options.clock);
        audit?.bodyCame(bytes.length);
        await ready(bytes.length);
        return bytes;
      },
      parsed: (body) => audit?.bodyParsed(body),
    };
  }

  /** How the long bodies of a request are read. `again` takes another turn in this thread. */
  #bodiesOf(of: {
    flow: string;
    audit: RequestAudit | undefined;
    isGone(): boolean;
    again(): Promise<void>;
  }): Pick<ApiRequest, 'readLongYaml' | 'thread' | 'turn'> {
    const { flow, audit, isGone, again } = of;
    return {
      turn: again,
      readLongYaml: (text) => this.#bodies.readYaml({ flow, bytes: text.length }, text, isGone),
      thread: {
        write: async (question, bytes) => {
          const written = await this.#bodies.write({ flow, bytes }, question, isGone);
          await again();
          return written;
        },
        keepsBody: () => audit?.keepsBody() ?? false,
        encode: async (encoding, json) => {
          const bytes = await this.#bodies.encode({ flow, bytes: json.length }, { encoding, json }, isGone);
          await again();
          return bytes;
        },
      },
    };
  }

  async #answer(
    asked: ApiRequest,
    access: AskedAccess,
    outgoing: OutgoingAnswer,
    response: Http2ServerResponse,
  ): Promise<void> {
    const { authorizer, tokens, urls } = this.#options;
    if (asked.path === '/metrics') return this.#answers.whole(response, await this.#metrics());
    const { place } = access;
    const review = await reviewOf({ ...asked, path: access.path }, { authorizer, place, tokens });
    const encoding = preferredEncoding(header(asked, 'accept') ?? '');
    const answered = async (made: ApiResponse) =>
      this.#answers.handled(await encoded({ answer: { ...made, encoding } }, asked), outgoing, response);
    if (review) return answered(review);
    const token = this.#access.isHere(access) && tokens ? await tokenAnswerOf(asked, tokens) : undefined;
    if (token) return answered(token);
    const over = new AbortController();
    const answer = urls?.(asked, over.signal);
    if (answer) return await this.#answers.streamed(answer, over, outgoing, response);
    const { handler, path } = this.#mounts.find(asked.path);
    this.#answers.handled(await encoded(await handler.handle({ ...asked, path }), asked), outgoing, response);
  }

  async #metrics(): Promise<ApiResponse> {
    const body = Buffer.from(await this.#options.metrics());
    return { status: 200, body, headers: { 'content-type': 'text/plain; version=0.0.4' } };
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
      const audit = url.pathname.startsWith('/tree/') ? this.#audits.of(asked, answer) : undefined;
      const way = url.pathname.startsWith('/tree/')
        ? tree?.way(pathAndQuery(url), (await this.#access.of(asked, url, audit)).attributes.user)
        : undefined;
      if (socket.destroyed) return;
      if (!way) return void this.#serve(asked, answer);
      const failed = (error: unknown) => this.#answers.fail(asked, answer, error);
      void passUpgrade(request, socket, head, { ...way, failed, answers: audit?.passedOn });
    } catch (error) {
      this.#answers.fail(asked, answer, error);
    }
  }

  #health(path: string, response: Http2ServerResponse): boolean {
    if (path !== '/healthz' && path !== '/livez' && path !== '/readyz') return false;
    const wrong = path === '/readyz' ? this.#options.notReady() : undefined;
    this.#answers.whole(response, {
      status: wrong ? 503 : 200,
      body: Buffer.from(wrong ?? this.#options.readyAs?.() ?? 'ok'),
      headers: { 'content-type': 'text/plain' },
    });
    return true;
  }
}
