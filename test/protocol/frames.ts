/** Frames that an agent sends and receives, by the numbers of docs/protocol.md, "Frames". */
import { allIn, bytesIn, type Fields, numberIn, read, textIn, write } from './bytes.ts';
import type { Row } from './rows.ts';

export const number = {
  hello: 1,
  welcome: 2,
  retry: 3,
  batch: 4,
  ack: 5,
  request: 6,
  reply: 7,
  credit: 10,
  beat: 14,
  goodbye: 15,
  resume: 16,
  piece: 18,
} as const;
export const down = 1;
export const up = 2;
/** The answer to a prefix is "same", a split, or a list of rows. */
export const answers = { same: 1, split: 2, list: 3 } as const;

export interface Tuple {
  readonly epoch: string;
  readonly incarnation: string;
  readonly cursor: number;
  readonly seenHead: number;
}

const bin = (hex: string) => Buffer.from(hex, 'hex');

export function frame(kind: keyof typeof number, value: Buffer): Buffer {
  // The field of a Frame is written even if its message is empty.
  return write([number[kind], [value]]);
}

/** Undefined for frames that an agent may ignore. */
export function kindOf(message: Buffer): { kind: keyof typeof number; fields: Fields } | undefined {
  const [[field, values] = [0, []]] = read(message);
  const kind = (Object.keys(number) as (keyof typeof number)[]).find((name) => number[name] === field);
  return kind && { kind, fields: read(values[0] as Buffer) };
}

export function tuple({ epoch, incarnation, cursor, seenHead }: Tuple): Buffer {
  return write([1, bin(epoch)], [2, bin(incarnation)], [3, cursor], [4, seenHead]);
}

export function tupleOf(bytes: Buffer): Tuple {
  const fields = read(bytes);
  return {
    epoch: bytesIn(fields, 1).toString('hex'),
    incarnation: bytesIn(fields, 2).toString('hex'),
    cursor: numberIn(fields, 3),
    seenHead: numberIn(fields, 4),
  };
}

/** A tombstone has neither key nor contents. */
export function entryOf(bytes: Buffer): { hash: string; revision: number; row?: Row } {
  const fields = read(bytes);
  const hash = bytesIn(fields, 1).toString('hex');
  const revision = numberIn(fields, 2);
  if (numberIn(fields, 4) === 1) return { hash, revision };
  const row = {
    key: textIn(fields, 5),
    attributes: bytesIn(fields, 6),
    body: bytesIn(fields, 7),
    originRevision: numberIn(fields, 3),
  };
  return { hash, revision, row };
}

export function entry(hash: string, revision: number, row: Row | undefined): Buffer {
  if (!row) return write([1, bin(hash)], [2, revision], [4, true]);
  return write(
    [1, bin(hash)],
    [2, revision],
    [3, row.originRevision],
    [5, row.key],
    [6, row.attributes],
    [7, row.body],
  );
}

/** The digest of a beat; undefined if it has none. */
export function digestOf(bytes: Buffer): { revision: number; count: number; sum: Buffer } | undefined {
  if (bytes.length === 0) return undefined;
  const fields = read(bytes);
  return { revision: numberIn(fields, 1), count: numberIn(fields, 2), sum: bytesIn(fields, 3) };
}

export { allIn, bytesIn, numberIn, textIn, write };
