/** The encoding of Protocol Buffers 3, as far as the frames need it: numbers and length-delimited fields. */

/** Field number -> values, in the order of arrival. */
export type Fields = ReadonlyMap<number, readonly (number | Buffer)[]>;

export function read(bytes: Buffer): Fields {
  const fields = new Map<number, (number | Buffer)[]>();
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++]!;
      value += (byte % 128) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const [field, type] = [Math.floor(tag / 8), tag % 8];
    let value: number | Buffer;
    if (type === 0) value = varint();
    else if (type === 2) {
      const length = varint();
      value = bytes.subarray(at, at + length);
      at += length;
    } else throw new Error(`wire type ${type} is not in these frames`);
    fields.set(field, [...(fields.get(field) ?? []), value]);
  }
  return fields;
}

export const numberIn = (fields: Fields, field: number): number => Number(fields.get(field)?.at(-1) ?? 0);
export const bytesIn = (fields: Fields, field: number): Buffer =>
  (fields.get(field)?.at(-1) as Buffer) ?? Buffer.alloc(0);
export const textIn = (fields: Fields, field: number): string => bytesIn(fields, field).toString();
export const allIn = (fields: Fields, field: number): readonly Buffer[] =>
  (fields.get(field) ?? []) as readonly Buffer[];

/** Fields that are 0 or empty are left out; each item of a list is written. */
export function write(...fields: [number, number | boolean | string | Buffer | readonly Buffer[]][]): Buffer {
  return Buffer.concat(fields.flatMap(([field, value]) => one(field, value)));
}

function one(field: number, value: number | boolean | string | Buffer | readonly Buffer[]): Buffer[] {
  if (typeof value === 'boolean') return value ? [varint(field * 8), varint(1)] : [];
  if (typeof value === 'number') return value === 0 ? [] : [varint(field * 8), varint(value)];
  if (typeof value === 'string') return value === '' ? [] : lengthy(field, Buffer.from(value));
  if (Buffer.isBuffer(value)) return value.length === 0 ? [] : lengthy(field, value);
  return value.flatMap((item) => lengthy(field, item));
}

function lengthy(field: number, value: Buffer): Buffer[] {
  return [varint(field * 8 + 2), varint(value.length), value];
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let left = value;
  for (; left >= 128; left = Math.floor(left / 128)) bytes.push((left % 128) + 128);
  return Buffer.of(...bytes, left);
}
