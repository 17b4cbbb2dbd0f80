/** Reads request bodies up to a maximal size, and parses them by content type. */
import { parseExactJson, parseJson } from '../../object/json.ts';
import { checkJsonBounds } from '../../object/json-bounds.ts';
import { beyondLimits } from '../../object/json-limits.ts';
import { duplicateFields } from '../../object/json-text.ts';
import { ownField } from '../../object/json-value.ts';
import { BanyanError, describeError } from '../../runtime/errors.ts';
import { yamlToJson } from './yaml-body.ts';

/** The limit of a request in etcd and therefore in Kubernetes: 1.5 MiB. */
export const bodyBytesMax = 1_572_864;
/** YAML texts up to this length are parsed in this thread. The worst text of this length takes 20 ms. Starting another thread would take longer. */
const shortYamlMax = 4_096;
/** A body that begins with this character, without a space before it, is JSON. */
const openingBrace = 0x7b;

export type MediaType = 'json' | 'yaml' | 'protobuf' | 'json-patch' | 'merge-patch' | 'strategic-patch' | 'apply-patch';

const mediaTypes: Readonly<Record<string, MediaType>> = {
  'application/json': 'json',
  'application/yaml': 'yaml',
  'application/vnd.kubernetes.protobuf': 'protobuf',
  'application/json-patch+json': 'json-patch',
  'application/merge-patch+json': 'merge-patch',
  'application/strategic-merge-patch+json': 'strategic-patch',
  'application/apply-patch+yaml': 'apply-patch',
};

export function mediaTypeOf(header: string | undefined): MediaType {
  const type = (header ?? 'application/json').split(';')[0]!.trim().toLowerCase();
  const media = ownField(mediaTypes, type);
  if (media) return media;
  const accepted = Object.keys(mediaTypes).join(', ');
  throw new BanyanError(
    'UnsupportedMediaType',
    `the body of the request was in an unknown format (${type}) - accepted media types include: ${accepted}`,
  );
}

/** Bytes of a body beyond the limit between two pauses. With `pauseMs` in request-body.ts: 10 MB/s for each body. */
const beyondBytes = 256 * 1024;

/**
 * Reads the whole body. Throws TooLarge if it is over the limit. Even then, reads to the end without keeping the bytes, so that the client gets its answer
 * and the connection stays usable. `pause` is called now and then while this function reads beyond the limit. Without pauses, a client that sends 20 MB again
 * and again keeps the thread busy with decrypting.
 */
export async function readBody(stream: AsyncIterable<Buffer>, pause: () => Promise<void>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  let pausesAt = bodyBytesMax;
  for await (const chunk of stream) {
    length += chunk.length;
    if (length <= bodyBytesMax) chunks.push(chunk);
    if (length <= pausesAt) continue;
    pausesAt = length + beyondBytes;
    await pause();
  }
  if (length > bodyBytesMax) {
    throw new BanyanError(
      'TooLarge',
      `Request entity too large: limit is ${bodyBytesMax}, got ${length} bytes: split the object into smaller ones`,
    );
  }
  return Buffer.concat(chunks);
}

/** Parses a body. `decodeProtobuf` gives the JSON value of a protobuf body. `readLongYaml` gives the JSON text of a long YAML text. */
export async function parseRequestBody(
  body: Buffer,
  media: MediaType,
  decodeProtobuf: (body: Buffer) => unknown,
  readLongYaml: (text: string) => Promise<string>,
): Promise<unknown> {
  // An empty text is null in YAML, and nothing in the other forms.
  if (body.length === 0 && media !== 'yaml') throw new BanyanError('BadRequest', 'the request has no body');
  if (media !== 'protobuf' && !isJson(body, media)) return parsedYaml(body.toString('utf8'), readLongYaml);
  const value = recognized(media, () => (media === 'protobuf' ? decodeProtobuf(body) : parsed(body.toString('utf8'))));
  const wrong = beyondLimits(value);
  if (wrong !== undefined) throw new BanyanError('BadRequest', wrong);
  return value;
}

/**
 * The places of fields that a JSON body has twice. `value` is the parsed body. Other media types need no check: in YAML a duplicate field is an error, and
 * in protobuf fields have numbers.
 */
export function duplicatesIn(body: Buffer, media: MediaType, value: unknown): string[] {
  return isJson(body, media) ? duplicateFields(body.toString('utf8'), value) : [];
}

function isJson(body: Buffer, media: MediaType): boolean {
  if (media === 'apply-patch') return body[0] === openingBrace;
  return media !== 'protobuf' && media !== 'yaml';
}

/** Parses JSON. Checks the bounds of the text first, so that the parser and all further code never get a value beyond the bounds. */
function parsed(text: string): unknown {
  checkJsonBounds(text);
  return parseExactJson(text);
}

/** Turns an error of the parser into BadRequest. A BanyanError passes through. */
function recognized<Value>(media: MediaType, parse: () => Value): Value {
  try {
    return parse();
  } catch (error) {
    if (error instanceof BanyanError) throw error;
    const message = `the object provided is unrecognized (must be valid ${media}): ${describeError(error)}`;
    throw new BanyanError('BadRequest', message, {}, { cause: error });
  }
}

/** Parses YAML. Its JSON text has the same bounds as a JSON body, because a few bytes of YAML can describe a large value. */
async function parsedYaml(text: string, readLong: (text: string) => Promise<string>): Promise<unknown> {
  const isShort = text.length <= shortYamlMax;
  const json = isShort ? yamlToJson(text) : await readLong(text);
  if (json.length > bodyBytesMax) {
    const message = `Request entity too large: limit is ${bodyBytesMax}, as JSON the body has ${json.length} characters: split the object into smaller ones`;
    throw new BanyanError('TooLarge', message);
  }
  checkJsonBounds(json);
  return parseJson(json);
}
