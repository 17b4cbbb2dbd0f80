/**
 * The child's end of a connection below a gRPC channel. Ours, since grpc-js knows the parent by its host name, reads proxies from the
 * environment by rules of its own, and tells of a certificate that it does not trust only by a message in the end. It makes the TCP
 * connection, to where the way begins, and is given back what stands at the way's end.
 */
import type { Socket } from 'node:net';
import { CallCredentials, ChannelCredentials } from '@grpc/grpc-js';
import { BanyanError } from '../../runtime/errors.ts';
import type { Way } from '../dialer/way.ts';
import type { Expiry, PeerIdentity } from '../link.ts';

export const grpcProtocol = 'h2';

type SecureConnector = ReturnType<ChannelCredentials['_createSecureConnector']>;

/** For one dial: what became of its handshake is found here. */
export class TlsChannel extends ChannelCredentials {
  readonly #way: Way;
  /** More than one where a name has several addresses, which are tried one after the other. */
  readonly #sockets: Socket[] = [];
  #closed = false;
  peer: PeerIdentity | undefined;
  expiry: Expiry | undefined;
  /** Why the parent was not trusted, or a proxy did not let it be reached, if that is what failed. */
  refusal: BanyanError | undefined;

  constructor(way: Way) {
    super();
    this.#way = way;
  }

  bytesRead(): number {
    return this.#sockets.reduce((sum, socket) => sum + socket.bytesRead, 0);
  }

  /** Ends the connection, also one that is only being made. */
  close(): void {
    this.#closed = true;
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
    if (this.#closed) {
      tcp.destroy();
      throw new BanyanError('Unavailable', 'the dial was given up');
    }
    this.#sockets.push(tcp);
    try {
      const { socket, peer, expiry } = await this.#way.open(tcp, [grpcProtocol]);
      if (socket.alpnProtocol !== grpcProtocol) {
        socket.destroy();
        throw new BanyanError('Protocol', `${this.#way.shown} speaks no HTTP/2: use the transport websocket or auto`);
      }
      // Bytes are counted once: of the connection that carries frames.
      this.#sockets.splice(this.#sockets.indexOf(tcp), 1, socket);
      if (this.#closed) socket.destroy();
      this.peer = peer;
      this.expiry = expiry;
      return socket;
    } catch (error) {
      if (error instanceof BanyanError) this.refusal = error;
      throw error;
    }
  }
}
