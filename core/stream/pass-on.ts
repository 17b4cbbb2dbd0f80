/**
 * Passes an HTTP request unchanged to another server, and passes the answer back. This includes watches, logs, uploads, and connections that change their
 * protocol (kubectl's exec, attach and port-forward). Headers of a single connection are not passed on
 * (https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1).
 */
import { type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { Socket } from 'node:net';
import { type Duplex, pipeline } from 'node:stream';
import { BanyanError } from '../runtime/errors.ts';

export interface ForwardedRequest {
  readonly method: string;
  /** Path and query, with the encoding of the received request. */
  readonly target: string;
  readonly headers: OutgoingHttpHeaders;
}

/** Begins a request to the other server. The caller then sends the body and reads the answer. */
export type Ask = (passed: ForwardedRequest) => ClientRequest | Promise<ClientRequest>;

export interface PassOn {
  /** The target at the other server. It replaces the target of the received request. */
  readonly target: string;
  readonly ask: Ask;
  /** Called if the request fails before any part of the answer was sent. */
  failed(error: unknown): void;
  /** Called with the status of the answer, before the head is sent. 101: the protocol changes. Then `bytes` counts what passes. */
  readonly answers?: ((status: number, bytes: PassedBytes) => void) | undefined;
}

/** The counters of a connection that has changed its protocol. */
export interface PassedBytes {
  /** From the client. */
  received: number;
  /** To the client. */
  sent: number;
}

const ofConnection = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);

/** Headers about the user. The next node gets the user with the stream, and this node has already done what the headers ask for. */
const ofUser = /^(authorization|impersonate-.*|x-remote-.*)$/;

export async function passOn(
  from: IncomingMessage | Http2ServerRequest,
  to: ServerResponse | Http2ServerResponse,
  { target, ask, failed, answers }: PassOn,
): Promise<void> {
  const clientClosed = closedOf(to);
  const sent = await beginRequest(from, target, ask, failed);
  if (!sent) return;
  if (clientClosed()) return giveUp(sent);
  // A request with a complete answer ends by itself. Only a request without one must be destroyed.
  let isAnswered = false;
  to.once('close', () => {
    if (!isAnswered) sent.destroy();
  });
  sent.on('error', (error) => {
    if (to.headersSent) to.destroy();
    else failed(error);
  });
  sent.once('upgrade', (_, far) => {
    far.destroy();
    failed(noAnswer('changes the protocol, which nobody asked for'));
  });
  sent.once('response', (answer) => {
    if (to.destroyed) return void answer.destroy();
    if (!isFinal(answer)) {
      answer.on('error', () => {}).destroy();
      return failed(noAnswer(`has the status ${answer.statusCode}`));
    }
    answers?.(answer.statusCode!, { received: 0, sent: 0 });
    (to as ServerResponse).writeHead(answer.statusCode!, passedHeaders(answer.headers));
    sendHead(to);
    answer.once('end', () => {
      isAnswered = true;
    });
    pipeline(answer, to as ServerResponse, () => {});
  });
  from.on('error', () => {});
  // Without the end of the request: the client aborted it, or the answer ended before the whole request arrived.
  from.once('close', () => {
    if (!from.readableEnded) sent.destroy();
  });
  from.pipe(sent);
}

/** Passes on a request that changes the protocol. `socket` and `head` are the arguments of a server's event `upgrade`. */
export async function passUpgrade(
  from: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  { target, ask, failed, answers }: PassOn,
): Promise<void> {
  socket.on('error', () => {});
  const clientClosed = closedOf(socket);
  const sent = await beginRequest(from, target, ask, failed, { connection: 'Upgrade', upgrade: from.headers.upgrade });
  if (!sent) return;
  if (clientClosed()) return giveUp(sent);
  let isAnswered = false;
  const bytes: PassedBytes = { received: head.length, sent: 0 };
  // An edge cluster may leave the id out. The client needs the id to find the request in the audit logs.
  const auditId = from.headers['audit-id'];
  const ownHeaders = auditId === undefined ? {} : { 'audit-id': auditId };
  const clientGone = () => sent.destroy();
  socket.once('close', clientGone);
  sent.on('error', (error) => {
    if (isAnswered) socket.destroy();
    else failed(error);
  });
  sent.once('upgrade', (answer, far, farHead) => {
    isAnswered = true;
    socket.off('close', clientGone);
    const upgradeHeaders = { connection: 'Upgrade', upgrade: answer.headers.upgrade };
    bytes.sent += farHead.length;
    answers?.(101, bytes);
    socket.write(headOf(answer, { ...ownHeaders, ...passedHeaders(answer.headers), ...upgradeHeaders }));
    if (farHead.length > 0) socket.write(farHead);
    if (head.length > 0) far.write(head);
    far.on('data', (chunk: Buffer) => {
      bytes.sent += chunk.length;
    });
    socket.on('data', (chunk: Buffer) => {
      bytes.received += chunk.length;
    });
    pipeOneWay(far, socket);
    pipeOneWay(socket, far);
  });
  sent.once('response', (answer) => {
    isAnswered = true;
    answers?.(answer.statusCode ?? 0, bytes);
    socket.write(headOf(answer, { ...ownHeaders, ...passedHeaders(answer.headers), connection: 'close' }));
    pipeline(answer, socket, () => {});
  });
  sent.end();
}

/** Whether Node's servers accept the status. They throw for other statuses, and the answering server is in an edge cluster that may send anything. */
function isFinal({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode <= 599;
}

function noAnswer(why: string): BanyanError {
  return new BanyanError('Unavailable', `the server's answer can't be passed on: it ${why}`);
}

/**
 * Sends the head immediately. HTTP/1.1 would send it only with the first bytes of the body. But a watch may have no events for a long time, and its client
 * waits for the head to know that the watch has begun.
 */
export function sendHead(to: ServerResponse | Http2ServerResponse): void {
  if ('flushHeaders' in to) to.flushHeaders();
}

/**
 * Makes an ordinary answer to a request of the event `upgrade`. The connection is closed after the answer, because nobody would read further requests.
 * node:http does not handle the socket any more after this event. So this function adds listeners: without them, an error of the socket would end the process,
 * and the answer would not continue when the socket has room again. Undefined: an earlier request of the connection was not answered yet. A client must wait
 * for earlier answers before it changes the protocol, so the connection is destroyed.
 */
export function answerOf(request: IncomingMessage, socket: Duplex): ServerResponse | undefined {
  socket.on('error', () => {});
  const answer = new ServerResponse(request);
  try {
    answer.assignSocket(socket as Socket);
  } catch {
    socket.destroy();
    return undefined;
  }
  answer.shouldKeepAlive = false;
  socket.on('drain', () => answer.emit('drain'));
  // If the request has a body, `socket` is not the connection but a stream that node:http has put in front of it.
  const { socket: connection } = request;
  answer.once('finish', () => {
    if (connection instanceof Socket) return connection.destroySoon();
    socket.end();
    // A stream closes when its end was read, and the answer is over when the stream has closed.
    socket.resume();
  });
  return answer;
}

/** Returns a function that answers whether the connection has closed since this call. The client may close it while the other request is being started. */
function closedOf(to: { once(event: 'close', act: () => void): unknown }): () => boolean {
  let isClosed = false;
  to.once('close', () => {
    isClosed = true;
  });
  return () => isClosed;
}

/** Destroys a request whose client has gone: nobody would send its body or end it. */
function giveUp(sent: ClientRequest): void {
  sent.on('error', () => {}).destroy();
}

/** Copies bytes in one direction. If `from` ends normally, its last bytes still arrive. If `from` is aborted, `to` is destroyed too. */
function pipeOneWay(from: Duplex, to: Duplex): void {
  from.on('error', () => to.destroy());
  from.once('close', () => {
    if (!from.readableEnded) to.destroy();
  });
  from.pipe(to);
}

async function beginRequest(
  { method = 'GET', headers }: IncomingMessage | Http2ServerRequest,
  target: string,
  ask: Ask,
  failed: (error: unknown) => void,
  more: OutgoingHttpHeaders = {},
): Promise<ClientRequest | undefined> {
  try {
    const { host: _, ...passed } = passedHeaders(headers);
    return await ask({ method, target, headers: { ...passed, ...more } });
  } catch (error) {
    failed(error);
    return undefined;
  }
}

function passedHeaders(headers: NodeJS.Dict<string | string[]>): OutgoingHttpHeaders {
  const named = new Set(
    String(headers.connection ?? '')
      .toLowerCase()
      .split(/\s*,\s*/),
  );
  const isPassed = (name: string) =>
    !name.startsWith(':') && !ofConnection.has(name) && !named.has(name) && !ofUser.test(name);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => isPassed(name)));
}

function headOf({ statusCode, statusMessage }: IncomingMessage, headers: OutgoingHttpHeaders): string {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => `${name}: ${one}`),
  );
  return `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${lines.join('\r\n')}\r\n\r\n`;
}
