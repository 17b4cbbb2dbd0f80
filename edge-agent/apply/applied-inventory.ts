/**
 * What a store has no record of and its agent has applied all the same: by another store of the same identity, or by this one before it was emptied. The mark
 * on the object is what there is to go by. It comes on record, so that what is wanted no more can go; more than the budget of deletions stays as it is.
 */
import { type DeletionLimits, type HeldRows, judge } from '../../core/feed/deletions.ts';
import { hash128 } from '../../core/object/hash.ts';
import { formatKey } from '../../core/object/key.ts';
import type { AppliedObject } from '../cluster/cluster.ts';
import type { OwnerRecord } from './owner-records.ts';

/** A line or two for a person. */
const sampleMax = 5;

export type Applied = AppliedObject;

export interface AppliedInventory {
  /** To be written, by object key. */
  readonly records: ReadonlyMap<string, OwnerRecord>;
  /** Of objects that nobody wants and that are left alone, since they are too many at once: not to be written before a person has said so. */
  readonly kept: ReadonlyMap<string, OwnerRecord>;
}

export function appliedInventoryOf(
  found: readonly Applied[],
  records: { get(key: string): OwnerRecord | undefined },
  isWanted: (key: string) => boolean,
  limits: DeletionLimits,
  /** How many went by earlier looks: a budget can't be used twice. */
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

/** What is left alone, as the node tells of it: until it is released by the token, or deleted by hand. */
export function heldRemovals(kept: AppliedInventory['kept'], sinceMs: number): HeldRows | undefined {
  if (kept.size === 0) return undefined;
  const keys = [...kept.keys()].sort();
  const token = Buffer.from(hash128(keys.join(' ')))
    .toString('hex')
    .slice(0, 12);
  return { token, sinceMs, entries: keys.length, sample: keys.slice(0, sampleMax) };
}

/** Another store has applied it since. */
function isOtherContent({ content }: Applied, { bodyHash }: OwnerRecord): boolean {
  return content !== undefined && content !== bodyHash;
}

/** What the cluster made of it this store does not know: it is applied anew, or compared where what somebody has changed is to be left. */
function recordOf({ uid, source, created, deletion, content }: Applied, before: OwnerRecord | undefined): OwnerRecord {
  const how = deletion === undefined ? {} : { deletion };
  return { placements: [], ...before, source, uid, created, bodyHash: content ?? '', fingerprint: '', ...how };
}

/** A cluster may serve one object under several groups (`events`, `ingresses`): it is the one by which it is known here. */
function onceByUid(found: readonly Applied[], isKnown: (key: string) => boolean): [string, Applied][] {
  const byUid = new Map<string, [string, Applied]>();
  for (const one of found) {
    const key = formatKey(one.key);
    const before = byUid.get(one.uid);
    if (!before || (!isKnown(before[0]) && isKnown(key))) byUid.set(one.uid, [key, one]);
  }
  return [...byUid.values()];
}
