/**
 * The state of a consumer besides its rows: the digest of the rows, and the place in the feed. Every batch reads and writes all of the state, so it is one
 * record: `digest, u48 cursor, u48 seenHead, u8 length of the epoch, epoch, incarnation`.
 */
import { Buffer } from 'node:buffer';
import { asBuffer, concat, readU48, u32, u48Bytes } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';
import { type Digest, decodeDigest, digestBytes, moveDigest } from './digest.ts';
import type { ResumeTuple } from './feed.ts';
import { noUsage, type RowUsage, readUsage, writeUsage } from './row-quota.ts';

const epochAt = digestBytes + 2 * u48Bytes;

export function readResume(reader: Reader, id: number): ResumeTuple {
  return decodeResume(reader.get(stateKey(id)));
}

export function readDigest(reader: Reader, id: number): Digest {
  return decodeDigest(reader.get(stateKey(id)));
}

/** The state within one transaction: read at the first use, changed together with the rows, written once at the end. */
export class ConsumerState {
  readonly #t: Transaction;
  readonly #id: number;
  readonly #key: Uint8Array;
  #record: Buffer | undefined;
  #resume: ResumeTuple | undefined;
  #isRead = false;
  #isChanged = false;
  #usage: RowUsage | undefined;
  #isUsageChanged = false;

  constructor(t: Transaction, id: number) {
    this.#t = t;
    this.#id = id;
    this.#key = stateKey(id);
  }

  get resume(): ResumeTuple {
    this.#resume ??= decodeResume(this.#read());
    return this.#resume;
  }

  /** Usually only the two numbers change. Then the record is changed in place. */
  setResume(tuple: ResumeTuple): void {
    const record = this.#read();
    const { epoch, incarnation } = this.resume;
    if (record && epoch === tuple.epoch && incarnation === tuple.incarnation) putNumbers(record, tuple);
    else this.#record = encodeResume(record, tuple);
    this.#resume = tuple;
    this.#isChanged = true;
  }

  /** Updates the digest after a change of one row. `before` and `after`: the hashes of the row's contents; undefined: no content. */
  moved(before: Uint8Array | undefined, after: Uint8Array | undefined): void {
    this.#record = this.#read() ?? encodeResume(undefined, neverAttached);
    moveDigest(this.#record, 0, before, after);
    this.#isChanged = true;
  }

  /** Number of live rows. */
  get entries(): number {
    return this.#read()?.readUIntBE(0, u48Bytes) ?? 0;
  }

  /** Only for a consumer with a quota. */
  get usage(): RowUsage {
    this.#usage ??= readUsage(this.#t, this.#id) ?? noUsage;
    return this.#usage;
  }

  setUsage(change: Partial<RowUsage>): void {
    this.#usage = { ...this.usage, ...change };
    this.#isUsageChanged = true;
  }

  write(): void {
    if (this.#isChanged && this.#record) this.#t.put(this.#key, this.#record);
    if (this.#isUsageChanged) writeUsage(this.#t, this.#id, { ...this.usage, entries: this.entries });
  }

  #read(): Buffer | undefined {
    if (!this.#isRead) {
      const found = this.#t.get(this.#key);
      this.#record = found && Buffer.from(found);
      this.#isRead = true;
    }
    return this.#record;
  }
}

export const neverAttached: ResumeTuple = { epoch: '', incarnation: '', cursor: 0, seenHead: 0 };

function decodeResume(bytes: Uint8Array | undefined): ResumeTuple {
  if (!bytes) return neverAttached;
  const record = asBuffer(bytes);
  const incarnationAt = epochAt + 1 + record[epochAt]!;
  return {
    epoch: record.toString('latin1', epochAt + 1, incarnationAt),
    incarnation: record.toString('latin1', incarnationAt),
    cursor: readU48(record, digestBytes),
    seenHead: readU48(record, digestBytes + u48Bytes),
  };
}

/** Makes a new record with the digest of the previous record, `former`. */
function encodeResume(former: Buffer | undefined, { epoch, incarnation, cursor, seenHead }: ResumeTuple): Buffer {
  const record = Buffer.alloc(epochAt + 1 + epoch.length + incarnation.length);
  former?.copy(record, 0, 0, digestBytes);
  putNumbers(record, { cursor, seenHead });
  record[epochAt] = epoch.length;
  record.write(epoch, epochAt + 1, 'latin1');
  record.write(incarnation, epochAt + 1 + epoch.length, 'latin1');
  return record;
}

function putNumbers(record: Buffer, { cursor, seenHead }: Pick<ResumeTuple, 'cursor' | 'seenHead'>): void {
  record.writeUIntBE(cursor, digestBytes, u48Bytes);
  record.writeUIntBE(seenHead, digestBytes + u48Bytes, u48Bytes);
}

function stateKey(id: number): Uint8Array {
  return concat(prefixOf('consumerState'), u32(id));
}
