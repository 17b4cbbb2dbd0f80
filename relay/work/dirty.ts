/**
 * The work that the scheduler has to do: keys, never values. A key is written in the transaction of the change that makes it dirty. So a crash loses no work,
 * ten changes of one object are one piece of work, and the scheduler reads the state at the time of the work.
 */
import { asText, concat, prefixRange, readU32, text, u32 } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import { workTopic } from './topics.ts';

/**
 * The numbers are append-only. Their order is not the order of the work, which is in the scheduler: a target goes out only when no other class has work left.
 */
export const workClass = {
  space: 1,
  child: 2,
  row: 3,
  placement: 4,
  match: 5,
  target: 6,
  auxiliary: 7,
  shipment: 8,
  exposure: 9,
  move: 10,
  inventory: 11,
  aim: 12,
} as const;
export type WorkClass = keyof typeof workClass;

const classOf = new Map(Object.entries(workClass).map(([name, number]) => [number as number, name as WorkClass]));

export interface ScheduleWork {
  readonly key: string;
  /** Facts about the past that the present state no longer shows. For a row: the placements that wanted the row when the scheduler last processed it. */
  readonly refs: readonly string[];
  /** The newest origin revision among the changes. */
  readonly originRevision: number;
}

interface DirtyRecord {
  readonly refs: readonly string[];
  readonly originRevision: number;
}

export function markDirty(
  t: Transaction,
  in_: WorkClass,
  key: string,
  refs: readonly string[] = [],
  originRevision = 0,
): void {
  const at = rowKey(in_, key);
  const bytes = t.get(at);
  const before: DirtyRecord = bytes ? JSON.parse(asText(bytes)) : { refs: [], originRevision: 0 };
  const record: DirtyRecord = {
    refs: [...new Set([...before.refs, ...refs])].sort(),
    originRevision: Math.max(before.originRevision, originRevision),
  };
  t.put(at, text(JSON.stringify(record)));
  // A space announces its own work, with the time for which the work may wait for more work.
  if (in_ !== 'space') t.announce(workTopic, 0);
}

export function clearDirty(t: Transaction, in_: WorkClass, key: string): void {
  t.remove(rowKey(in_, key));
}

export function isDirty(reader: Reader, in_: WorkClass, key: string): boolean {
  return reader.get(rowKey(in_, key)) !== undefined;
}

/**
 * Returns true while the scheduler has not processed the newest form of a placement. After a start, this form may be in memory already, while the counts of the
 * children belong to an older form. Until the work is done, no report and no decision may combine the two. When the work is done, the node reports.
 */
export function isBeingScheduled(reader: Reader, id: string): boolean {
  if ((['placement', 'target'] as const).some((in_) => isDirty(reader, in_, id))) return true;
  return dirtyWork(reader, 'aim', 1, `${id} `).length > 0;
}

/**
 * Returns the classes that have work, except spaces. The number of scans is the number of classes with work, plus one. To scan every class would usually find
 * nothing.
 */
export function dirtyClasses(reader: Reader): Set<WorkClass> {
  const prefix = prefixOf('dirty');
  const { to } = prefixRange(prefix);
  const found = new Set<WorkClass>();
  for (let from = workClass.space + 1; ; ) {
    const [first] = reader.scan({ from: concat(prefix, u32(from)), to, limit: 1 });
    if (!first) return found;
    const number = readU32(first[0], prefix.length);
    const name = classOf.get(number);
    if (name) found.add(name);
    from = number + 1;
  }
}

/** Returns up to `limit` pieces of work of one class whose keys begin with `under`. */
export function dirtyWork(reader: Reader, in_: WorkClass, limit: number, under = ''): ScheduleWork[] {
  const prefix = concat(prefixOf('dirty'), u32(workClass[in_]));
  const work: ScheduleWork[] = [];
  for (const [key, value] of reader.scan({ ...prefixRange(concat(prefix, text(under))), limit })) {
    work.push({ key: asText(key.subarray(prefix.length)), ...(JSON.parse(asText(value)) as DirtyRecord) });
  }
  return work;
}

function rowKey(in_: WorkClass, key: string): Uint8Array {
  return concat(prefixOf('dirty'), u32(workClass[in_]), text(key));
}
