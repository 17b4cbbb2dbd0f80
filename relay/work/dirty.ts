/**
 * What the scheduler has yet to look at: keys, never values, written in the transaction of the change that made them
 * dirty. So a crash loses no work, ten changes of one object are one piece of work, and the worker reads the state as it is then.
 */
import { asText, concat, prefixRange, readU32, text, u32 } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import { workTopic } from './topics.ts';

/** Append-only numbers; the scheduler has the order: a target goes out only when nothing of the others is left. */
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
  /** What the worker needs of the past: for a row, the placements that wanted it when it was last looked at. */
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
  // A space announces its own work, with the time that the work may wait for company.
  if (in_ !== 'space') t.announce(workTopic, 0);
}

export function clearDirty(t: Transaction, in_: WorkClass, key: string): void {
  t.remove(rowKey(in_, key));
}

export function isDirty(reader: Reader, in_: WorkClass, key: string): boolean {
  return reader.get(rowKey(in_, key)) !== undefined;
}

/**
 * What a placement says is not worked off yet. At a start it is in memory all the same, and what is known below is of something older: nothing may be
 * told, or decided, of the one by the other. It is told when the work is done.
 */
export function isBeingScheduled(reader: Reader, id: string): boolean {
  if ((['placement', 'target'] as const).some((in_) => isDirty(reader, in_, id))) return true;
  return dirtyWork(reader, 'aim', 1, `${id} `).length > 0;
}

/** The classes in which there is work, without that of spaces: a look for each of them and one more, where a look at every class is many for mostly nothing. */
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

/** Up to `limit` pieces of work of one class, of those whose keys begin with `under`. */
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
