/**
 * One kept connection to an API, which speaks HTTP/1.1 without a library. The client of Node needs more processor time for a request than some servers, and a
 * benchmark with it would measure the client.
 */
import { connect, type TLSSocket } from 'node:tls';
import type { Credentials } from './hostile-target.ts';

export interface RawAnswer {
  readonly status: number;
  /** The bytes of the body, with the marks of the chunks. */
  readonly bytes: number;
  /** The first bytes of the body, at most 4 KiB. */
  readonly start: string;
}

const headEnd = '\r\n\r\n';
const startBytesMax = 4_096;
/** The end of a body in chunks: a chunk without bytes. */
const lastChunk = Buffer.from('\r\n0\r\n\r\n');

export interface RequestForm {
  readonly method: string;
  readonly path: string;
  readonly body?: { readonly type: string; readonly text: string };
}

/** The bytes of a request. The path begins after the URL of the server. */
export function requestBytes({ server }: Credentials, { method, path, body }: RequestForm): Buffer {
  const prefix = new URL(server).pathname.replace(/\/$/, '');
  const length = body ? `content-type: ${body.type}\r\ncontent-length: ${Buffer.byteLength(body.text)}\r\n` : '';
  return Buffer.from(
    `${method} ${prefix}${path} HTTP/1.1\r\nhost: bench\r\naccept: application/json\r\n${length}\r\n${body?.text ?? ''}`,
  );
}

export class ApiConnection {
  readonly #socket: TLSSocket;
  #head = '';
  #status = 0;
  /** Bytes of the body that have not come. Undefined: the body ends with `lastChunk`. */
  #left: number | undefined;
  #bytes = 0;
  #start = '';
  #tail: Buffer = Buffer.alloc(0);
  #isInBody = false;
  #answered: ((answer: RawAnswer) => void) | undefined;
  #failed: ((error: Error) => void) | undefined;
  #stream: ((bytes: Buffer) => void) | undefined;

  static open({ server, tls }: Credentials): Promise<ApiConnection> {
    const { hostname, port } = new URL(server);
    return new Promise((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port), ...tls, ALPNProtocols: ['http/1.1'] });
      socket.once('error', reject);
      socket.once('secureConnect', () => {
        socket.off('error', reject);
        resolve(new ApiConnection(socket));
      });
    });
  }

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (bytes: Buffer) => this.#take(bytes));
    const end = (error?: Error) => this.#failed?.(error ?? new Error('the server closed the connection'));
    socket.on('error', end);
    socket.on('close', () => end());
  }

  /** Sends one request. The answer before must have come. */
  ask(request: Buffer): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      this.#answered = resolve;
      this.#failed = reject;
      this.#socket.write(request);
    });
  }

  /** Sends one request whose answer has no end. `take` gets the bytes after the head. Resolves with the status when the head has come. */
  async watch(request: Buffer, take: (bytes: Buffer) => void): Promise<number> {
    this.#stream = take;
    return (await this.ask(request)).status;
  }

  close(): void {
    this.#failed = undefined;
    this.#socket.destroy();
  }

  #take(bytes: Buffer): void {
    if (!this.#isInBody) {
      this.#head += bytes.toString('latin1');
      const end = this.#head.indexOf(headEnd);
      if (end < 0) return;
      const bodyAt = end + headEnd.length - (this.#head.length - bytes.length);
      this.#begin(this.#head.slice(0, end));
      bytes = bytes.subarray(bodyAt);
      if (this.#stream) this.#answered?.({ status: this.#status, bytes: 0, start: '' });
    }
    if (this.#stream) {
      if (bytes.length > 0) this.#stream(bytes);
      return;
    }
    this.#bytes += bytes.length;
    if (this.#start.length < startBytesMax)
      this.#start += bytes.toString('utf8', 0, startBytesMax - this.#start.length);
    if (this.#left !== undefined) this.#left -= bytes.length;
    else this.#tail = Buffer.concat([this.#tail, bytes.subarray(-lastChunk.length)]).subarray(-lastChunk.length);
    if (this.#left === 0 || this.#tail.equals(lastChunk)) this.#end();
  }

  #begin(head: string): void {
    this.#head = '';
    this.#isInBody = true;
    this.#status = Number(head.slice(9, 12));
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
    this.#left = length === undefined ? undefined : Number(length);
    this.#bytes = 0;
    this.#start = '';
    this.#tail = Buffer.alloc(0);
  }

  #end(): void {
    this.#isInBody = false;
    this.#failed = undefined;
    this.#answered?.({ status: this.#status, bytes: this.#bytes, start: this.#start });
  }
}
