/** Request bodies: bounded, and what their content type says. */
import { type Document, isScalar, LineCounter, type Node, parseDocument, visit } from 'yaml';
import { exactNumbers, mayHaveLongInteger, parseExactJson } from '../../object/exact-integers.ts';
import { beyondLimits } from '../../object/json-limits.ts';
import { duplicateFields } from '../../object/json-text.ts';
import { BanyanError, describeError } from '../../runtime/errors.ts';

/** etcd's and therefore Kubernetes' limit of a request: 1.5 MiB. */
export const bodyBytesMax = 1_572_864;
/** Of YAML: enough for people, too few for a bomb. */
const aliasesMax = 50;
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

/** `decodeProtobuf` gives the JSON of a protobuf body. */
export function parseRequestBody(body: Buffer, media: MediaType, decodeProtobuf: (body: Buffer) => unknown): unknown {
  if (body.length === 0) throw new BanyanError('BadRequest', 'the request has no body');
  const value = parsed(body, media, decodeProtobuf);
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

function parsed(body: Buffer, media: MediaType, decodeProtobuf: (body: Buffer) => unknown): unknown {
  try {
    if (media === 'protobuf') return decodeProtobuf(body);
    const text = body.toString('utf8');
    return isJson(body, media) ? parseExactJson(text) : parseYaml(text);
  } catch (error) {
    if (error instanceof BanyanError) throw error;
    throw new BanyanError(
      'BadRequest',
      `the object provided is unrecognized (must be valid ${media}): ${describeError(error)}`,
      {},
      { cause: error },
    );
  }
}

function parseYaml(text: string): unknown {
  const intAsBigInt = mayHaveLongInteger(text);
  const lineCounter = new LineCounter();
  // The library would compare each key of a mapping with all before it.
  const document = parseDocument(text, { uniqueKeys: false, intAsBigInt, lineCounter });
  const wrong = document.errors[0]?.message ?? repeatedKey(document, lineCounter);
  if (wrong !== undefined) throw new BanyanError('BadRequest', `error converting YAML to JSON: ${wrong}`);
  const value: unknown = document.toJS({ maxAliasCount: aliasesMax });
  return intAsBigInt ? exactNumbers(value) : value;
}

/** Where a mapping has a key for the second time. */
function repeatedKey(document: Document.Parsed, lines: LineCounter): string | undefined {
  let wrong: string | undefined;
  visit(document, {
    Map(_, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        const name = isScalar(key) ? key.value : key;
        if (seen.has(name)) {
          const { line, col } = lines.linePos((key as Node).range?.[0] ?? 0);
          wrong = `Map keys must be unique at line ${line}, column ${col}`;
          return visit.BREAK;
        }
        seen.add(name);
      }
      return undefined;
    },
  });
  return wrong;
}
