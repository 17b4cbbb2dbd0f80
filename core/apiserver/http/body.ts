/** Request bodies: bounded, and what their content type says. */
import { parseExactJson } from '../../object/exact-integers.ts';
import { checkJsonBounds } from '../../object/json-bounds.ts';
import { beyondLimits } from '../../object/json-limits.ts';
import { duplicateFields } from '../../object/json-text.ts';
import { BanyanError, describeError } from '../../runtime/errors.ts';
import { parseYaml } from './yaml-body.ts';

/** etcd's and therefore Kubernetes' limit of a request: 1.5 MiB. */
export const bodyBytesMax = 1_572_864;
/** Characters of YAML that are read at once: the worst of so many takes 20 ms. A thread would take longer to start. */
const shortYamlMax = 4_096;
/** Without anything in front of it. */
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
  const media = mediaTypes[type];
  if (media) return media;
  const known = Object.keys(mediaTypes).join(', ');
  throw new BanyanError(
    'UnsupportedMediaType',
    `the body of the request was in an unknown format (${type}) - accepted media types include: ${known}`,
  );
}

/** Reads on past the limit without keeping anything, so that the client gets its answer and the connection goes on. */
export async function readBody(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    length += chunk.length;
    if (length <= bodyBytesMax) chunks.push(chunk);
  }
  if (length > bodyBytesMax) {
    throw new BanyanError(
      'TooLarge',
      `Request entity too large: limit is ${bodyBytesMax}, got ${length} bytes: split the object into smaller ones`,
    );
  }
  return Buffer.concat(chunks);
}

/** `decodeProtobuf` gives the JSON of a protobuf body, `readLongYaml` that of a YAML text of more than some pages. */
export async function parseRequestBody(
  body: Buffer,
  media: MediaType,
  decodeProtobuf: (body: Buffer) => unknown,
  readLongYaml: (text: string) => Promise<string>,
): Promise<unknown> {
  if (body.length === 0) throw new BanyanError('BadRequest', 'the request has no body');
  if (media !== 'protobuf' && !isJson(body, media)) return parsedYaml(body.toString('utf8'), readLongYaml);
  const value = recognized(media, () => (media === 'protobuf' ? decodeProtobuf(body) : parsed(body.toString('utf8'))));
  const wrong = beyondLimits(value);
  if (wrong !== undefined) throw new BanyanError('BadRequest', wrong);
  return value;
}

/** Places of fields that a body has twice, of what was made of it. In YAML they are an error, and protobuf has numbers for names. */
export function duplicatesIn(body: Buffer, media: MediaType, value: unknown): string[] {
  return isJson(body, media) ? duplicateFields(body.toString('utf8'), value) : [];
}

function isJson(body: Buffer, media: MediaType): boolean {
  if (media === 'apply-patch') return body[0] === openingBrace;
  return media !== 'protobuf' && media !== 'yaml';
}

/** `json` as text is bounded here, so that nothing behind it meets more. */
function parsed(text: string): unknown {
  checkJsonBounds(text);
  return parseExactJson(text);
}

/** Throws BadRequest where the parser has none of ours. */
function recognized<Value>(media: MediaType, parse: () => Value): Value {
  try {
    return parse();
  } catch (error) {
    if (error instanceof BanyanError) throw error;
    const message = `the object provided is unrecognized (must be valid ${media}): ${describeError(error)}`;
    throw new BanyanError('BadRequest', message, {}, { cause: error });
  }
}

/** What YAML says in JSON has the bounds of a body in JSON: a few bytes may stand for many. */
async function parsedYaml(text: string, readLong: (text: string) => Promise<string>): Promise<unknown> {
  const isShort = text.length <= shortYamlMax;
  const json = isShort ? JSON.stringify(recognized('yaml', () => parseYaml(text))) : await readLong(text);
  if (json.length > bodyBytesMax) {
    const message = `Request entity too large: limit is ${bodyBytesMax}, as JSON the body has ${json.length} characters: split the object into smaller ones`;
    throw new BanyanError('TooLarge', message);
  }
  checkJsonBounds(json);
  return JSON.parse(json);
}
