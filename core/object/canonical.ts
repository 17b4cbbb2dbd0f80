/**
 * Canonical bytes: exactly one JSON text for each object. Keys are sorted, but `metadata` is first and has no resourceVersion. So the text always begins
 * with `{"metadata":{`. The server can insert its fields after this prefix, or a status before the last brace, without parsing the text. `managedFields` have
 * the order of Kubernetes, because clients compare them byte by byte.
 */
import { sortFieldsV1 } from './fields-v1-order.ts';
import { parseJson } from './json.ts';
import type { KubeObject } from './meta.ts';

const prefix = Buffer.from('{"metadata":{');
const comma = 0x2c;

/** The canonical bytes of an object, without `metadata.resourceVersion`, `metadata.selfLink` and undefined fields. */
export function canonicalBytes(object: KubeObject): Uint8Array {
  const { metadata, ...rest } = object;
  const {
    resourceVersion: _version,
    selfLink: _link,
    ...meta
  } = metadata as KubeObject['metadata'] & { selfLink?: string };
  const body = stableStringify(rest);
  const head = `{"metadata":${orderedJson(meta, sortFieldsV1)}`;
  return Buffer.from(body === '{}' ? `${head}}` : `${head},${body.slice(1)}`);
}

/** JSON with sorted keys. Arrays keep their order. */
export function stableStringify(value: unknown): string {
  return orderedJson(value, (keys) => keys.sort());
}

function orderedJson(value: unknown, sort: (keys: string[]) => string[]): string {
  if (Array.isArray(value))
    return `[${value.map((item) => orderedJson(item === undefined ? null : item, sort)).join(',')}]`;
  if (typeof value === 'bigint') return String(value);
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const fields: string[] = [];
  for (const key of sort(Object.keys(value))) {
    const field = (value as Record<string, unknown>)[key];
    if (field !== undefined) fields.push(`${JSON.stringify(key)}:${orderedJson(field, sort)}`);
  }
  return `{${fields.join(',')}}`;
}

/**
 * `body` with `fields` as the first members of metadata. `fields` are JSON members without braces, for example `"resourceVersion":"7"`. The result has two
 * pieces, so that a list can write them without a copy of the body.
 */
export function spliceMetadata(body: Uint8Array, fields: string): [Uint8Array, Uint8Array] {
  const empty = body[prefix.length] === 0x7d; // True if metadata is `{}`.
  return [Buffer.from(`{"metadata":{${fields}${empty ? '' : ','}`), body.subarray(prefix.length)];
}

/** The bytes from `start` to `end` of a body. */
export interface BodyPart {
  readonly start: number;
  readonly end: number;
}

/**
 * The member `name` of metadata, a number, with one comma beside the member. `begin`: where the members begin, or those that matter. Undefined: there is none.
 * No text can contain the bytes that this function searches: quotes in texts are escaped.
 */
export function metadataNumberIn(body: Uint8Array, name: string, begin = prefix.length): BodyPart | undefined {
  const bytes = bufferOf(body);
  const label = `"${name}":`;
  for (let at = bytes.indexOf(label, begin); at >= 0; at = bytes.indexOf(label, at + 1)) {
    let end = at + label.length;
    while (isDigit(bytes[end])) end++;
    // A label or annotation of this name is a text.
    if (end === at + label.length) continue;
    const isFirst = at === begin || bytes[at - 1] !== comma;
    return { start: isFirst ? at : at - 1, end: isFirst && bytes[end] === comma ? end + 1 : end };
  }
  return undefined;
}

/**
 * Where the members of metadata begin behind the first one, if its name is `name` and its value is a text without escaped quotes; else where all begin. `name`
 * sorts before all other members.
 */
export function afterFirstMetadataText(body: Uint8Array, name: string): number {
  const bytes = bufferOf(body);
  const label = `"${name}":"`;
  const start = prefix.length;
  if (bytes.toString('latin1', start, start + label.length) !== label) return start;
  const end = bytes.indexOf('"', start + label.length) + 1;
  return bytes[end] === comma ? end + 1 : end;
}

function bufferOf(body: Uint8Array): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

/** `body` with one more member at its end, for example `status`. The body must not have this member already. */
export function appendMember(body: Uint8Array, name: string, json: Uint8Array): Uint8Array {
  const head = body.subarray(0, body.length - 1);
  const needsComma = body.length > 2;
  const label = Buffer.from(`${JSON.stringify(name)}:`);
  return Buffer.concat([head, needsComma ? Buffer.of(comma) : Buffer.alloc(0), label, json, Buffer.of(0x7d)]);
}

export function parseBody(body: Uint8Array): KubeObject {
  return parseJson(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')) as KubeObject;
}

/** Whether the canonical bytes contain the word. Most objects lack it, so this search avoids parsing them. */
export function bodyMentions(body: Uint8Array, word: string): boolean {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).includes(word);
}
