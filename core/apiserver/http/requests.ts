/** The types of a request and an answer. They do not depend on the connection. */
import { jsonText } from '../../object/json.ts';
import type { ObjectKey } from '../../object/key.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { UserInfo } from '../space.ts';
import type { Encoding } from './negotiate.ts';
import type { ThreadWrite, ThreadWritten } from './thread-write.ts';

/** The parts of a request that decide about a write. */
export interface WriteRequest {
  readonly method: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Undefined: the node itself writes. */
  readonly user: UserInfo | undefined;
  /** Throws Forbidden if the user may not use another verb on the resource of the request. */
  alsoMay(verb: string): void;
  body(): Promise<Buffer>;
  /** Gets the body in the form in which the server understood the body. */
  parsed?(body: unknown): void;
  /** Returns the JSON of a long YAML text. A separate thread parses the text (body-thread.ts). Throws BadRequest, TooLarge or TooManyRequests. */
  readLongYaml(text: string): Promise<string>;
}

export interface ApiRequest extends WriteRequest {
  /** The path after the prefix of the space. */
  readonly path: string;
  readonly user: UserInfo;
  /** Throws Forbidden if the user may not read the object at the place of the request. For answers that show objects beside the resource of the request. */
  mustRead(key: ObjectKey): void;
  /** Lets others work: resolves in another turn of this thread. Absent: nobody else waits. */
  turn?(): Promise<void>;
  /** Where writes with long bodies happen. Absent: in this thread. */
  readonly thread?: WriteThread;
}

export interface WriteThread {
  /** `question` is called when the thread is free. `bytes`: the length of the body. Resolves in a turn of this thread. Throws TooLarge, TooManyRequests, and every error of the write. */
  write(question: () => ThreadWrite, bytes: number): Promise<ThreadWritten>;
  /** True: the audit log records the body. */
  keepsBody(): boolean;
  /** The JSON of an object in another encoding. Undefined: its kind has no such form. Resolves and throws like `write`. */
  encode(encoding: Encoding, json: Buffer): Promise<Buffer | undefined>;
}

export interface ApiResponse {
  readonly status: number;
  readonly body: Buffer;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** The client gets the JSON of `body` in this encoding, if the kind of the object has such a form. Absent: `body` as it is. */
  readonly encoding?: Encoding;
  /** `body` in the encoding, if it was made already. */
  readonly encoded?: Buffer;
}

/** An answer that is made while its client reads it. The server asks for the next piece when the client has taken most of the pieces before. */
export interface StreamedResponse {
  readonly status: number;
  readonly pieces: AsyncIterable<Uint8Array>;
  readonly headers?: Readonly<Record<string, string | string[]>>;
}

export function header(request: Pick<WriteRequest, 'headers'>, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(',') : value;
}

/** The integer value of a parameter, or 0 if the parameter is absent or empty. The caller decides what a negative number means. */
export function integerOf(query: URLSearchParams, name: string): number {
  const text = query.get(name) ?? '';
  const value = Number(text);
  if (/^(-?\d+)?$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new BanyanError('BadRequest', `${name}: Invalid value: ${JSON.stringify(text)}: must be an integer`);
}

/** The `resourceVersion` of a request. It is empty, or a revision from an earlier answer. */
export function resourceVersionOf(query: URLSearchParams): string {
  const text = query.get('resourceVersion') ?? '';
  if (/^\d*$/.test(text) && Number.isSafeInteger(Number(text))) return text;
  const message = `resourceVersion: Invalid value: ${JSON.stringify(text)}: must be an integer, as in metadata.resourceVersion of an answer`;
  throw new BanyanError('BadRequest', message);
}

export function jsonResponse(
  status: number,
  value: object,
  headers: Record<string, string | string[]> = {},
): ApiResponse {
  return { status, body: Buffer.from(`${jsonText(value)}\n`), headers };
}
