/** Rows by the first digits of their key hashes, compared by fingerprints under a seed: docs/protocol.md, "Reconciliation". */

import { read } from './bytes.ts';
import { answers, bytesIn, numberIn, write } from './frames.ts';
import { contentHash, hash, type Row, type Rows } from './rows.ts';

export const seedBytes = 8;
const fewRows = 8;
const manyRows = 64;
const rowBytes = 30;
const hexDigits = [...'0123456789abcdef'];
const none = Buffer.alloc(8);

/** Digits as text; on the wire each is a byte. */
export function prefix(rows: Rows, seed: Buffer, digits: string): Buffer {
  const own = within(rows, digits);
  const fingerprint = own.length === 0 ? Buffer.alloc(0) : sum(seed, own);
  return write([1, Buffer.from([...digits].map((digit) => Number.parseInt(digit, 16)))], [2, fingerprint]);
}

/** The answer to a requested prefix. */
export function answer(rows: Rows, seed: Buffer, asked: Buffer): Buffer {
  const fields = read(asked);
  const digits = [...bytesIn(fields, 1)].map((digit) => digit.toString(16)).join('');
  const theirs = bytesIn(fields, 2);
  const own = within(rows, digits);
  if (theirs.length === 0 ? own.length === 0 : theirs.equals(sum(seed, own))) return write([1, answers.same]);
  if (own.length > (theirs.length === 0 ? manyRows : fewRows))
    return write(
      [1, answers.split],
      [2, Buffer.concat(hexDigits.map((digit) => sum(seed, within(rows, digits + digit))))],
    );
  const items = own.map(([name, row]) => {
    const revision = Buffer.alloc(6);
    revision.writeUIntBE(row.originRevision, 0, 6);
    return Buffer.concat([Buffer.from(name, 'hex'), printOf(seed, [name, row]), revision]);
  });
  return write([1, answers.list], [3, Buffer.concat(items)]);
}

/** The consequences of an answer about `digits` for the consumer. */
export function compare(rows: Rows, seed: Buffer, digits: string, bytes: Buffer) {
  const fields = read(bytes);
  const kind = numberIn(fields, 1);
  const found = { askOn: [] as string[], wanted: [] as Buffer[], removed: [] as string[] };
  if (kind === answers.split) {
    const parts = cut(bytesIn(fields, 2), none.length);
    found.askOn = hexDigits.filter((digit, i) => !parts[i]!.equals(sum(seed, within(rows, digits + digit))));
    found.askOn = found.askOn.map((digit) => digits + digit);
  } else if (kind === answers.list) {
    const listed = cut(bytesIn(fields, 3), rowBytes);
    const theirs = new Map(listed.map((row) => [row.subarray(0, 16).toString('hex'), row]));
    for (const [name, row] of within(rows, digits)) {
      const item = theirs.get(name);
      if (!item) found.removed.push(name);
      else if (item.subarray(16, 24).equals(printOf(seed, [name, row])) || row.originRevision > item.readUIntBE(24, 6))
        theirs.delete(name);
    }
    found.wanted = [...theirs.values()].map((row) => row.subarray(0, 16));
  }
  return found;
}

function within(rows: Rows, digits: string): [string, Row][] {
  return [...rows].filter(([name]) => name.startsWith(digits));
}

function printOf(seed: Buffer, [name, row]: [string, Row]): Buffer {
  return hash(Buffer.concat([seed, Buffer.from(name, 'hex'), contentHash(row)])).subarray(0, 8);
}

/** Zero without rows. */
function sum(seed: Buffer, rows: readonly [string, Row][]): Buffer {
  const total = Buffer.alloc(8);
  total.writeBigUInt64BE(
    BigInt.asUintN(
      64,
      rows.reduce((so, row) => so + printOf(seed, row).readBigUInt64BE(), 0n),
    ),
  );
  return total;
}

function cut(bytes: Buffer, length: number): Buffer[] {
  return Array.from({ length: bytes.length / length }, (_, i) => bytes.subarray(i * length, (i + 1) * length));
}
