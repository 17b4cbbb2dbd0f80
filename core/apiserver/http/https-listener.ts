/** The port of the API: TLS, HTTP/1.1 and HTTP/2, and the end of all connections when the server ends. */
import { createServer, type IncomingMessage } from 'node:http';
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { cannotListen } from '../../runtime/cannot-listen.ts';
import type { Clock } from '../../runtime/clock.ts';
import { hostPort } from '../../runtime/host-port.ts';
import { closeWhenIdle } from '../../runtime/idle-session.ts';
import type { Logger } from '../../runtime/logger.ts';

/** Key and certificates as PEM. */
export interface ApiTls {
  readonly key: Buffer;
  readonly cert: Buffer;
  /** The authorities of users. */
  readonly ca: Buffer;
  /** The authorities of front proxies. Absent: there is no front proxy. */
  readonly frontProxyCa?: Buffer;
}

export interface HttpsListenerOptions {
  /** Called for each new connection. Must return the same object as long as no file has changed. */
  tls(): ApiTls;
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface HttpsEvents {
  request(request: Http2ServerRequest, response: Http2ServerResponse): void;
  /** A client asks to change the protocol of its HTTP/1.1 connection. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
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
/** When the server ends, open requests get this much time. After that, the server closes their connections. */
const drainMs = 1_000;

export class HttpsListener {
  readonly #options: HttpsListenerOptions;
  readonly #server: Http2SecureServer;
  /** Serves the connections that other code hands over (`take`). */
  readonly #taken = createServer({ requestTimeout: 0 });
  readonly #sockets = new Set<TLSSocket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  #tls: ApiTls;

  constructor(options: HttpsListenerOptions, events: HttpsEvents) {
    this.#options = options;
    this.#tls = options.tls();
    this.#server = createSecureServer({
      ...contextOf(this.#tls),
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
        events.request(request, response);
      });
      server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
        events.upgrade(request, socket, head);
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

  /** Resolves with the URL of the server. */
  listen(): Promise<string> {
    const { host, port, log } = this.#options;
    return new Promise((resolve, reject) => {
      // This listener is never removed. Errors after the start, for example because of too few descriptors, must not end the process.
      this.#server.on('error', (error: NodeJS.ErrnoException) => {
        if (this.#server.listening) return log.error({ reason: error.message }, 'the listener of the API failed');
        reject(cannotListen(host, port, error));
      });
      this.#server.listen(port, host, () => {
        const address = this.#server.address();
        resolve(`https://${hostPort(host, typeof address === 'object' && address ? address.port : port)}`);
      });
    });
  }

  /** Serves HTTP/1.1 on a connection of other code. */
  take(connection: Duplex): void {
    connection.on('error', (error) => this.#options.log.debug({ reason: error.message }, 'a connection broke'));
    this.#taken.emit('connection', connection);
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const late = new Promise<void>((resolve) => this.#options.clock.after(drainMs, resolve));
    // Closes the session and not its socket. Closing the socket would cut off unfinished answers on the session's streams.
    for (const session of this.#sessions) session.close();
    for (const socket of this.#sockets) if (socket.alpnProtocol !== 'h2') socket.end();
    await Promise.race([closed, late]);
    for (const socket of this.#sockets) socket.destroy();
  }

  #renew(): void {
    const tls = this.#options.tls();
    if (tls === this.#tls) return;
    this.#server.setSecureContext(contextOf(tls));
    this.#tls = tls;
  }
}

/** TLS accepts the authorities of all kinds. For each certificate, request-users.ts finds out which of them it is from. */
function contextOf({ key, cert, ca, frontProxyCa }: ApiTls) {
  return { key, cert, ca: frontProxyCa ? [ca, frontProxyCa] : ca };
}
