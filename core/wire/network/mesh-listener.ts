/**
 * The parent's side: one port for all transports. The TLS handshake shows which transport a connection uses. The listener makes the TLS connections itself,
 * and passes them to the transports after the handshake. So TLS 1.3 is the minimum. And a child with a wrong certificate learns the reason: its handshake
 * succeeds, and the answer to its first call or request is the refusal. Otherwise the child would see only a broken connection.
 */

import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { createServer, type TLSSocket, type Server as TlsServer } from 'node:tls';
import { identityOfPeer } from '../../identity/peer-chain.ts';
import type { PeerIdentity } from '../../identity/peer-identity.ts';
import { cannotListen } from '../../runtime/cannot-listen.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { hostPort } from '../../runtime/host-port.ts';
import type { Logger } from '../../runtime/logger.ts';
import { type Random, systemRandom } from '../../runtime/random.ts';
import { type Accepting, type Acceptor, type Refused, remoteOf, sessionWithinMs } from '../acceptor.ts';
import { tlsVersionMin } from '../dialer/secure-connection.ts';
import { GrpcAcceptor } from '../grpc/grpc-acceptor.ts';
import { grpcProtocol } from '../grpc/tls-channel.ts';
import { http1Protocol } from '../http-messages.ts';
import type { Joins } from '../joins.ts';
import type { Accept, Listener } from '../link.ts';
import { currentOf, type NodeCredentials, perCredentials } from '../node-credentials.ts';
import { acceptProven } from '../proof/parent-proof.ts';
import { StrangersLog } from '../strangers.ts';
import { WebSocketAcceptor } from '../websocket/websocket-acceptor.ts';
import { HandshakeRateLimiter } from './handshake-rate-limiter.ts';

export interface ListenOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly credentials: NodeCredentials;
  readonly accept: Accept;
  /** Absent: this node issues no certificates. */
  readonly joins?: Joins | undefined;
  readonly refused?: Refused | undefined;
  /** True: also accepts children without a certificate. They prove their identity with a signature. */
  readonly terminatedTls?: boolean;
  readonly log: Logger;
  readonly clock?: Clock;
  readonly random?: Random;
}

/** How long links may take to close properly. After this time, the listener destroys their connections. */
const drainMs = 2_000;

export async function listenMesh(options: ListenOptions): Promise<Listener> {
  const listener = new MeshListener(options);
  await listener.listen(options.host, options.port);
  return listener;
}

class MeshListener implements Listener {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #countRefused: Refused;
  readonly #strangers: StrangersLog;
  readonly #tls: TlsServer;
  /** The TCP port. TLS on a connection begins when the connection has its turn. */
  readonly #front = createTcpServer({ noDelay: true });
  readonly #handshakeRate = new HandshakeRateLimiter();
  /** Makes new connections use renewed certificate files. */
  readonly #renew: () => void;
  readonly #grpc: Acceptor;
  readonly #webSocket: Acceptor;
  /** All connections of the port, including those that are still in their handshake. */
  readonly #sockets = new Set<Socket>();
  address = '';

  constructor({
    credentials,
    accept,
    joins,
    refused = () => {},
    terminatedTls = false,
    log,
    clock = systemClock,
    random = systemRandom,
  }: ListenOptions) {
    this.#log = log;
    this.#clock = clock;
    this.#countRefused = refused;
    this.#strangers = new StrangersLog(log, clock);
    const accepting: Accepting = {
      accept,
      acceptUnproven: acceptProven(accept, { credentials, clock, random, refused }),
      joins,
      refused,
      strangers: this.#strangers,
      identify: identifying(() => currentOf(credentials).caPem),
      isTerminated: (socket) => terminatedTls && socket.getPeerX509Certificate() === undefined,
      admit: () => this.#handshakeRate.admit(clock.monotonicMs()),
      log,
      clock,
      random,
    };
    this.#grpc = new GrpcAcceptor(accepting);
    this.#webSocket = new WebSocketAcceptor(accepting);
    this.#tls = createServer({
      ca: credentials.caPem,
      cert: credentials.certPem,
      key: credentials.keyPem,
      minVersion: tlsVersionMin,
      ALPNProtocols: [grpcProtocol, http1Protocol],
      requestCert: true,
      rejectUnauthorized: false,
      handshakeTimeout: sessionWithinMs,
      noDelay: true,
    });
    this.#renew = perCredentials(credentials, ({ caPem, certPem, keyPem }) => {
      this.#tls.setSecureContext({ ca: caPem, cert: certPem, key: keyPem, minVersion: tlsVersionMin });
    });
    this.#front.on('connection', (socket) => this.#arrived(socket));
    // A peer that names no protocol is a gateway that uses HTTP/1.1 for its backends.
    this.#tls.on('secureConnection', (socket) =>
      (socket.alpnProtocol === grpcProtocol ? this.#grpc : this.#webSocket).take(socket),
    );
    this.#tls.on('tlsClientError', (error, socket) => this.#refused(socket, error));
  }

  async listen(host: string, port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#front.once('error', (error) => reject(cannotListen(host, port, error)));
      this.#front.listen(port, host, resolve);
    });
    this.#front.on('error', (error) => this.#log.error({ reason: error.message }, 'the listener for children failed'));
    const bound = this.#front.address() as AddressInfo;
    this.address = hostPort(host, bound.port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#front.close(() => resolve()));
    const links = [...this.#grpc.links(), ...this.#webSocket.links()];
    for (const link of links) link.close('the parent ends');
    if (links.length === 0) this.#destroySockets();
    const timer = this.#clock.after(drainMs, () => this.#destroySockets());
    await closed;
    timer.stop();
    this.#grpc.end();
    this.#webSocket.end();
  }

  /** Runs before the listener reads anything from the connection, because a handshake is expensive and all children connect at once after a restart. */
  #arrived(socket: Socket): void {
    const waitMs = this.#handshakeRate.admit(this.#clock.monotonicMs());
    if (waitMs === undefined) return this.#turnAway(socket);
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    if (waitMs === 0) return this.#begin(socket);
    // Without this listener, the process would end if a child closes the connection while it waits.
    socket.on('error', () => socket.destroy());
    this.#clock.after(waitMs, () => {
      if (socket.destroyed) this.#countRefused('no_session');
      else this.#begin(socket);
    });
  }

  /**
   * Closes a connection without a reason, because nothing can be sent before TLS. The child dials again after a wait of its own. The log has no line for
   * this, because there may be very many such connections at once.
   */
  #turnAway(socket: Socket): void {
    socket.destroy();
    this.#countRefused('handshake_rate');
  }

  #begin(socket: Socket): void {
    this.#renew();
    this.#tls.emit('connection', socket);
  }

  #destroySockets(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #refused(socket: TLSSocket, error: Error): void {
    this.#countRefused('tls');
    this.#strangers.refused(remoteOf(socket), error);
  }
}

/**
 * The check of a chain takes a quarter of a millisecond, and acceptors ask at the begin of a connection, and for each session and stream. The answer changes only
 * with the authorities.
 */
function identifying(caPem: () => Buffer): (socket: TLSSocket) => PeerIdentity {
  const known = new WeakMap<TLSSocket, { readonly ca: Buffer; readonly peer: PeerIdentity }>();
  return (socket) => {
    const ca = caPem();
    const before = known.get(socket);
    if (before?.ca === ca && !socket.destroyed) return before.peer;
    const peer = identityOfPeer(socket, { caPem: ca, usage: 'client' });
    known.set(socket, { ca, peer });
    return peer;
  };
}
