/** One gRPC call, by hand: an HTTP/2 stream whose messages have a byte and a length before them. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import type { TLSSocket } from 'node:tls';

export interface Identity {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** A byte for compression, and four for the length. */
const prefixBytes = 5;

export class Call {
  readonly #session: ClientHttp2Session;
  readonly #stream: ClientHttp2Stream;
  #rest = Buffer.alloc(0);
  /** Identities that the parent's certificate names. */
  parent = '';

  constructor(address: string, identity: Identity, onMessage: (message: Buffer) => void, onEnd: (why: string) => void) {
    // Host names are not checked: the certificate names the node.
    this.#session = connect(`https://${address}`, {
      ...identity,
      minVersion: 'TLSv1.3',
      checkServerIdentity: () => undefined,
    });
    this.#session.on('error', (error) => onEnd(error.message));
    this.#session.on('connect', (_session, socket) => {
      this.parent = (socket as TLSSocket).getPeerX509Certificate()?.subjectAltName ?? '';
    });
    this.#stream = this.#session.request({
      ':method': 'POST',
      ':path': '/banyan.mesh.v1.Mesh/Session',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    this.#stream.on('error', (error) => onEnd(error.message));
    // A call that is refused at once has its status in the first headers.
    this.#stream.on('response', (headers) => {
      if (headers['grpc-status'] !== undefined)
        onEnd(`grpc-status ${headers['grpc-status']} ${decodeURIComponent(String(headers['grpc-message'] ?? ''))}`);
    });
    this.#stream.on('trailers', (trailers) =>
      onEnd(`grpc-status ${trailers['grpc-status']} ${trailers['grpc-message'] ?? ''}`),
    );
    this.#stream.on('end', () => onEnd('the parent has ended the call'));
    this.#stream.on('data', (chunk: Buffer) => {
      this.#rest = Buffer.concat([this.#rest, chunk]);
      for (;;) {
        if (this.#rest.length < prefixBytes) return;
        const end = prefixBytes + this.#rest.readUInt32BE(1);
        if (this.#rest.length < end) return;
        const message = this.#rest.subarray(prefixBytes, end);
        this.#rest = this.#rest.subarray(end);
        onMessage(message);
      }
    });
  }

  /** Resolves when the parent accepts the call, before its first frame. */
  accepted(): Promise<void> {
    return new Promise((done, failed) => {
      this.#stream.once('response', () => done());
      this.#stream.once('error', failed);
    });
  }

  send(message: Buffer): void {
    const prefix = Buffer.alloc(prefixBytes);
    prefix.writeUInt32BE(message.length, 1);
    this.#stream.write(Buffer.concat([prefix, message]));
  }

  close(): void {
    this.#stream.end();
    this.#session.close();
  }
}
