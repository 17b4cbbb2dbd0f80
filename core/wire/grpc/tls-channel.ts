/**
 * The child's end of TLS below a gRPC channel. Ours, since grpc-js knows the parent by its host name, and tells of a certificate that it
 * does not trust only by a message in the end.
 */
import { isIP, type Socket } from 'node:net';
import { connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { CallCredentials, ChannelCredentials } from '@grpc/grpc-js';
import { identityOfPeer } from '../../identity/peer-identity.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { PeerIdentity } from '../link.ts';
import type { NodeCredentials } from './grpc-listener.ts';

/** Both ends are nodes of Banyan: there is no older one to be kind to. */
export const tlsVersionMin = 'TLSv1.3';
export const alpnProtocols = ['h2'];

type SecureConnector = ReturnType<ChannelCredentials['_createSecureConnector']>;

export function secureContextOf({ caPem, certPem, keyPem }: NodeCredentials): SecureContext {
  return createSecureContext({ ca: caPem, cert: certPem, key: keyPem, minVersion: tlsVersionMin });
}

/** For one dial: what became of its handshake is found here. */
export class TlsChannel extends ChannelCredentials {
  readonly #context: SecureContext;
  readonly #host: string;
  readonly #check: (peer: PeerIdentity) => BanyanError | undefined;
  /** More than one where a name has several addresses, which are tried one after the other. */
  readonly #sockets: TLSSocket[] = [];
  #closed = false;
  peer: PeerIdentity | undefined;
  /** Why the parent was not trusted, if that is what failed. */
  refusal: BanyanError | undefined;

  /** `check` returns why a node of the tree is not the one that was meant. */
  constructor(context: SecureContext, host: string, check: (peer: PeerIdentity) => BanyanError | undefined) {
    super();
    this.#context = context;
    this.#host = host;
    this.#check = check;
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
      connect: async (socket) => ({ socket: await this.#handshake(socket), secure: true }),
      waitForReady: () => Promise.resolve(),
      getCallCredentials: () => CallCredentials.createEmpty(),
      destroy: () => {},
    };
  }

  async #handshake(tcp: Socket): Promise<TLSSocket> {
    if (this.#closed) {
      tcp.destroy();
      throw new BanyanError('Unavailable', 'the dial was given up');
    }
    const socket = connect({
      socket: tcp,
      secureContext: this.#context,
      ALPNProtocols: alpnProtocols,
      // SNI takes no addresses (RFC 6066, section 3).
      ...(isIP(this.#host) ? {} : { servername: this.#host }),
      // Checked below, in words, before a byte is sent over it.
      rejectUnauthorized: false,
      checkServerIdentity: () => undefined,
    });
    this.#sockets.push(socket);
    await new Promise<void>((resolve, reject) => {
      const closed = () => reject(new BanyanError('Unavailable', 'the connection was closed during the TLS handshake'));
      socket.once('secureConnect', resolve);
      socket.once('error', reject);
      socket.once('close', closed);
    });
    this.refusal = this.#refusalOf(socket);
    if (!this.refusal) return socket;
    socket.destroy();
    throw this.refusal;
  }

  #refusalOf(socket: TLSSocket): BanyanError | undefined {
    try {
      this.peer = identityOfPeer(socket);
      return this.#check(this.peer);
    } catch (cause) {
      if (!(cause instanceof BanyanError)) throw cause;
      return new BanyanError(cause.code, `the parent's certificate is not accepted: ${cause.message}`, {}, { cause });
    }
  }
}
