/**
 * Changes the metadata and the status in canonical bytes without parsing the rest, which may have 1.5 MB: to parse and write that much takes 50 ms, to find its end
 * 2 ms.
 */
import { type BodyPart, canonicalBytes, stableStringify } from './canonical.ts';
import { jsonText, parseJson } from './json.ts';
import type { KubeObject } from './meta.ts';

const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Apart from `metadata` and `status`, an object has these fields, which are short. */
const identity = ['apiVersion', 'kind'];

/** Canonical bytes of an object, and where its fields are in them. */
export class BodyParts {
  readonly #bytes: Buffer;
  readonly #fields: ReadonlyMap<string, BodyPart>;

  constructor(body: Uint8Array) {
    this.#bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    this.#fields = fieldsIn(this.#bytes.toString('latin1'));
  }

  /** The object without the fields that may be long: with `apiVersion`, `kind`, `metadata` and `status` only. */
  head(): KubeObject {
    const fields = ['metadata', 'status', ...identity].flatMap((name) => {
      const value = this.#value(name);
      return value ? [[name, parseJson(value.toString('utf8'))] as const] : [];
    });
    return Object.fromEntries(fields) as KubeObject;
  }

  /** The canonical bytes with the `metadata` and the `status` of `head`. All other fields stay as they are. */
  withHead({ metadata, status }: KubeObject): Uint8Array {
    const others = [...this.#fields.keys()].filter((name) => name !== 'metadata' && name !== 'status');
    const pieces: Uint8Array[] = [canonicalBytes({ metadata } as KubeObject).subarray(0, -1)];
    for (const name of [...others, ...(status === undefined ? [] : ['status'])].sort()) {
      pieces.push(Buffer.from(`,${jsonText(name)}:`));
      pieces.push(name === 'status' ? Buffer.from(stableStringify(status)) : this.#value(name)!);
    }
    return Buffer.concat([...pieces, Buffer.of(closeBrace)]);
  }

  /** Whether the field has the same value in both objects. */
  hasSame(name: string, than: BodyParts): boolean {
    const [own, other] = [this.#value(name), than.#value(name)];
    return own && other ? own.equals(other) : own === other;
  }

  #value(name: string): Buffer | undefined {
    const part = this.#fields.get(name);
    return part && this.#bytes.subarray(part.start, part.end);
  }
}

/** The same as `head` of BodyParts. */
export function headOf(body: Uint8Array): KubeObject {
  return new BodyParts(body).head();
}

/** `text`: one character for each byte. */
function fieldsIn(text: string): Map<string, BodyPart> {
  const fields = new Map<string, BodyPart>();
  for (let at = 1; text[at] === '"'; ) {
    const nameEnd = afterText(text, at);
    const start = nameEnd + 1;
    const end = afterValue(text, start);
    const name = Buffer.from(text.slice(at, nameEnd), 'latin1').toString('utf8');
    fields.set(parseJson(name) as string, { start, end });
    at = text[end] === ',' ? end + 1 : end;
  }
  return fields;
}

function afterValue(text: string, start: number): number {
  if (text[start] === '"') return afterText(text, start);
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = afterText(text, at) - 1;
    else if (code === openBrace || code === openBracket) depth++;
    else if ((code === closeBrace || code === closeBracket) && --depth <= 0) return depth < 0 ? at : at + 1;
    else if (code === comma && depth === 0) return at;
  }
  return text.length;
}

/** `start`: of the opening quote. The search is native code: an agent does not compile this file (docs/decisions/0038-agents-compile-little.md). */
function afterText(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === backslash) escapes++;
    if (escapes % 2 === 0) return at + 1;
  }
  return text.length;
}
