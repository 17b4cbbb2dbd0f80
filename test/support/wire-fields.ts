/** The fields of proto/mesh.proto. Also makes frames with one changed field, which no encoder would write. */
import { readFileSync } from 'node:fs';

export interface Field {
  readonly name: string;
  readonly number: number;
  /** The type in the file: `uint64`, `bytes`, or the name of a message or an enum. */
  readonly type: string;
  readonly repeated: boolean;
}

const text = readFileSync('proto/mesh.proto', 'utf8').replaceAll(/\/\/.*$/gm, '');

/** Keyed by message. Enums are not messages. */
export const messages: ReadonlyMap<string, readonly Field[]> = new Map(
  [...text.matchAll(/^message (\w+) \{\n([\s\S]*?)^\}/gm)].map(([, message = '', body = '']) => {
    const own = body.replaceAll(/enum \w+ \{[^}]*\}/g, '').replaceAll(/oneof \w+ \{/g, '');
    const fields = [...own.matchAll(/(repeated )?(\w+) (\w+) = (\d+);/g)];
    return [
      message,
      fields.map(([, repeated, type = '', name = '', number]) => {
        return { name, number: Number(number), type, repeated: repeated !== undefined };
      }),
    ];
  }),
);

/** A replacement of a field: its bytes in the message, including the tag. */
export interface Variant {
  readonly name: string;
  readonly bytes: Buffer;
}

/** The path from a frame to a field: `batch.entries.key_hash`. */
export interface FieldPath {
  readonly name: string;
  readonly fields: readonly Field[];
}

/** All fields below a message. The fields of an inner message come after the inner message. */
export function pathsOf(message: string, above: readonly Field[] = []): FieldPath[] {
  return (messages.get(message) ?? []).flatMap((field) => {
    const fields = [...above, field];
    const path = { name: fields.map(({ name }) => name).join('.'), fields };
    return messages.has(field.type) ? [path, ...pathsOf(field.type, fields)] : [path];
  });
}

export function variantsOf({ number, type }: Field): Variant[] {
  const varint = (name: string, value: bigint) => ({ name, bytes: Buffer.concat([tag(number, 0), encoded(value)]) });
  const lengthy = (name: string, value: Buffer) => ({ name, bytes: withLength(number, value) });
  const absent = { name: 'absent', bytes: Buffer.alloc(0) };
  const otherType = { name: 'wrong type', bytes: Buffer.concat([tag(number, 5), Buffer.alloc(4, 0xff)]) };
  if (messages.has(type))
    return [absent, lengthy('empty', Buffer.alloc(0)), lengthy('junk', Buffer.alloc(9, 0xff)), otherType];
  switch (type) {
    case 'bytes':
      return [absent, otherType, ...[1, 15, 16, 17, 70_000].map((n) => lengthy(`${n} bytes`, Buffer.alloc(n, 0xee)))];
    case 'string':
      return [
        absent,
        otherType,
        lengthy('long', Buffer.alloc(70_000, 'x')),
        lengthy('no UTF-8', Buffer.from([0xff, 0xc0, 0x80])),
        lengthy('NUL', Buffer.of(0)),
      ];
    case 'bool':
      return [absent, varint('true', 1n), varint('2', 2n)];
    default:
      return [
        absent,
        varint('1', 1n),
        varint('2^32-1', 2n ** 32n - 1n),
        varint('2^48', 2n ** 48n),
        varint('2^53-1', 2n ** 53n - 1n),
        varint('2^64-1', 2n ** 64n - 1n),
        { name: 'endless', bytes: Buffer.concat([tag(number, 0), Buffer.alloc(12, 0xff)]) },
      ];
  }
}

/** Returns the message with one field replaced or inserted. In a list, the first item. */
export function changed(message: Buffer, [field, ...deeper]: readonly Field[], variant: Variant): Buffer {
  if (!field) return message;
  const parts = partsOf(message);
  const at = parts.findIndex(({ number }) => number === field.number);
  const replaced =
    deeper.length === 0
      ? variant.bytes
      : withLength(field.number, changed(parts[at]?.payload ?? Buffer.alloc(0), deeper, variant));
  if (at < 0) return Buffer.concat([message, replaced]);
  return Buffer.concat(parts.map(({ bytes }, i) => (i === at ? replaced : bytes)));
}

function partsOf(message: Buffer): { number: number; bytes: Buffer; payload: Buffer }[] {
  const parts: { number: number; bytes: Buffer; payload: Buffer }[] = [];
  for (let at = 0; at < message.length; ) {
    const start = at;
    const varint = () => {
      let value = 0;
      for (let factor = 1; ; factor *= 128) {
        const byte = message[at++]!;
        value += (byte & 127) * factor;
        if (byte < 128) return value;
      }
    };
    const key = varint();
    let payload: Buffer = Buffer.alloc(0);
    if (key % 8 === 0) varint();
    else {
      const length = varint();
      payload = message.subarray(at, at + length);
      at += length;
    }
    parts.push({ number: Math.floor(key / 8), bytes: message.subarray(start, at), payload });
  }
  return parts;
}

function withLength(number: number, value: Buffer): Buffer {
  return Buffer.concat([tag(number, 2), encoded(BigInt(value.length)), value]);
}

function tag(number: number, type: number): Buffer {
  return encoded(BigInt(number * 8 + type));
}

function encoded(value: bigint): Buffer {
  const bytes: number[] = [];
  let left = value;
  for (; left > 127n; left >>= 7n) bytes.push(Number(left & 127n) | 128);
  return Buffer.of(...bytes, Number(left));
}
