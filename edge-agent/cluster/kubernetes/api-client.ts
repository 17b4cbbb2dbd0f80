/**
 * Sends requests to one API server, over connections that stay open. Errors have the server's own message. If the server asks the client to wait (429, or 503
 * with Retry-After), the client waits and asks again a few times, before it returns an error.
 */

import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import type { Socket } from 'node:net';
import { type Credentials, unreadable } from '../../../core/kubeconfig/credentials.ts';
import { jsonText, parseJson } from '../../../core/object/json.ts';
import type { Clock, Timer } from '../../../core/runtime/clock.ts';
import { BanyanError, describeError } from '../../../core/runtime/errors.ts';
import type { ForwardedRequest } from '../../../core/stream/pass-on.ts';
import { shownBytes } from '../../limits/byte-quantity.ts';
import type { LimitUse } from '../../limits/limit-use.ts';
import type { WriteGuard } from '../cluster.ts';
import type { Access } from './access.ts';
import type { BytesHeld } from './byte-budget.ts';
import { type ClientLimits, defaultLimits } from './client-limits.ts';
import { remedyOf } from './plain-messages.ts';
import { RequestBounds } from './request-bounds.ts';
import { errorOfStatus } from './status-error.ts';

export interface ClusterApiRequest {
  readonly method?: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  /** From the root of the server, without the query: `/apis/apps/v1/deployments`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  /**
   * True: an answer of 503 is final, because a proxy may have sent the 503 although the server carried out the request. A second request would then have
   * another result.
   */
  readonly once?: boolean;
}

export interface ApiAnswer {
  /** A status from 200 to 299. */
  readonly status: number;
  /** The parsed JSON. Undefined: the answer has no body. */
  readonly body: unknown;
}

/** If a request takes longer than this, the API server counts as unreachable. Watches are an exception. The server's own limit is 60 s. */
const timeoutMs = 65_000;
/** The limit for the body of a refused watch. */
const refusalBytesMax = 1 << 20;
/** How often the client repeats a request after the server has asked it to wait. After that, the caller gets the error. */
const putOffMax = 4;
const putOffMsMax = 10_000;
/**
 * The client reads the credentials again after this time. Token files change while the agent runs, and reading them is cheap. The programs by which some
 * users sign in are not cheap.
 */
const credentialsMs = 60_000;
/** After a failed connection, the client reads the credentials again after this time. They may be the reason: people often react with a renewed kubeconfig. */
const doubtedMs = 5_000;
/** Longest wait for the sign-in. Even over a bad line, a provider answers within this time or not at all. */
const signInMs = 30_000;

export class ClusterApiClient {
  readonly #access: Access;
  readonly #clock: Clock;
  readonly #limits: ClientLimits;
  readonly #bounds: RequestBounds;
  readonly #doubt: (isLost: boolean) => void;
  readonly #guard: WriteGuard;
  #credentials: Promise<Credentials> | undefined;
  /** The read of the credentials that is running. A sign-in program may hang: the client starts no second one before the first has ended. */
  #reading: Promise<Credentials> | undefined;
  #readAtMs = 0;
  #areDoubted = false;
  #aheadMs = 0;
  #agent: Agent | PlainAgent | undefined;
  /** The credentials with which the agent's connections were opened. */
  #agentCredentials: Credentials | undefined;

  /**
   * `doubted` is called in two cases:
   *
   * - The server was lost (`isLost`): a connection failed, or the server does not accept the agent's credentials any more.
   * - Somebody else seems to have answered: the next answer may also come from another server.
   */
  constructor(
    access: Access,
    clock: Clock,
    limits: ClientLimits = defaultLimits,
    doubted: (isLost: boolean) => void = () => {},
    guard: WriteGuard = () => undefined,
  ) {
    this.#access = access;
    this.#clock = clock;
    this.#limits = limits;
    this.#doubt = (isLost) => {
      this.#areDoubted = true;
      doubted(isLost);
    };
    this.#guard = guard;
    this.#bounds = new RequestBounds(limits, clock);
  }

  get server(): string {
    return this.#access.server.origin;
  }

  /** How far the clock of this machine is ahead of the server's clock, according to the server's last answer. 0 before the first answer. */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  limitUses(): readonly LimitUse[] {
    return this.#bounds.uses();
  }

  /** Sends the request, and returns the parsed JSON of the answer. Throws a BanyanError with the server's message, or Unavailable if there is no answer. */
  async json(asked: ClusterApiRequest): Promise<unknown> {
    return (await this.answer(asked)).body;
  }

  /** Like `json`, but also returns the status of the successful answer. */
  async answer(asked: ClusterApiRequest): Promise<ApiAnswer> {
    const release = await this.#bounds.slot();
    try {
      for (let putOff = 0; ; putOff++) {
        const answer = await this.#ask(asked);
        if (!(answer instanceof BanyanError)) return answer;
        const { retryAfterSeconds } = answer.details;
        const mayBeDone = asked.once === true && answer.code !== 'TooManyRequests';
        if (retryAfterSeconds === undefined || mayBeDone || putOff >= putOffMax) throw answer;
        await this.#delay(Math.min(putOffMsMax, retryAfterSeconds * 1_000));
      }
    } finally {
      release();
    }
  }

  async #ask(asked: ClusterApiRequest): Promise<ApiAnswer | BanyanError> {
    const held = this.#bounds.bytes();
    try {
      const body = encoded(asked);
      if (body) await held.take(body.length);
      const response = await this.#send(asked, timeoutMs, body);
      const text = await bodyOf(response, { bytesMax: this.#bounds.bytesMax - (body?.length ?? 0), held });
      const { statusCode = 0 } = response;
      if (statusCode >= 200 && statusCode < 300) {
        return { status: statusCode, body: text === '' ? undefined : parse(text, this.server) };
      }
      return this.#refusal(response, text);
    } finally {
      held.end();
    }
  }

  /** Returns the answer as a stream if its status is 200, and throws otherwise. The caller ends the stream. */
  async stream(asked: ClusterApiRequest, idleMs: number): Promise<IncomingMessage> {
    await this.#bounds.permit();
    const response = await this.#send(asked, idleMs);
    if (response.statusCode === 200) return response;
    throw this.#refusal(response, await bodyOf(response, { bytesMax: refusalBytesMax }));
  }

  #refusal({ statusCode = 0, headers }: IncomingMessage, text: string): BanyanError {
    if (statusCode === 401) this.#signInAgain();
    const error = errorOfStatus(statusCode, text, headers['retry-after'], this.server);
    // The 404 is not about a missing object. Somebody else may have answered, or the server serves other kinds than before.
    if (statusCode === 404 && error.code === 'Unavailable') this.#doubt(false);
    return error;
  }

  /** Begins a request of somebody else, with these headers and the agent's credentials. The caller sends the body and reads the answer. */
  async pass({ method, target, headers }: ForwardedRequest): Promise<ClientRequest> {
    await this.#bounds.permit();
    const current = await this.#currentCredentials();
    const { headers: own, ...credentials } = current;
    const { server } = this.#access;
    const options: RequestOptions = {
      ...credentials,
      ...this.#place(target),
      // A request that changes its protocol gets its own connection.
      agent: headers.upgrade === undefined ? this.#agentFor(current) : false,
      method,
      headers: { ...headers, ...own },
    };
    const sent = server.protocol === 'https:' ? request(options) : plainRequest(options);
    sent.on('error', () => this.#doubt(true));
    return sent;
  }

  close(): void {
    this.#agent?.destroy();
  }

  /** `target` begins at the root of the server, and includes the query. */
  #place(target: string): Pick<RequestOptions, 'hostname' | 'port' | 'path'> {
    const { server } = this.#access;
    return {
      hostname: server.hostname.replace(/^\[|\]$/g, ''),
      port: server.port || (server.protocol === 'https:' ? 443 : 80),
      path: `${server.pathname.replace(/\/$/, '')}${target}`,
    };
  }

  // ---------------------------------------------------------------------------------------------------- one request

  async #send(asked: ClusterApiRequest, idleMs: number, body?: Buffer): Promise<IncomingMessage> {
    const current = await this.#currentCredentials();
    const { headers, ...credentials } = current;
    const { server } = this.#access;
    const query = new URLSearchParams(asked.query ?? {}).toString();
    const options: RequestOptions = {
      ...credentials,
      agent: this.#agentFor(current),
      method: asked.method ?? 'GET',
      ...this.#place(`${asked.path}${query === '' ? '' : `?${query}`}`),
      timeout: idleMs,
      headers: {
        ...headers,
        accept: asked.accept ?? 'application/json',
        'user-agent': 'banyan-agent',
        ...(body ? { 'content-type': asked.contentType ?? 'application/json', 'content-length': body.length } : {}),
      },
    };
    const isWrite = options.method !== 'GET';
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      const refusal = isWrite ? this.#guard() : undefined;
      if (refusal) return reject(refusal);
      const begun = (response: IncomingMessage) => {
        // This also happens when an answer ends in the middle, for example a watch.
        response.on('error', () => this.#doubt(true));
        const serverMs = Date.parse(response.headers.date ?? '');
        if (!Number.isNaN(serverMs)) this.#aheadMs = this.#clock.wallMs() - serverMs;
        resolve(response);
      };
      const sent = server.protocol === 'https:' ? request(options, begun) : plainRequest(options, begun);
      sent.on('timeout', () => sent.destroy(new Error(`no answer within ${idleMs / 1_000} s`)));
      sent.on('error', reject);
      // An answer that changes the protocol causes only this event.
      sent.on('close', () => reject(new Error('it closed the connection without an answer')));
      if (isWrite) this.#sendGuarded(sent, body);
      else sent.end(body);
    });
    return answered.catch((error: unknown) => {
      // This also happens for invalid certificates: they throw before anything is sent.
      if (!(error instanceof BanyanError)) this.#doubt(true);
      throw unreachable(this.server, error);
    });
  }

  /**
   * Sends the request only when there is a connection. The connection may take long, and the agent may not be allowed to write any more by then. So the guard
   * is asked again.
   */
  #sendGuarded(sent: ClientRequest, body: Buffer | undefined): void {
    sent.once('socket', (socket: Socket) => {
      const send = () => {
        const refusal = this.#guard();
        if (refusal) sent.destroy(refusal);
        else sent.end(body);
      };
      if (!socket.connecting) return send();
      socket.once(this.#access.server.protocol === 'https:' ? 'secureConnect' : 'connect', send);
    });
  }

  /**
   * Called when the server does not accept the agent's credentials any more. The doubt makes the agent check the identity of the server again. So the error
   * is in the report of the node, and not only in the reports of single objects.
   */
  #signInAgain(): void {
    this.#credentials = undefined;
    this.#doubt(true);
  }

  #currentCredentials(): Promise<Credentials> {
    const nowMs = this.#clock.monotonicMs();
    const ageMsMax = this.#areDoubted ? doubtedMs : credentialsMs;
    if (!this.#credentials || nowMs - this.#readAtMs > ageMsMax) {
      this.#readAtMs = nowMs;
      this.#areDoubted = false;
      const reading = this.#read();
      this.#credentials = reading;
      reading.catch(() => {
        if (this.#credentials === reading) this.#credentials = undefined;
      });
    }
    return this.#credentials;
  }

  async #read(): Promise<Credentials> {
    this.#reading ??= this.#access.credentials().finally(() => {
      this.#reading = undefined;
    });
    const late = unreadable(this.server, `the sign-in has not answered within ${signInMs / 1_000} s`);
    let timer: Timer | undefined;
    const waited = new Promise<never>((_, reject) => {
      timer = this.#clock.after(signInMs, () => reject(late));
    });
    try {
      return await Promise.race([this.#reading, waited]);
    } finally {
      timer?.stop();
    }
  }

  /**
   * Returns the agent with the connections for these credentials. Connections belong to the certificates with which they were opened, so other certificates
   * need other connections.
   */
  #agentFor(credentials: Credentials): Agent | PlainAgent {
    const before = this.#agentCredentials;
    this.#agentCredentials = credentials;
    // The client uses the same credentials object until it reads the credentials again.
    if (!this.#agent || (before !== credentials && certificatesOf(before) !== certificatesOf(credentials))) {
      if (this.#agent) retire(this.#agent);
      const kept = { keepAlive: true, maxFreeSockets: this.#limits.inFlight };
      this.#agent = this.#access.server.protocol === 'https:' ? new Agent(kept) : new PlainAgent(kept);
    }
    return this.#agent;
  }

  #delay(ms: number): Promise<void> {
    return new Promise((resolve) => this.#clock.after(ms, resolve));
  }
}

/** Closes the connections of an agent that is not used any more. Idle connections end at once. Connections with a running request end after the request. */
function retire(agent: Agent | PlainAgent): void {
  agent.maxFreeSockets = 0;
  for (const idle of Object.values(agent.freeSockets).flat()) idle?.destroy();
}

function certificatesOf(of: Credentials | undefined): string {
  return jsonText([String(of?.ca), String(of?.cert), String(of?.key)]);
}

function encoded({ body }: ClusterApiRequest): Buffer | undefined {
  return body === undefined ? undefined : Buffer.from(jsonText(body));
}

async function bodyOf(
  response: IncomingMessage,
  { bytesMax, held }: { readonly bytesMax: number; readonly held?: BytesHeld },
): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw tooLarge(bytesMax);
      await held?.take(chunk.length);
      chunks.push(chunk);
    }
  } catch (error) {
    throw unreachable(response.headers.host ?? 'the API server', error);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function tooLarge(bytesMax: number): BanyanError {
  const limit = 'half of cluster.kubernetes.limits.inFlightBytes, with its request';
  return new BanyanError('TooLarge', `the answer is larger than ${shownBytes(bytesMax)} bytes (${limit}): raise it`);
}

function parse(text: string, server: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    // The answer comes from a proxy or a login page.
    throw new BanyanError('Unavailable', `${server} answered no JSON: ${text.slice(0, 200)}`, {}, { cause: error });
  }
}

function unreachable(server: string, error: unknown): BanyanError {
  if (error instanceof BanyanError) return error;
  const remedy = remedyOf(error);
  const message = `the cluster's API server ${server} can't be reached: ${describeError(error)}${remedy && `; ${remedy}`}`;
  return new BanyanError('Unavailable', message, {}, { cause: error });
}
