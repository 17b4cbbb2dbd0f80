/**
 * Finds objects that the agent has applied and that its store has no record of: another store with the same identity applied them, or this store was emptied
 * since. The agent recognises these objects by the mark on them. The agent puts them on record, so that it can remove those that nobody wants any more. If
 * the unwanted objects are more than the budget of deletions allows, they stay as they are.
 */
import { type DeletionLimits, type HeldRows, judge } from '../../core/feed/deletions.ts';
import { hash128 } from '../../core/object/hash.ts';
import { formatKey } from '../../core/object/key.ts';
import type { AppliedObject } from '../cluster/cluster.ts';
import type { OwnerRecord } from './owner-records.ts';

/** Number of keys in the sample. A person reads the sample: one or two lines are enough. */
const sampleMax = 5;

export type Applied = AppliedObject;

export interface AppliedInventory {
  /** The records to write, keyed by object key. */
  readonly records: ReadonlyMap<string, OwnerRecord>;
  /**
   * Records of unwanted objects that stay, because they are too many to remove at once. The agent does not write these records before a person has approved
   * the removal.
   */
  readonly kept: ReadonlyMap<string, OwnerRecord>;
}

export function appliedInventoryOf(
  found: readonly Applied[],
  records: { get(key: string): OwnerRecord | undefined },
  isWanted: (key: string) => boolean,
  limits: DeletionLimits,
  /** How many objects earlier scans removed: the budget of deletions must not be used twice. */
  goneBefore = 0,
): AppliedInventory {
  const unknown = onceByUid(found, (key) => isWanted(key) || records.get(key) !== undefined).filter(([key, one]) => {
    const record = records.get(key);
    return record?.uid !== one.uid || (isWanted(key) && isOtherContent(one, record));
  });
  const unwanted = unknown.filter(([key]) => !isWanted(key)).map(([key]) => key);
  const total = new Set(found.map(({ uid }) => uid)).size;
  const verdict = judge({ gone: unwanted.length, lost: 0, held: goneBefore, total }, limits);
  const tooMany = new Set(verdict === 'all' ? unwanted : []);
  const recordsOf = (isKept: boolean) =>
    new Map(
      unknown
        .filter(([key]) => tooMany.has(key) === isKept)
        .map(([key, one]) => [key, recordOf(one, records.get(key))] as const),
    );
  return { records: recordsOf(false), kept: recordsOf(true) };
}

/**
 * The unwanted objects that stay, in the form of the node's report. They stay until a person approves their removal with the token, or deletes them by hand.
 */
export function heldRemovals(kept: AppliedInventory['kept'], sinceMs: number): HeldRows | undefined {
  if (kept.size === 0) return undefined;
  const keys = [...kept.keys()].sort();
  const token = Buffer.from(hash128(keys.join(' ')))
    .toString('hex')
    .slice(0, 12);
  return { token, sinceMs, entries: keys.length, sample: keys.slice(0, sampleMax) };
}

/** Whether another store has applied the object since this record was written. */
function isOtherContent({ content }: Applied, { bodyHash }: OwnerRecord): boolean {
  return content !== undefined && content !== bodyHash;
}

/**
 * Makes the record. This store does not know how the cluster has stored the content. So the fingerprint is empty, and the agent applies the object again, or
 * only compares it if the rules leave foreign changes alone.
 */
function recordOf(
  { uid, agent, source, created, deletion, content }: Applied,
  before: OwnerRecord | undefined,
): OwnerRecord {
  const how = deletion === undefined ? {} : { deletion };
  // If the store has a record of another object of this name, these facts are about that object.
  const { origin: _origin, ended: _ended, hasFormerForm: _form, ...kept } = before ?? {};
  const known = before?.uid === uid ? before : kept;
  return { placements: [], ...known, source, uid, agent, created, bodyHash: content ?? '', fingerprint: '', ...how };
}

/**
 * A cluster may serve one object under several groups (`events`, `ingresses`). This function returns the object once, if possible under the key that this
 * store knows.
 */
function onceByUid(found: readonly Applied[], isKnown: (key: string) => boolean): [string, Applied][] {
  const byUid = new Map<string, [string, Applied]>();
  for (const one of found) {
    const key = formatKey(one.key);
    const before = byUid.get(one.uid);
    if (!before || (!isKnown(before[0]) && isKnown(key))) byUid.set(one.uid, [key, one]);
  }
  return [...byUid.values()];
}
