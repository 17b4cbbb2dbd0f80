/** The parent's side: answers requests for certificates on connections of the WebSocket acceptor. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type * as z from 'zod';
import { BanyanError, errorTable } from '../../runtime/errors.ts';
import { checkSchema, problemsText } from '../../runtime/schema-problems.ts';
import type { Accepting } from '../acceptor.ts';
import { codeHeader } from '../http-messages.ts';
import {
  authorityPath,
  type JoinAnswer,
  joinBodyBytesMax,
  joinPath,
  joinRequestSchema,
  renewPath,
  renewRequestSchema,
} from '../join-messages.ts';
import type { Joins } from '../joins.ts';
import type { Refusal } from '../refusals.ts';

export interface JoinConnection {
  readonly socket: TLSSocket;
  readonly remote: string;
  /** True after the whole request has arrived. Until then, the acceptor's time limit for a session applies. */
  used: boolean;
  /** The refusal that is counted when the connection ends. */
  refusal: Refusal | undefined;
}

/** True if a request asks for a certificate. The handler answers such a request, and the connection ends. */
export function isJoinRequest({ url }: IncomingMessage): boolean {
  return url === authorityPath || url === joinPath || url === renewPath;
}

export async function answerJoinRequest(
  request: IncomingMessage,
  response: ServerResponse,
  connection: JoinConnection,
  { joins, strangers, identify }: Pick<Accepting, 'joins' | 'strangers' | 'identify'>,
): Promise<void> {
  response.setHeader('connection', 'close');
  connection.refusal = 'join';
  try {
    const body = await answerTo(request, connection, joins, identify);
    connection.refusal = undefined;
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  } catch (error) {
    connection.used = true;
    strangers.refused(connection.remote, error, 'a request for a certificate was refused');
    const { code, details } = error instanceof BanyanError ? error : new BanyanError('Internal', '');
    const message = error instanceof BanyanError ? error.message : 'the parent could not answer: its log says why';
    const retryAfter =
      details.retryAfterSeconds === undefined ? {} : { 'retry-after': String(details.retryAfterSeconds) };
    response
      .writeHead(errorTable[code].http, {
        'content-type': 'text/plain; charset=utf-8',
        [codeHeader]: code,
        ...retryAfter,
      })
      .end(`${message}\n`);
  }
}

async function answerTo(
  request: IncomingMessage,
  connection: JoinConnection,
  joins: Joins | undefined,
  identify: Accepting['identify'],
): Promise<JoinAnswer | { readonly authority: string }> {
  if (!joins) {
    throw new BanyanError('NotFound', 'this node gives no certificates: its configuration has no pki.issuer');
  }
  if (request.url === authorityPath) {
    connection.used = true;
    return { authority: joins.authority() };
  }
  if (request.method !== 'POST') {
    throw new BanyanError('MethodNotAllowed', `${request.url} takes POST, and not ${request.method}`);
  }
  if (request.url === renewPath) {
    const peer = identify(connection.socket);
    const renewal = parsed(renewRequestSchema, await bodyOf(request, connection));
    return joins.renew(peer, renewal.request);
  }
  joins.admit();
  return joins.join(parsed(joinRequestSchema, await bodyOf(request, connection)), connection.remote);
}

async function bodyOf(request: IncomingMessage, connection: JoinConnection): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > joinBodyBytesMax) {
      throw new BanyanError('TooLarge', `a request for a certificate has at most ${joinBodyBytesMax} bytes`);
    }
    chunks.push(chunk);
  }
  connection.used = true;
  return Buffer.concat(chunks).toString('utf8');
}

function parsed<T>(schema: z.ZodType<T>, text: string): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new BanyanError('BadRequest', 'the body is not JSON', {}, { cause });
  }
  const checked = checkSchema(schema, value);
  if ('value' in checked) return checked.value;
  throw new BanyanError('BadRequest', problemsText(checked.problems, 'the body').slice(0, 500));
}
