/**
 * The child's side: asks its parent for a certificate, through the same proxies as a session. TLS must end at the parent, because the request contains a
 * secret. If a gateway terminates TLS, the child sends nothing.
 */

import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { pinned } from '../../identity/join-token.ts';
import { cliCommand } from '../../runtime/cli-command.ts';
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError, describeError, type ErrorCode, isErrorCode } from '../../runtime/errors.ts';
import { checkSchema, problemsText } from '../../runtime/schema-problems.ts';
import type { LinkOptions } from '../dialer/link-options.ts';
import type { EnvironmentProxies } from '../dialer/proxy-choice.ts';
import { trustInAuthority, trustInNobody } from '../dialer/secure-connection.ts';
import { connected, Way, type WayOptions } from '../dialer/way.ts';
import { codeHeader, http1Protocol } from '../http-messages.ts';
import {
  authorityPath,
  type JoinAnswer,
  type JoinRequest,
  joinAnswerSchema,
  joinBodyBytesMax,
  joinPath,
  renewPath,
} from '../join-messages.ts';
import type { ParentAddress } from '../network.ts';
import type { NodeCredentials } from '../node-credentials.ts';

export interface JoinLine {
  readonly parent: ParentAddress;
  readonly link: LinkOptions;
  /** The content of the file that `link.ca` names. */
  readonly linkCaPem?: Buffer | undefined;
  readonly environment: EnvironmentProxies;
  readonly clock: Clock;
}

/** Same limit as for the dial of a session. */
const answerWithinMs = 10_000;
const refusalBytesMax = 2_000;
const none: NodeCredentials = { caPem: Buffer.alloc(0), certPem: Buffer.alloc(0), keyPem: Buffer.alloc(0) };

/**
 * Asks for a certificate with a join token. Throws Unavailable if nobody answers, Unauthorized if the parent does not match the pin, or an error with the
 * parent's message.
 */
export async function joinParent(line: JoinLine, pin: string, request: JoinRequest): Promise<JoinAnswer> {
  const unverified = wayOf(line, none, () => trustInNobody({ path: line.parent.path, role: 'relay' }));
  const answer = jsonIn(await ask(unverified, authorityPath)) as { readonly authority?: unknown } | undefined;
  const trusted = pinned(String(answer?.authority), pin);
  if (trusted.length === 0) {
    const mismatch = `${unverified.shown} is of another tree than the join token: its authority is not the pinned one`;
    throw new BanyanError('Unauthorized', `${mismatch}; check the parent's address, or who answers there`);
  }
  const way = wayOf(line, none, (check) => trustInAuthority(Buffer.from(trusted.join('\n')), check));
  return answerIn(way, await ask(way, joinPath, request));
}

/** Asks for a new certificate and shows the present one. */
export async function renewAtParent(
  line: JoinLine,
  credentials: NodeCredentials,
  request: string,
): Promise<JoinAnswer> {
  const way = wayOf(line, credentials);
  return answerIn(way, await ask(way, renewPath, { request }));
}

function wayOf(line: JoinLine, credentials: NodeCredentials, trust?: WayOptions['trust']): Way {
  const { parent, link, linkCaPem, environment, clock } = line;
  if (link.terminatedTls) {
    const remedy = `give the node a certificate with ${cliCommand('enroll')}, or a connection on which TLS ends at the parent`;
    throw new BanyanError(
      'Invalid',
      `link.terminatedTls: this node can't get a certificate through a gateway that terminates TLS, because the gateway could read a token, and the parent would not see the node's certificate: ${remedy}`,
    );
  }
  const optional = { ...(linkCaPem ? { linkCaPem } : {}), ...(trust ? { trust } : {}) };
  return new Way({ parent, link, environment, credentials, clock, ...optional });
}

function answerIn(way: Way, body: string): JoinAnswer {
  const checked = checkSchema(joinAnswerSchema, jsonIn(body));
  if ('value' in checked) return checked.value;
  throw new BanyanError(
    'Protocol',
    `${way.shown} answers without a valid certificate: ${problemsText(checked.problems, 'the body')}`,
  );
}

function jsonIn(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Keyed by the codes of https://nodejs.org/api/errors.html#common-system-errors. The message of the system names the problem and no remedy. */
const remedies: ReadonlyMap<string | undefined, string> = new Map([
  ['ENOTFOUND', ': the name is not known: correct parent.address, or look at the DNS of this machine'],
  ['EAI_AGAIN', ': the name can not be looked up now: correct parent.address, or look at the DNS of this machine'],
]);

/** Returns the body of an answer with status 200. The time limit covers request and answer together. */
async function ask(way: Way, path: string, body?: object): Promise<string> {
  const timeout = new BanyanError('Unavailable', `${way.shown}: no answer within ${answerWithinMs / 1000} s`);
  const tcp = way.connect(answerWithinMs);
  const timer = way.clock.after(answerWithinMs, () => tcp.destroy(timeout));
  try {
    await connected(tcp);
    const { socket } = await way.open(tcp, [http1Protocol]);
    return await exchange(way, socket, path, body);
  } catch (error) {
    if (error instanceof BanyanError) throw error;
    const remedy = remedies.get((error as NodeJS.ErrnoException).code) ?? '';
    throw new BanyanError('Unavailable', `${way.shown}: ${describeError(error)}${remedy}`, {}, { cause: error });
  } finally {
    timer.stop();
    tcp.destroy();
  }
}

function exchange(way: Way, socket: Socket, path: string, body: object | undefined): Promise<string> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    host: way.address,
    connection: 'close',
    ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
  };
  return new Promise((resolve, reject) => {
    const method = text === undefined ? 'GET' : 'POST';
    const request = httpRequest({ method, path, headers, createConnection: () => socket }, (response) => {
      read(way, response).then(resolve, reject);
    });
    request.once('error', reject);
    request.once('upgrade', (_, changed) => {
      changed.destroy();
      reject(new BanyanError('Protocol', `${way.shown} changes the protocol, which nobody asked for`));
    });
    request.end(text);
  });
}

async function read(way: Way, response: IncomingMessage): Promise<string> {
  let body = '';
  response.setEncoding('utf8');
  for await (const chunk of response) {
    body += String(chunk);
    if (body.length > joinBodyBytesMax)
      throw new BanyanError('Protocol', `${way.shown} answers more than ${joinBodyBytesMax} bytes`);
  }
  const { statusCode = 0, headers } = response;
  if (statusCode === 200) return body;
  const parentCode = headers[codeHeader];
  if (typeof parentCode !== 'string' || !isErrorCode(parentCode)) {
    const code: ErrorCode = statusCode >= 500 || statusCode === 429 ? 'Unavailable' : 'Protocol';
    const question = 'is it another server than the parent?';
    throw new BanyanError(code, `${way.shown} gives no certificate, it answers ${statusCode}: ${question}`);
  }
  const seconds = Number(headers['retry-after']);
  const details = seconds > 0 ? { retryAfterSeconds: seconds } : {};
  throw new BanyanError(parentCode, `${way.shown}: ${body.slice(0, refusalBytesMax).trim()}`, details);
}
