/**
 * The child's end of a connection that carries a gRPC channel. grpc-js has a channel of its own, but it identifies the parent by its host name, reads
 * proxies from the environment by its own rules, and reports an untrusted certificate only in a message at the end. Here, grpc-js makes only the TCP
 * connection to `host` and `port` of the way, and gets the secure connection to the parent.
 */
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { CallCredentials, ChannelCredentials } from '@grpc/grpc-js';
import { BanyanError } from '../../runtime/errors.ts';
import type { SecureConnection } from '../dialer/secure-connection.ts';
import type { Way } from '../dialer/way.ts';

export const grpcProtocol = 'h2';

type SecureConnector = ReturnType<ChannelCredentials['_createSecureConnector']>;

/**
 * A channel for one dial, with the result of the handshake. For a name with several addresses, grpc-js tries the next address after 250 ms, and lets all
 * attempts continue. So this class gives grpc-js one connection at a time, first the one whose handshake ends first. The other connections wait: the first
 * connection may break before the call is accepted.
 */
export class TlsChannel extends ChannelCredentials {
  readonly #way: Way;
  /** All open connections, before, during and after their handshake. */
  readonly #sockets = new Set<Socket>();
  /** The connection that grpc-js has got. */
  #carrier: SecureConnection | undefined;
  /** The reason why the channel accepts no further connection. */
  #done: string | undefined;
  /** The error, if the child did not trust the parent or a proxy refused. */
  refusal: BanyanError | undefined;

  constructor(way: Way) {
    super();
    this.#way = way;
  }

  /**
   * Call it when the parent has accepted a call. From now on, the channel consists only of the connection that carries the call. The channel ends with this
   * connection.
   */
  settle(): SecureConnection {
    const carrier = this.#carrier;
    if (!carrier) throw new Error('a call was taken before there was a connection');
    this.#done = 'another connection carries the call';
    for (const socket of this.#sockets) if (socket !== carrier.socket) socket.destroy();
    return carrier;
  }

  /** Ends the connection, even while it is being made. */
  close(): void {
    this.#done = 'the dial was cancelled';
    for (const socket of this.#sockets) socket.destroy();
  }

  override _isSecure(): boolean {
    return true;
  }

  override _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  override _createSecureConnector(): SecureConnector {
    return {
      connect: async (socket) => ({ socket: await this.#open(socket), secure: true }),
      waitForReady: () => Promise.resolve(),
      getCallCredentials: () => CallCredentials.createEmpty(),
      destroy: () => {},
    };
  }

  async #open(tcp: Socket): Promise<Socket> {
    let socket: Socket = tcp;
    try {
      this.#track(tcp);
      const made = await this.#way.open(tcp, [grpcProtocol]);
      socket = made.socket;
      this.#track(made.socket);
      this.#sockets.delete(tcp);
      if (made.socket.alpnProtocol !== grpcProtocol) {
        throw new BanyanError('Protocol', `${this.#way.shown} speaks no HTTP/2: use the transport websocket or auto`);
      }
      await this.#waitForTurn(made);
      return socket;
    } catch (error) {
      socket.destroy();
      if (error instanceof BanyanError && !this.#isCarried) this.refusal = error;
      throw error;
    }
  }

  get #isCarried(): boolean {
    return this.#carrier?.socket.destroyed === false;
  }

  #track(socket: Socket): void {
    if (this.#done !== undefined) throw new Error(this.#done);
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  /** Resolves when this connection is the one that grpc-js gets. */
  async #waitForTurn(made: SecureConnection): Promise<void> {
    while (this.#isCarried && !made.socket.destroyed) await oneCloses(made.socket, this.#carrier!.socket);
    if (this.#done !== undefined || made.socket.destroyed) throw new Error(this.#done ?? 'the connection broke');
    this.#carrier = made;
    this.refusal = undefined;
  }
}

function oneCloses(...sockets: readonly TLSSocket[]): Promise<void> {
  return new Promise((resolve) => {
    for (const socket of sockets) socket.once('close', () => resolve());
  });
}
