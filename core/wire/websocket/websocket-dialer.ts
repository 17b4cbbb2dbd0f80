/** The child's side: one connection to the parent, with one WebSocket on it. */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { WebSocket } from 'ws';
import type { Expiry } from '../../identity/expiry.ts';
import type { PeerIdentity } from '../../identity/peer-identity.ts';
import { durationText } from '../../runtime/duration-text.ts';
import { BanyanError, describeError, type ErrorCode, isErrorCode } from '../../runtime/errors.ts';
import { connected, type Way } from '../dialer/way.ts';
import type { FrameLink } from '../frame-link.ts';
import { codeHeader, http1Protocol } from '../http-messages.ts';
import type { Dialer, Link, LinkEvents } from '../link.ts';
import { WebSocketCall } from './websocket-call.ts';
import { linkHeader, sessionPath, socketOptions, streamHeader, streamPath, subprotocol } from './websocket-messages.ts';

/** Maximal bytes that are read of an answer that opens no WebSocket. */
const refusalBytesMax = 2_000;
/** Time limit for the connection of a stream. The code that opens the stream has a deadline of its own. */
const streamWithinMs = 10_000;

export function webSocketDialer(way: Way): Dialer {
  return {
    async dial(events, timeoutMs) {
      const opened = await open(way, timeoutMs, sessionPath, {});
      const name = opened.answer.headers[linkHeader];
      if (typeof name !== 'string') {
        opened.webSocket.terminate();
        throw new BanyanError('Protocol', `${way.shown}: the answer does not name the session in ${linkHeader}`);
      }
      const streams = new Streams(way, name);
      const link = linkOf(way, opened, (id, _apart, streamEvents) => streams.open(id, streamEvents));
      opened.webSocket.once('close', () => streams.close());
      startNextTurn(link, opened, events);
      return link;
    },
  };
}

interface OpenedWebSocket {
  readonly webSocket: WebSocket;
  /** The parent's answer to the upgrade. */
  readonly answer: IncomingMessage;
  readonly socket: TLSSocket;
  readonly peer: PeerIdentity;
  readonly expiry: Expiry | undefined;
}

function linkOf(
  way: Way,
  { webSocket, socket, peer, expiry }: OpenedWebSocket,
  openStream?: NonNullable<Link['openStream']>,
): FrameLink {
  const call = new WebSocketCall({
    peer,
    transport: `websocket${way.suffix}`,
    expiry,
    clock: way.clock,
    socket,
    shown: way.shown,
    ...(openStream ? { openStream } : {}),
  });
  call.opened(webSocket);
  return call.link;
}

/** Starts the link in the next turn of the event loop, so that the caller has the link before its first frame. */
function startNextTurn(link: FrameLink, { webSocket }: OpenedWebSocket, events: LinkEvents): void {
  setImmediate(() => {
    link.start(events);
    webSocket.resume();
  });
}

/** The streams of a session. Each has a connection of its own, whose request names the session. */
class Streams {
  readonly #way: Way;
  readonly #session: string;
  readonly #open = new Set<WebSocket>();
  #closed = false;

  constructor(way: Way, session: string) {
    this.#way = way;
    this.#session = session;
  }

  async open(id: number, events: LinkEvents): Promise<Link> {
    if (this.#closed) throw new BanyanError('Unavailable', 'the session is over');
    const headers = { [linkHeader]: this.#session, [streamHeader]: String(id) };
    let opened: OpenedWebSocket;
    try {
      opened = await open(this.#way, streamWithinMs, streamPath, headers);
    } catch (error) {
      if (!(error instanceof RefusedByParent)) throw error;
      return refusedLink(this.#way, error, events);
    }
    const { webSocket } = opened;
    this.#open.add(webSocket);
    webSocket.once('close', () => this.#open.delete(webSocket));
    if (this.#closed) webSocket.terminate();
    const link = linkOf(this.#way, opened);
    startNextTurn(link, opened, events);
    return link;
  }

  /** Ends all streams, because the session is over. */
  close(): void {
    this.#closed = true;
    for (const webSocket of this.#open) webSocket.terminate();
  }
}

/** A link that ends at once: the refusal of a stream is reported as its end, as in other transports. */
function refusedLink({ parent: peer, clock }: Way, error: RefusedByParent, events: LinkEvents): Link {
  const { link } = new WebSocketCall({ peer, transport: 'websocket', clock, socket: { bytesRead: 0 } });
  link.failed(error);
  setImmediate(() => link.start(events));
  return link;
}

class RefusedByParent extends BanyanError {}

/** Resolves with a paused WebSocket when the parent has accepted the request. */
async function open(
  way: Way,
  timeoutMs: number,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<OpenedWebSocket> {
  let socket: Socket | undefined;
  const timeout = new BanyanError('Unavailable', `${way.shown}: no answer within ${durationText(timeoutMs)}`);
  let giveUp: (error: Error) => void = () => {};
  const givenUp = new Promise<never>((_, reject) => {
    giveUp = reject;
  });
  const timer = way.clock.after(timeoutMs, () => {
    giveUp(timeout);
    socket?.destroy(timeout);
  });
  try {
    const tcp = way.connect(timeoutMs);
    socket = tcp;
    return await Promise.race([givenUp, openOn(way, tcp, path, headers)]);
  } catch (error) {
    socket?.destroy();
    if (error instanceof BanyanError) throw error;
    throw new BanyanError('Unavailable', `${way.shown}: ${describeError(error)}`, {}, { cause: error });
  } finally {
    timer.stop();
  }
}

async function openOn(
  way: Way,
  tcp: Socket,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<OpenedWebSocket> {
  await connected(tcp);
  const { socket, peer, expiry } = await way.open(tcp, [http1Protocol]);
  // The connection already uses TLS, so the scheme is not `wss`.
  const webSocket = new WebSocket(`ws://${way.address}${path}`, [subprotocol], {
    ...socketOptions,
    headers,
    createConnection: () => socket,
  });
  return new Promise((resolve, reject) => {
    let answer: IncomingMessage | undefined;
    webSocket.once('upgrade', (response) => {
      answer = response;
    });
    webSocket.once('open', () => {
      // Frames that arrived together with the answer wait until the caller has the link.
      webSocket.pause();
      webSocket.removeListener('error', failed);
      resolve({ webSocket, answer: answer!, socket, peer, expiry });
    });
    webSocket.once('unexpected-response', (_request, response) => {
      refusal(way, response).then(reject, reject);
    });
    const failed = (error: Error) => reject(error);
    webSocket.once('error', failed);
  });
}

/** The error for an answer that opens no WebSocket. It is either from the parent, with the parent's message and code, or from a gateway or proxy. */
async function refusal(way: Way, response: IncomingMessage): Promise<BanyanError> {
  let body = '';
  response.setEncoding('utf8');
  for await (const chunk of response) {
    body += String(chunk);
    if (body.length > refusalBytesMax) break;
  }
  const parentCode = response.headers[codeHeader];
  if (typeof parentCode === 'string' && isErrorCode(parentCode)) {
    return new RefusedByParent(parentCode, `${way.shown}: ${body.slice(0, refusalBytesMax).trim()}`);
  }
  const status = response.statusCode ?? 0;
  const code: ErrorCode = status >= 500 || status === 429 ? 'Unavailable' : 'Protocol';
  const answer = `answers ${status} ${response.statusMessage ?? ''}`.trim();
  return new BanyanError(code, `${way.shown} opens no WebSocket, it ${answer}: does it pass them on to the parent?`);
}
