/** The parent's end of WebSocket. A request on a connection becomes a session or a stream of a session, or is refused. */

import { createServer, type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { WebSocketServer } from 'ws';
import { expiryOfSocket } from '../../identity/expiry.ts';
import type { PeerIdentity } from '../../identity/peer-identity.ts';
import { BanyanError, describeError, errorTable } from '../../runtime/errors.ts';
import { hex } from '../../store/bytes.ts';
import {
  type Accepting,
  type Acceptor,
  flawOf,
  lingerMs,
  remoteOf,
  sessionNameBytes,
  sessionWithinMs,
  unproven,
  whyUnused,
} from '../acceptor.ts';
import type { FrameLink } from '../frame-link.ts';
import { codeHeader } from '../http-messages.ts';
import { answerJoinRequest, isJoinRequest } from '../join/join-handler.ts';
import type { Link, LinkEvents } from '../link.ts';
import { UnprovenBudget, unprovenBytesMax, unprovenPiecesMax } from '../proof/unproven-budget.ts';
import type { Refusal } from '../refusals.ts';
import { WebSocketCall } from './websocket-call.ts';
import { linkHeader, sessionPath, socketOptions, streamHeader, streamPath, subprotocol } from './websocket-messages.ts';

interface Connection {
  readonly socket: TLSSocket;
  readonly remote: string;
  readonly flaw: BanyanError | undefined;
  /** True after the request of the connection has arrived. A connection carries one WebSocket or one refusal. */
  used: boolean;
  /** The refusal that is counted if the connection ends now. Undefined: nothing was refused, or `accept` counts the refusal. */
  refusal: Refusal | undefined;
  error?: Error;
}

interface Session {
  readonly link: FrameLink;
  readonly events: LinkEvents;
  readonly isProven: boolean;
  readonly streams: Set<FrameLink>;
}

/**
 * The answer to a request that is not an upgrade. A gateway may send many such requests over one connection, one after the other. Only an upgrade makes a
 * link.
 */
const nobodyHere = 'This is the port of a Banyan node where its children attach, by gRPC or by WebSocket.\n';

export class WebSocketAcceptor implements Acceptor {
  readonly #accepting: Accepting;
  readonly #http: Server;
  readonly #upgrades = new WebSocketServer({
    ...socketOptions,
    noServer: true,
    clientTracking: false,
    handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
  });
  readonly #connections = new WeakMap<Duplex, Connection>();
  /** Additional header lines for the answer to an upgrade. */
  readonly #answers = new WeakMap<IncomingMessage, readonly string[]>();
  /** Keyed by name. */
  readonly #sessions = new Map<string, Session>();

  constructor(accepting: Accepting) {
    this.#accepting = accepting;
    this.#http = createServer({ headersTimeout: sessionWithinMs, requestTimeout: sessionWithinMs });
    this.#http.on('request', (request, response) => {
      const connection = this.#connections.get(request.socket);
      if (connection && isJoinRequest(request)) return void answerJoinRequest(request, response, connection, accepting);
      response.writeHead(404, { 'content-type': 'text/plain' }).end(nobodyHere);
    });
    this.#upgrades.on('headers', (lines, request) => lines.push(...(this.#answers.get(request) ?? [])));
    this.#http.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
  }

  take(socket: TLSSocket): void {
    const { clock, refused, isTerminated } = this.#accepting;
    const flaw = isTerminated(socket) ? undefined : flawOf(socket, this.#accepting);
    const connection: Connection = { socket, remote: remoteOf(socket), flaw, used: false, refusal: 'no_session' };
    this.#connections.set(socket, connection);
    const timer = clock.after(sessionWithinMs, () => {
      if (!connection.used) socket.destroy(new Error(`no session was begun within ${sessionWithinMs} ms`));
    });
    socket.once('error', (error) => {
      connection.error = error;
    });
    socket.once('close', () => {
      timer.stop();
      if (!connection.used) {
        const { error, refusal } = whyUnused(connection);
        if (connection.refusal === 'no_session') connection.refusal = refusal;
        this.#refused(connection.remote, error);
      }
      if (connection.refusal) refused(connection.refusal);
    });
    this.#http.emit('connection', socket);
  }

  links(): Link[] {
    return [...this.#sessions.values()].map(({ link }) => link);
  }

  end(): void {
    this.#http.closeAllConnections();
    this.#upgrades.close();
  }

  /** `given` is the connection itself. If the request has a body, `given` is a stream with which node:http wraps the connection. */
  #upgrade(request: IncomingMessage, given: Duplex, head: Buffer): void {
    given.on('error', () => {});
    const connection = this.#connections.get(request.socket);
    if (!connection) throw new Error('an upgrade on an unknown connection');
    connection.used = true;
    const { socket } = connection;
    try {
      if (given !== socket) throw new BanyanError('BadRequest', 'a request for a WebSocket has no body');
      const path = request.url?.split('?')[0];
      if (path === sessionPath) return this.#session(request, connection, head);
      if (path === streamPath) return this.#stream(request, connection, head);
      throw new BanyanError('NotFound', `there is no WebSocket at ${path}; sessions are at ${sessionPath}`);
    } catch (error) {
      this.#refused(connection.remote, error);
      refuse(socket, error);
      // Only the peer can end its half of the connection, and a peer might never do so.
      this.#accepting.clock.after(lingerMs, () => socket.destroy());
    }
  }

  #session(request: IncomingMessage, connection: Connection, head: Buffer): void {
    const { accept, acceptUnproven, identify, isTerminated, random, clock } = this.#accepting;
    const { socket } = connection;
    const isProven = !isTerminated(socket);
    connection.refusal = 'certificate';
    const peer = isProven ? identify(socket) : unproven;
    connection.refusal = undefined;
    const name = hex(random.bytes(sessionNameBytes));
    const call = new WebSocketCall({ peer, transport: 'websocket', expiry: expiryOfSocket(socket), clock, socket });
    const events = isProven ? accept(call.link) : acceptUnproven(call.link);
    const session: Session = { link: call.link, events, isProven, streams: new Set() };
    this.#sessions.set(name, session);
    socket.once('close', () => {
      this.#sessions.delete(name);
      for (const stream of session.streams) stream.abort(new BanyanError('Unavailable', 'the session is over'));
    });
    this.#open(request, connection, head, { call, events, headers: [`${linkHeader}: ${name}`] });
    if (!isProven) this.#boundUnproven(connection, call.link);
  }

  /**
   * Limits how much an unproven peer may send, until its first frame, which contains the proof, has been accepted. If the link ends before that, the limit
   * still holds for bytes that arrive until the connection has ended.
   */
  #boundUnproven({ socket, remote }: Connection, link: FrameLink): void {
    const budget = new UnprovenBudget();
    const count = (chunk: Buffer) => {
      if (link.hasTaken) return void socket.off('data', count);
      if (budget.take(chunk.length)) return;
      const most = `${unprovenBytesMax} bytes in ${unprovenPiecesMax} pieces`;
      this.#refused(remote, new Error(`it sends more than ${most} before it proves its identity`));
      socket.destroy();
    };
    socket.on('data', count);
  }

  /** If a gateway terminates TLS, the session's name is sufficient. Otherwise the child must also be the same one. */
  #stream(request: IncomingMessage, connection: Connection, head: Buffer): void {
    const { clock, identify, isTerminated } = this.#accepting;
    const { socket } = connection;
    connection.refusal = 'stream';
    const id = streamIdOf(request);
    const session = this.#sessions.get(String(request.headers[linkHeader]));
    if (!session?.link.isOpen || !session.events.onStream) {
      throw new BanyanError('NotFound', `stream ${id}: there is no such session here`);
    }
    const { peer } = session.link;
    if (session.isProven || !isTerminated(socket)) checkSameChild(identify(socket), peer, session.isProven);
    const call = new WebSocketCall({ peer, transport: 'websocket', clock, socket });
    const events = session.events.onStream(id, call.link);
    connection.refusal = undefined;
    session.streams.add(call.link);
    socket.once('close', () => session.streams.delete(call.link));
    this.#open(request, connection, head, { call, events, headers: [] });
  }

  #open(
    request: IncomingMessage,
    { socket }: Connection,
    head: Buffer,
    { call, events, headers }: { call: WebSocketCall; events: LinkEvents; headers: readonly string[] },
  ): void {
    this.#answers.set(request, headers);
    let opened = false;
    this.#upgrades.handleUpgrade(request, socket, head, (webSocket) => {
      opened = true;
      call.opened(webSocket);
    });
    // The callback runs in this turn of the event loop or never. If it did not run, `handleUpgrade` has already refused the request.
    if (!opened) call.link.failed(new BanyanError('Protocol', 'the request was no valid WebSocket handshake'));
    call.link.start(events);
  }

  #refused(remote: string, error: unknown): void {
    this.#accepting.strangers.refused(remote, error);
  }
}

function checkSameChild(caller: PeerIdentity, peer: PeerIdentity, isProven: boolean): void {
  if (isProven && caller.path === peer.path && caller.role === peer.role) return;
  throw new BanyanError('Forbidden', `the ${caller.role} "${caller.path}" has no such session on another connection`);
}

function streamIdOf({ headers }: IncomingMessage): number {
  const id = headers[streamHeader];
  if (typeof id === 'string' && /^[1-9]\d{0,15}$/.test(id) && Number.isSafeInteger(Number(id))) return Number(id);
  throw new BanyanError('Protocol', `a stream names its session in ${linkHeader} and its number in ${streamHeader}`);
}

function refuse(socket: TLSSocket, error: unknown): void {
  const code = error instanceof BanyanError ? error.code : 'Internal';
  const { http } = errorTable[code];
  const body = `${describeError(error)}\n`;
  const head = [
    `HTTP/1.1 ${http} ${STATUS_CODES[http]}`,
    'Connection: close',
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `${codeHeader}: ${code}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
