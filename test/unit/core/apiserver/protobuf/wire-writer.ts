/** Writes Protobuf by hand, for tests of the reader: https://protobuf.dev/programming-guides/encoding/ */

export function varint(value: number | bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}

/** A varint field; booleans are 0 and 1. */
export function int(field: number, value: number | bigint | boolean): Buffer {
  return Buffer.concat([varint(field << 3), varint(BigInt(value))]);
}

/** A length-delimited field: a text, bytes, or a message of fields. */
export function bytes(field: number, ...parts: (string | Uint8Array)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return Buffer.concat([varint((field << 3) | 2), varint(body.length), body]);
}

/** A field of eight or four bytes. */
export function fixed(field: number, value: Uint8Array): Buffer {
  return Buffer.concat([varint((field << 3) | (value.length === 8 ? 1 : 5)), value]);
}

/** An entry of a map field. */
export function entry(field: number, key: string, value: string | Uint8Array): Buffer {
  return bytes(field, bytes(1, key), bytes(2, value));
}

/** The envelope of Kubernetes: `k8s\0` and a runtime.Unknown with the type and the object's bytes. */
export function envelope(apiVersion: string, kind: string, ...object: Uint8Array[]): Buffer {
  const typeMeta = bytes(1, bytes(1, apiVersion), bytes(2, kind));
  return Buffer.concat([Buffer.from('k8s\0'), typeMeta, bytes(2, ...object), bytes(3, ''), bytes(4, '')]);
}
