/**
 * The parent's side: accepts calls from children that hold a certificate of this tree. TLS is ours and grpc-js gets the finished
 * connections, so that it is 1.3 at least, and so that a child with a wrong certificate learns in words what is wrong instead of seeing
 * its connection break: it gets as far as its first call, which is answered with the refusal.
 */
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { createServer, type TLSSocket, type Server as TlsServer } from 'node:tls';
import { type ConnectionInjector, Metadata, Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { identityOfCertificate, identityOfPeer } from '../../identity/peer-identity.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { BanyanError, describeError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { type Random, systemRandom } from '../../runtime/random.ts';
import { Door } from '../door.ts';
import { maxFrameBytes } from '../frames.ts';
import type { Accept, LinkEvents, Listener, PeerIdentity } from '../link.ts';
import { statusOf } from './call-status.ts';
import { channelOptions } from './channel-options.ts';
import { GrpcLink } from './grpc-link.ts';
import { linkKey, streamAddressOf } from './grpc-streams.ts';
import { openServerWindows } from './server-window.ts';
import { meshService } from './session-method.ts';
import { alpnProtocols, tlsVersionMin } from './tls-channel.ts';

/** PEM: the authority that is trusted, and the node's own certificate and key. */
export interface NodeCredentials {
  readonly caPem: Buffer;
  readonly certPem: Buffer;
  readonly keyPem: Buffer;
}

export interface ListenOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly credentials: NodeCredentials;
  readonly accept: Accept;
  readonly log: Logger;
  readonly clock?: Clock;
  readonly random?: Random;
}

/** How long links may take to end in order before their connections are destroyed. */
const drainMs = 2_000;
/** A connection that is still in its handshake, or on which no session was begun, after this is closed. */
const sessionWithinMs = 10_000;
/** How long the other side has to read why its call ended, and to hang up. */
const lingerMs = 2_000;

/** Nobody guesses a session's name, though only its own child could make use of it. */
const nameBytes = 16;

export async function listenGrpc(options: ListenOptions): Promise<Listener> {
  const server = new MeshServer(options);
  await server.listen(options.host, options.port);
  return server;
}

interface Connection {
  readonly socket: TLSSocket;
  readonly remote: string;
  /** Its first call has come: a connection carries one session, or one refusal. */
  used: boolean;
  ending: boolean;
  link?: GrpcLink;
  events?: LinkEvents;
  /** What calls for its streams call the session; on a connection for large streams alone that of its session's. */
  name?: string;
  /** The session's connections for large streams. */
  readonly apart: Set<Connection>;
  error?: Error;
}

class MeshServer implements Listener {
  readonly #accept: Accept;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #tls: TlsServer;
  /** The port; TLS begins where a connection has its turn. */
  readonly #front = createTcpServer({ noDelay: true });
  readonly #door = new Door();
  readonly #grpc = new Server(channelOptions);
  readonly #injector: ConnectionInjector;
  /** All of the port, also those in their handshake. */
  readonly #sockets = new Set<Socket>();
  /** By remote address and port, which is what a call says of its connection. */
  readonly #connections = new Map<string, Connection>();
  /** Those with a session, by its name. */
  readonly #sessions = new Map<string, Connection>();
  readonly #random: Random;
  address = '';

  constructor({ credentials, accept, log, clock = systemClock, random = systemRandom }: ListenOptions) {
    this.#accept = accept;
    this.#log = log;
    this.#clock = clock;
    this.#random = random;
    openServerWindows();
    this.#grpc.addService(meshService, {
      session: (call: ServerDuplexStream<Buffer, Buffer>) => this.#session(call),
      stream: (call: ServerDuplexStream<Buffer, Buffer>) => this.#stream(call),
    });
    this.#injector = this.#grpc.createConnectionInjector(ServerCredentials.createInsecure());
    this.#tls = createServer({
      ca: credentials.caPem,
      cert: credentials.certPem,
      key: credentials.keyPem,
      minVersion: tlsVersionMin,
      ALPNProtocols: alpnProtocols,
      requestCert: true,
      rejectUnauthorized: false,
      handshakeTimeout: sessionWithinMs,
      noDelay: true,
    });
    this.#front.on('connection', (socket) => this.#arrived(socket));
    this.#tls.on('secureConnection', (socket) => this.#connected(socket));
    this.#tls.on('tlsClientError', (error, socket) => this.#refused(remoteOf(socket), error));
  }

  async listen(host: string, port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#front.once('error', (error) => reject(cannotListen(host, port, error)));
      this.#front.listen(port, host, resolve);
    });
    this.#front.on('error', (error) => this.#log.error({ reason: error.message }, 'the listener for children failed'));
    const bound = this.#front.address() as AddressInfo;
    this.address = `${host.includes(':') ? `[${host}]` : host}:${bound.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#front.close(() => resolve()));
    const links = [...this.#connections.values()].flatMap(({ link }) => link ?? []);
    for (const link of links) link.close('the parent ends');
    if (links.length === 0) this.#destroySockets();
    const timer = this.#clock.after(drainMs, () => this.#destroySockets());
    await closed;
    timer.stop();
    this.#injector.destroy();
    this.#grpc.forceShutdown();
  }

  #destroySockets(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  // ---------------------------------------------------------------------------------------------------- a connection

  /** Before anything of it is read: a handshake is dear, and after a restart everybody comes at once. */
  #arrived(socket: Socket): void {
    const waitMs = this.#door.admit(this.#clock.monotonicMs());
    // No word fits here: the child comes again after its own wait.
    if (waitMs === undefined) return void socket.destroy();
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    if (waitMs === 0) return void this.#tls.emit('connection', socket);
    // Without one, a child that hangs up while it waits would end the process.
    socket.on('error', () => socket.destroy());
    this.#clock.after(waitMs, () => {
      if (!socket.destroyed) this.#tls.emit('connection', socket);
    });
  }

  #connected(socket: TLSSocket): void {
    const remote = remoteOf(socket);
    // A translator of addresses may use a port twice for two addresses of this node; calls could not be told apart.
    if (this.#connections.has(remote)) {
      socket.destroy();
      return this.#refused(remote, new Error('another connection comes from the same address and port'));
    }
    const connection: Connection = { socket, remote, used: false, ending: false, apart: new Set() };
    this.#connections.set(remote, connection);
    const timer = this.#clock.after(sessionWithinMs, () => {
      if (connection.name === undefined) socket.destroy(new Error(`no session was begun within ${sessionWithinMs} ms`));
    });
    socket.once('error', (error) => {
      connection.error = error;
    });
    socket.once('close', () => {
      timer.stop();
      this.#connections.delete(remote);
      if (connection.link) this.#sessionOver(connection);
      if (!connection.used) this.#refused(remote, whyUnused(connection));
    });
    this.#injector.injectConnection(socket);
  }

  #session(call: ServerDuplexStream<Buffer, Buffer>): void {
    const connection = this.#connections.get(call.getPeer());
    // Who was refused may not go on asking; who has a session has said all it may say outside of it.
    if (!connection || connection.used) {
      call.emit('error', statusOf(new BanyanError('Protocol', 'a second session on one connection')));
      connection?.socket.destroy();
      return;
    }
    connection.used = true;
    try {
      const link = this.#linkOf(call, connection, identityOfCall(call, connection.socket));
      const events = this.#accept(link);
      connection.link = link;
      connection.events = events;
      connection.name = Buffer.from(this.#random.bytes(nameBytes)).toString('hex');
      this.#sessions.set(connection.name, connection);
      const answer = new Metadata();
      answer.set(linkKey, connection.name);
      call.sendMetadata(answer);
      link.start(events);
      call.on('data', (bytes: Buffer) => link.received(bytes));
    } catch (error) {
      this.#refused(connection.remote, error);
      call.emit('error', statusOf(error));
      this.#endLater(connection);
    }
  }

  /** Beside a session: on its connection, or on another one that the same child made for large streams. */
  #stream(call: ServerDuplexStream<Buffer, Buffer>): void {
    const connection = this.#connections.get(call.getPeer());
    try {
      const { link: name, id } = streamAddressOf(call.metadata);
      const session = this.#sessions.get(name);
      if (!connection || !session?.link?.isOpen || !session.events?.onStream) {
        throw new BanyanError('NotFound', `stream ${id}: there is no such session here`);
      }
      const { peer } = session.link;
      if (connection !== session) this.#joins(connection, session, identityOfCall(call, connection.socket));
      const link = streamLinkOf(call, peer, this.#clock);
      const events = session.events.onStream(id, link);
      call.sendMetadata(new Metadata());
      link.start(events);
      call.on('data', (bytes: Buffer) => link.received(bytes));
    } catch (error) {
      call.emit('error', statusOf(error));
      if (connection && connection.name === undefined && !connection.ending) {
        connection.used = true;
        this.#refused(connection.remote, error);
        this.#endLater(connection);
      }
    }
  }

  /** A connection without a session carries the streams of one session of the same child, for as long as that lasts. */
  #joins(connection: Connection, session: Connection, { path, role }: PeerIdentity): void {
    const { peer } = session.link!;
    const isFree = !connection.link && (connection.name === undefined || connection.name === session.name);
    if (path !== peer.path || role !== peer.role || !isFree) {
      throw new BanyanError('Forbidden', `the ${role} "${path}" has no such session on another connection`);
    }
    connection.used = true;
    connection.name = session.name!;
    session.apart.add(connection);
    connection.socket.once('close', () => session.apart.delete(connection));
  }

  #sessionOver({ name, apart }: Connection): void {
    this.#sessions.delete(name!);
    for (const { socket } of apart) socket.destroy();
  }

  #linkOf(call: ServerDuplexStream<Buffer, Buffer>, connection: Connection, peer: PeerIdentity): GrpcLink {
    const { socket, remote } = connection;
    const link = new GrpcLink({
      peer,
      clock: this.#clock,
      call: {
        write: (bytes, taken) => call.write(bytes, taken),
        end: () => call.end(),
        abort: (error) => {
          this.#log.warn({ child: peer.path, remote, code: error.code, reason: error.message }, 'a link is broken off');
          call.emit('error', statusOf(error));
          this.#endLater(connection);
        },
        bytesRead: () => socket.bytesRead,
      },
    });
    const broke = () => {
      const reason = whyCancelled(connection);
      if (link.isOpen && !socket.destroyed) this.#log.warn({ child: peer.path, remote, reason }, 'a link is over');
      link.failed(new BanyanError('Unavailable', reason));
      this.#endLater(connection);
    };
    call.on('cancelled', broke);
    // A stream that is torn off ends too, and is told to be cancelled some turns later; at once when something is to be sent on it.
    call.on('end', () => {
      call.sendMetadata(new Metadata());
      setImmediate(() => {
        if (call.cancelled) return broke();
        link.ended();
        this.#endLater(connection);
      });
    });
    return link;
  }

  #endLater(connection: Connection): void {
    if (connection.ending) return;
    connection.ending = true;
    this.#clock.after(lingerMs, () => connection.socket.destroy());
  }

  #refused(remote: string, error: unknown): void {
    this.#log.warn({ remote, reason: describeError(error) }, 'a child was refused');
  }
}

function streamLinkOf(call: ServerDuplexStream<Buffer, Buffer>, peer: PeerIdentity, clock: Clock): GrpcLink {
  const link = new GrpcLink({
    peer,
    clock,
    call: {
      write: (bytes, taken) => call.write(bytes, taken),
      end: () => call.end(),
      abort: (error) => call.emit('error', statusOf(error)),
      bytesRead: () => 0,
    },
  });
  const broke = () => link.failed(new BanyanError('Unavailable', 'the call of the stream broke'));
  call.on('cancelled', broke);
  // As with a session: a call that is torn off ends too, and is told to be cancelled some turns later.
  call.on('end', () => setImmediate(() => (call.cancelled ? broke() : link.ended())));
  return link;
}

/** From the connection of the call itself. grpc-js gives no certificate that does not belong to the tree: then it is asked why. */
function identityOfCall(call: ServerDuplexStream<Buffer, Buffer>, socket: TLSSocket): PeerIdentity {
  const certificate = call.getAuthContext().sslPeerCertificate;
  return certificate ? identityOfCertificate(certificate.raw) : identityOfPeer(socket);
}

function whyUnused({ socket, error }: Connection): Error {
  if (error) return error;
  try {
    identityOfPeer(socket);
  } catch (refusal) {
    if (refusal instanceof BanyanError) return refusal;
    throw refusal;
  }
  // Usually a child of another tree, whose own certificate this node would have refused as well.
  return new Error('it closed the connection without opening a session: it may not trust the certificate of this node');
}

/** grpc-js says no more than that the call is over. */
function whyCancelled({ socket }: Connection): string {
  if (socket.destroyed) return 'the connection broke';
  return `the child broke the call off, or sent a frame far over the limit of ${maxFrameBytes} bytes`;
}

function remoteOf({ remoteAddress, remotePort }: TLSSocket): string {
  return remoteAddress === undefined ? 'gone already' : `${remoteAddress}:${remotePort}`;
}

function cannotListen(host: string, port: number, cause: Error): BanyanError {
  return new BanyanError(
    'Unavailable',
    `can't listen on ${host}:${port} (${cause.message}); free the port or choose another`,
    {},
    { cause },
  );
}
