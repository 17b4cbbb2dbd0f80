/**
 * Seals the values of a running store with its first key, in bounded steps. The store has the place that the pass has reached, in the transaction of each step.
 * So a process that ends in the middle loses nothing, and its next start goes on.
 */
import { prefixRange } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Store, Transaction } from '../store/store.ts';
import { sealableKeyspaces } from './sealed-values.ts';
import { keyIdOf, type Sealer } from './sealer.ts';
import { putSealingRecord, readSealingRecord, type SealingRecord, withPassEnded } from './sealing-record.ts';

/** A step of this size takes some milliseconds, so requests and sessions hardly notice it. */
export const stepRowsMax = 256;
const stepBytesMax = 256 * 1024;

export type StepResult = 'more' | 'ended' | 'nothing to do';

/** One step of the pass. `store` is the store below the sealing. Throws StoreFull, and has changed nothing then. */
export function resealStep(store: Store, sealer: Sealer): StepResult {
  return store.write((t) => {
    const record = readSealingRecord(t);
    if (!record || record.keys.length === 1) return 'nothing to do';
    const { rows, isLast } = nextRows(t, record.cursor === undefined ? undefined : Buffer.from(record.cursor, 'hex'));
    let resealed = record.resealed ?? 0;
    for (const [key, value] of rows) {
      const id = keyIdOf(value);
      if (id === undefined || id === sealer.firstId) continue;
      t.put(key, sealer.seal(key, sealer.open(key, value)));
      resealed++;
    }
    const seen: SealingRecord = { ...record, resealed, cursor: Buffer.from(rows.at(-1)?.[0] ?? []).toString('hex') };
    putSealingRecord(t, isLast ? withPassEnded(seen) : seen);
    return isLast ? 'ended' : 'more';
  });
}

/** After the end of a pass and a flush: notes that former keys are not needed any more. Returns false if the record is not that of the ended pass any more. */
export function settle(store: Store, ended: SealingRecord): boolean {
  return store.write((t) => {
    const record = readSealingRecord(t);
    if (!record || record.keys.join() !== ended.keys.join() || record.resealed !== ended.resealed) return false;
    putSealingRecord(t, { ...record, settled: true });
    return true;
  });
}

/** The next rows that may be sealed, after a key: all of one keyspace. */
function nextRows(
  t: Transaction,
  after: Uint8Array | undefined,
): { rows: [Uint8Array, Uint8Array][]; isLast: boolean } {
  const rows: [Uint8Array, Uint8Array][] = [];
  let bytes = 0;
  for (const space of sealableKeyspaces) {
    const { from, to } = prefixRange(prefixOf(space));
    if (after && Buffer.compare(after, to) >= 0) continue;
    const start = after && Buffer.compare(after, from) >= 0 ? Buffer.concat([after, Buffer.of(0)]) : from;
    for (const [key, value] of t.scan({ from: start, to, limit: stepRowsMax - rows.length })) {
      rows.push([key, value]);
      bytes += value.length;
      if (rows.length >= stepRowsMax || bytes >= stepBytesMax) return { rows, isLast: false };
    }
  }
  return { rows, isLast: true };
}
