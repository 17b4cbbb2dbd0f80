/**
 * The child's end of a connection below a gRPC channel. Ours, since grpc-js knows the parent by its host name, reads proxies from the
 * environment by rules of its own, and tells of a certificate that it does not trust only by a message in the end. It makes the TCP
 * connection, to where the way begins, and is given back what stands at the way's end.
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
 * For one dial: what became of its handshake is found here. Where a name has several addresses grpc-js begins with the next one after 250 ms, and lets each
 * go on. So it is given one of them at a time: the first whose handshake is done. The others wait, since that one may break before the call is taken.
 */
export class TlsChannel extends ChannelCredentials {
  readonly #way: Way;
  /** All that are open, whatever they are at. */
  readonly #sockets = new Set<Socket>();
  /** The one that grpc-js has. */
  #carrier: SecureConnection | undefined;
  /** Why there is no other one any more. */
  #done: string | undefined;
  /** Why the parent was not trusted, or a proxy did not let it be reached, if that is what failed. */
  refusal: BanyanError | undefined;

  constructor(way: Way) {
    super();
    this.#way = way;
  }

  /** A call was taken: from now on the channel is the connection that carries it, and ends with that. */
  settle(): SecureConnection {
    const carrier = this.#carrier;
    if (!carrier) throw new Error('a call was taken before there was a connection');
    this.#done = 'another connection carries the call';
    for (const socket of this.#sockets) if (socket !== carrier.socket) socket.destroy();
    return carrier;
  }

  /** Ends the connection, also one that is only being made. */
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
      this.#own(tcp);
      const made = await this.#way.open(tcp, [grpcProtocol]);
      socket = made.socket;
      this.#own(made.socket);
      this.#sockets.delete(tcp);
      if (made.socket.alpnProtocol !== grpcProtocol) {
        throw new BanyanError('Protocol', `${this.#way.shown} speaks no HTTP/2: use the transport websocket or auto`);
      }
      await this.#give(made);
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

  #own(socket: Socket): void {
    if (this.#done !== undefined) throw new Error(this.#done);
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  /** In turn: resolves when it is the one. */
  async #give(made: SecureConnection): Promise<void> {
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
