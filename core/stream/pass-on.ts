/**
 * An HTTP request handed on to another server as it came, and the answer back as that comes: watches, logs, uploads, and connections that change their
 * protocol (kubectl's exec, attach and port-forward). What belongs to one connection alone stays behind (https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1).
 */
import { type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { Socket } from 'node:net';
import { type Duplex, pipeline } from 'node:stream';
import { BanyanError } from '../runtime/errors.ts';

export interface ForwardedRequest {
  readonly method: string;
  /** With its query, encoded as it came. */
  readonly target: string;
  readonly headers: OutgoingHttpHeaders;
}

/** Begins the request; whoever asked for it sends its body and hears its answer. */
export type Ask = (passed: ForwardedRequest) => ClientRequest | Promise<ClientRequest>;

export interface PassOn {
  /** Instead of what the request was to here. */
  readonly target: string;
  readonly ask: Ask;
  /** Nothing has been answered yet. */
  failed(error: unknown): void;
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

export async function passOn(
  from: IncomingMessage | Http2ServerRequest,
  to: ServerResponse | Http2ServerResponse,
  { target, ask, failed }: PassOn,
): Promise<void> {
  const isOver = closedOf(to);
  const sent = await asked(from, target, ask, failed);
  if (!sent) return;
  if (isOver()) return giveUp(sent);
  // What has been answered in full ends by itself, in order.
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
    (to as ServerResponse).writeHead(answer.statusCode!, passedHeaders(answer.headers));
    sendHead(to);
    answer.once('end', () => {
      isAnswered = true;
    });
    pipeline(answer, to as ServerResponse, () => {});
  });
  from.on('error', () => {});
  // It was broken off, or answered before it had all arrived.
  from.once('close', () => {
    if (!from.readableEnded) sent.destroy();
  });
  from.pipe(sent);
}

/** `socket`, `head`: as of the event `upgrade` of a server. */
export async function passUpgrade(
  from: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  { target, ask, failed }: PassOn,
): Promise<void> {
  socket.on('error', () => {});
  const isOver = closedOf(socket);
  const sent = await asked(from, target, ask, failed, { connection: 'Upgrade', upgrade: from.headers.upgrade });
  if (!sent) return;
  if (isOver()) return giveUp(sent);
  let isAnswered = false;
  const gone = () => sent.destroy();
  socket.once('close', gone);
  sent.on('error', (error) => {
    if (isAnswered) socket.destroy();
    else failed(error);
  });
  sent.once('upgrade', (answer, far, farHead) => {
    isAnswered = true;
    socket.off('close', gone);
    const kept = { connection: 'Upgrade', upgrade: answer.headers.upgrade };
    socket.write(headOf(answer, { ...passedHeaders(answer.headers), ...kept }));
    if (farHead.length > 0) socket.write(farHead);
    if (head.length > 0) far.write(head);
    carry(far, socket);
    carry(socket, far);
  });
  sent.once('response', (answer) => {
    isAnswered = true;
    socket.write(headOf(answer, { ...passedHeaders(answer.headers), connection: 'close' }));
    pipeline(answer, socket, () => {});
  });
  sent.end();
}

/** What servers of node take for the status of an answer; for anything else they throw. Who answers may be anybody's edge cluster. */
function isFinal({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode <= 599;
}

function noAnswer(why: string): BanyanError {
  return new BanyanError('Unavailable', `what came from there is no answer to a request: it ${why}`);
}

/** What is watched may stay silent for long, and who watches wants to know that it has begun: HTTP/1.1 would send the head with the first of the body. */
export function sendHead(to: ServerResponse | Http2ServerResponse): void {
  if ('flushHeaders' in to) to.flushHeaders();
}

/**
 * For a request of the event `upgrade` that is answered as any other; the connection ends with it, at both ends: nobody would read what came after. node:http
 * has let go of the socket by then: an error that nobody hears would end the process, and no answer would hear that there is room again. Undefined: it came
 * before the request in front of it was answered, and the connection is over; whoever changes the protocol waits for what it has asked before.
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
  // Where the request has a body, node:http has put something of its own in front of the connection.
  const { socket: connection } = request;
  answer.once('finish', () => (connection instanceof Socket ? connection.destroySoon() : socket.end()));
  return answer;
}

/** Whether it has closed since: to begin a request may take its time, and who asked may have hung up meanwhile. */
function closedOf(to: { once(event: 'close', act: () => void): unknown }): () => boolean {
  let isClosed = false;
  to.once('close', () => {
    isClosed = true;
  });
  return () => isClosed;
}

/** Nobody would send its body, nor end it. */
function giveUp(sent: ClientRequest): void {
  sent.on('error', () => {}).destroy();
}

/** As far as it goes: who has ended is done, and what it said last still arrives; who breaks off takes the other one along. */
function carry(from: Duplex, to: Duplex): void {
  from.on('error', () => to.destroy());
  from.once('close', () => {
    if (!from.readableEnded) to.destroy();
  });
  from.pipe(to);
}

async function asked(
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
  const isPassed = (name: string) => !name.startsWith(':') && !ofConnection.has(name) && !named.has(name);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => isPassed(name)));
}

function headOf({ statusCode, statusMessage }: IncomingMessage, headers: OutgoingHttpHeaders): string {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => `${name}: ${one}`),
  );
  return `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${lines.join('\r\n')}\r\n\r\n`;
}
