/**
 * The parent's end of gRPC: the calls of children. Each call is on a connection that the listener has passed in. The connection may or may not have a
 * certificate of this tree.
 */

import type { TLSSocket } from 'node:tls';
import { type ConnectionInjector, Metadata, Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { expiryOfSocket } from '../../identity/expiry.ts';
import type { PeerIdentity } from '../../identity/peer-identity.ts';
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Random } from '../../runtime/random.ts';
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
import { maxFrameBytes } from '../codec/frames.ts';
import { FrameLink } from '../frame-link.ts';
import type { Link, LinkEvents } from '../link.ts';
import type { Refusal } from '../refusals.ts';
import { callStatusOf } from './call-status.ts';
import { channelOptions } from './channel-options.ts';
import { endGatewayCalls } from './gateway-calls.ts';
import { linkKey, streamAddressOf } from './grpc-streams.ts';
import { boundMessages } from './message-bounds.ts';
import { openServerWindows } from './server-window.ts';
import { meshService } from './session-method.ts';
import { StreamCalls } from './stream-calls.ts';

type Call = ServerDuplexStream<Buffer, Buffer>;

interface Connection {
  readonly socket: TLSSocket;
  readonly remote: string;
  /**
   * True: the connection is from a gateway that terminates TLS. The gateway sends the calls of any children over it, also several at the same time. False:
   * the connection belongs to one child, and carries one session or one refusal.
   */
  readonly shared: boolean;
  readonly flaw: BanyanError | undefined;
  /** True after the first call of the connection has arrived. */
  used: boolean;
  /** True after the first session of the connection has used the connection's own turn at the handshake rate limiter. */
  slotTaken: boolean;
  ending: boolean;
  /** The refusal that is counted if the connection ends now. Undefined: `accept` counts the end itself, or each call is counted separately. */
  refusal: Refusal | undefined;
  /** Only on a connection that is not shared: the session that the connection serves. The connection may also carry only large streams of the session. */
  session?: Session;
  error?: Error;
}

interface Session {
  /** The name by which calls for streams identify the session. */
  readonly name: string;
  readonly link: FrameLink;
  readonly events: LinkEvents;
  readonly connection: Connection;
  /** The session's connections for large streams. */
  readonly apart: Set<Connection>;
  readonly streams: StreamCalls;
}

export class GrpcAcceptor implements Acceptor {
  readonly #accepting: Accepting;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #grpc = new Server(channelOptions);
  readonly #injector: ConnectionInjector;
  /** Keyed by remote address and port, because a call names its connection in this form. */
  readonly #connections = new Map<string, Connection>();
  /** Keyed by name. */
  readonly #sessions = new Map<string, Session>();
  readonly #unsubscribeGateways: () => void;
  readonly #unsubscribeMessages: () => void;

  constructor(accepting: Accepting) {
    this.#accepting = accepting;
    this.#log = accepting.log;
    this.#clock = accepting.clock;
    this.#random = accepting.random;
    openServerWindows();
    this.#unsubscribeGateways = endGatewayCalls(
      accepting.clock,
      (socket) => this.#connections.get(peerOf(socket))?.shared === true,
    );
    this.#unsubscribeMessages = boundMessages((socket) => {
      const connection = this.#connections.get(peerOf(socket));
      return connection && { isProven: !connection.shared };
    });
    this.#grpc.addService(meshService, {
      session: (call: Call) => this.#session(call),
      stream: (call: Call) => this.#stream(call),
    });
    this.#injector = this.#grpc.createConnectionInjector(ServerCredentials.createInsecure());
  }

  links(): Link[] {
    return [...this.#sessions.values()].map(({ link }) => link);
  }

  end(): void {
    this.#unsubscribeGateways();
    this.#unsubscribeMessages();
    this.#injector.destroy();
    this.#grpc.forceShutdown();
  }

  take(socket: TLSSocket): void {
    const [peer, remote] = [peerOf(socket), remoteOf(socket)];
    // A NAT may use the same port for connections to two addresses of this node. Then this code could not tell the calls of the two connections apart.
    if (this.#connections.has(peer)) {
      socket.destroy();
      this.#accepting.refused('other');
      return this.#refused(remote, new Error('another connection comes from the same address and port'));
    }
    const shared = this.#accepting.isTerminated(socket);
    const fresh = { used: false, slotTaken: false, ending: false, refusal: 'no_session' } as const;
    const connection: Connection = {
      socket,
      remote,
      shared,
      flaw: shared ? undefined : flawOf(socket, this.#accepting),
      ...fresh,
    };
    this.#connections.set(peer, connection);
    const timer = this.#clock.after(sessionWithinMs, () => {
      if (shared ? connection.used : connection.session) return;
      socket.destroy(new Error(`no session was begun within ${sessionWithinMs} ms`));
    });
    socket.once('error', (error) => {
      connection.error = error;
    });
    socket.once('close', () => {
      timer.stop();
      this.#connections.delete(peer);
      if (connection.session?.connection === connection) this.#sessionOver(connection.session);
      if (!connection.used) {
        const { error, refusal } = whyUnused(connection);
        connection.refusal = refusal;
        this.#refused(remote, error);
      }
      if (connection.refusal) this.#accepting.refused(connection.refusal);
    });
    this.#injector.injectConnection(socket);
  }

  // ------------------------------------------------------------------------------------------------------- a session

  #session(call: Call): void {
    const connection = this.#connections.get(call.getPeer());
    // A refused peer must not ask again on the same connection, and a child with a session must not open a second one.
    if (!connection || (connection.used && !connection.shared)) {
      call.emit('error', callStatusOf(new BanyanError('Protocol', 'a second session on one connection')));
      connection?.socket.destroy();
      return;
    }
    connection.used = true;
    const waitMs = connection.slotTaken ? this.#accepting.admit() : 0;
    connection.slotTaken = true;
    connection.refusal = connection.shared ? undefined : 'certificate';
    if (waitMs === undefined) return this.#turnAway(call);
    if (waitMs === 0) return this.#begin(call, connection);
    this.#clock.after(waitMs, () => {
      if (call.cancelled) this.#accepting.refused('no_session');
      else this.#begin(call, connection);
    });
  }

  #turnAway(call: Call): void {
    const message = 'too many children connect at once: dial again after a wait';
    call.emit('error', callStatusOf(new BanyanError('Unavailable', message)));
    this.#accepting.refused('handshake_rate');
  }

  #begin(call: Call, connection: Connection): void {
    const name = hex(this.#random.bytes(sessionNameBytes));
    try {
      const { shared, socket } = connection;
      const sendAcceptance = acceptanceOf(call, name);
      // Sends the acceptance before the challenge. If a peer does not answer the challenge correctly, it is refused after that.
      if (shared) sendAcceptance();
      const peer = shared ? unproven : this.#accepting.identify(socket);
      connection.refusal = undefined;
      const link = this.#linkOf(call, connection, name, peer, sendAcceptance);
      const events = shared ? this.#accepting.acceptUnproven(link) : this.#accepting.accept(link);
      const streams = new StreamCalls({ peer, clock: this.#clock, areListed: shared });
      const session: Session = { name, link, events, connection, apart: new Set(), streams };
      if (!shared) connection.session = session;
      this.#sessions.set(name, session);
      sendAcceptance();
      link.start(events);
      call.on('data', (bytes: Buffer) => link.received(bytes));
    } catch (error) {
      this.#refused(connection.remote, error);
      call.emit('error', callStatusOf(error));
      this.#closeLater(connection, name);
    }
  }

  #linkOf(call: Call, connection: Connection, name: string, peer: PeerIdentity, sendAcceptance: () => void): FrameLink {
    const { socket, remote, shared } = connection;
    const link = new FrameLink({
      peer,
      transport: 'grpc',
      expiry: expiryOfSocket(socket),
      clock: this.#clock,
      call: {
        write: (bytes, taken) => {
          sendAcceptance();
          return call.write(bytes, taken);
        },
        end: () => call.end(),
        abort: (error) => {
          // Behind a gateway, anybody may have opened the link.
          if (shared) this.#accepting.strangers.refused(remote, error, 'a link is broken off');
          else
            this.#log.warn(
              { child: peer.path, remote, code: error.code, reason: error.message },
              'a link is broken off',
            );
          call.emit('error', callStatusOf(error));
          this.#closeLater(connection, name);
        },
        // On a shared connection, received bytes may be from other children, so they do not show that this child is alive.
        bytesRead: () => (shared ? 0 : socket.bytesRead),
      },
    });
    const broke = () => {
      const reason = whyCancelled(socket);
      if (link.isOpen && !socket.destroyed) {
        if (shared) this.#accepting.strangers.refused(remote, new Error(reason), 'a link is over');
        else this.#log.warn({ child: peer.path, remote, reason }, 'a link is over');
      }
      link.failed(new BanyanError('Unavailable', reason));
      this.#closeLater(connection, name);
    };
    call.on('cancelled', broke);
    // A broken stream also emits `end`. grpc-js marks it as cancelled only some turns later, but at once if something is to be sent on the stream. So this
    // code sends metadata.
    call.on('end', () => {
      call.sendMetadata(new Metadata());
      setImmediate(() => {
        if (call.cancelled) return broke();
        link.ended();
        this.#closeLater(connection, name);
      });
    });
    return link;
  }

  /**
   * Ends the session's part of a connection. The connection of one child is closed a little later. A shared connection stays open, because it has the calls
   * of other children.
   */
  #closeLater(connection: Connection, name: string): void {
    if (connection.shared) {
      const session = this.#sessions.get(name);
      if (session) this.#sessionOver(session);
      return;
    }
    if (connection.ending) return;
    connection.ending = true;
    this.#clock.after(lingerMs, () => connection.socket.destroy());
  }

  #sessionOver({ name, apart, streams }: Session): void {
    this.#sessions.delete(name);
    for (const { socket } of apart) socket.destroy();
    streams.end();
  }

  // -------------------------------------------------------------------------------------------------------- a stream

  /** A call for a stream of a session. It is on the session's connection, or on another connection that the same child has made for large streams. */
  #stream(call: Call): void {
    const connection = this.#connections.get(call.getPeer());
    try {
      const { link: name, id } = streamAddressOf(call.metadata);
      const session = this.#sessions.get(name);
      if (!connection || !session?.link.isOpen || !session.events.onStream) {
        throw new BanyanError('NotFound', `stream ${id}: there is no such session here`);
      }
      this.#checkBelongs(connection, session);
      session.streams.begin(call, id, session.events);
    } catch (error) {
      call.emit('error', callStatusOf(error));
      if (connection && !connection.shared && !connection.session && !connection.ending) {
        connection.used = true;
        connection.refusal = 'stream';
        this.#refused(connection.remote, error);
        this.#closeLater(connection, '');
      }
    }
  }

  /**
   * Refuses a call whose connection does not belong to the session. A connection without a session of its own carries the streams of one session of the
   * same child, until that session ends.
   */
  #checkBelongs(connection: Connection, session: Session): void {
    if (connection === session.connection) return;
    if (connection.shared) {
      connection.used = true;
      connection.refusal = undefined;
    }
    // Behind a gateway, only the session's name shows to which child a call belongs. Only the session's own child has received this name.
    if (connection.shared && session.connection.shared) return;
    const { path, role } = this.#accepting.identify(connection.socket);
    const { peer } = session.link;
    const isFree = !connection.session || connection.session === session;
    if (session.connection.shared || path !== peer.path || role !== peer.role || !isFree) {
      throw new BanyanError('Forbidden', `the ${role} "${path}" has no such session on another connection`);
    }
    connection.used = true;
    connection.refusal = undefined;
    if (session.apart.has(connection)) return;
    connection.session = session;
    session.apart.add(connection);
    connection.socket.once('close', () => session.apart.delete(connection));
  }

  #refused(remote: string, error: unknown): void {
    this.#accepting.strangers.refused(remote, error);
  }
}

/** The reason why a call was cancelled. grpc-js reports only that the call is over. */
function whyCancelled(socket: TLSSocket): string {
  if (socket.destroyed) return 'the connection broke';
  return `the child cancelled the call, or sent a frame that is too large (limit ${maxFrameBytes} bytes), compressed, or in too many pieces`;
}

/** The remote address in the form that `getPeer` of a call uses: without brackets, even for an IPv6 address. */
function peerOf({ remoteAddress, remotePort }: Pick<TLSSocket, 'remoteAddress' | 'remotePort'>): string {
  return `${remoteAddress}:${remotePort}`;
}

/**
 * Returns a function that sends the acceptance with the session's name. It sends only once. It must be called before the first frame, because this side may
 * send a frame at once.
 */
function acceptanceOf(call: Call, name: string): () => void {
  const answer = new Metadata();
  answer.set(linkKey, name);
  let isSent = false;
  return () => {
    if (!isSent) call.sendMetadata(answer);
    isSent = true;
  };
}
