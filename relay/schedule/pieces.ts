/** The classes of the scheduler's work in their order, and the piece that comes next: for a node that has to do one at a time. */
import type { Table } from '../../core/feed/feed.ts';
import type { Reader } from '../../core/store/store.ts';
import { dirtyClasses, dirtyWork, type Work, type WorkClass } from './dirty.ts';

/** In this order; between them releases look at what they have kept back. */
export const beforeReleases = ['child', 'auxiliary', 'row', 'placement', 'move'] as const;
export const behindReleases = ['match', 'exposure', 'shipment', 'target', 'aim'] as const;
export type ScheduledClass = (typeof beforeReleases)[number] | (typeof behindReleases)[number];

export interface Piece {
  readonly in: WorkClass;
  readonly work: Work;
  /** For people: the key of the entry that it is about, or what it is. */
  readonly about: string;
}

/** The piece that a step would begin with. */
export function nextPiece(reader: Reader, tableOf: (source: string) => Table | undefined): Piece | undefined {
  const present = dirtyClasses(reader);
  const first = [...beforeReleases, ...behindReleases].find((in_) => present.has(in_));
  const [work] = first ? dirtyWork(reader, first, 1) : [];
  return first && work && { in: first, work, about: about(reader, tableOf, first, work) };
}

function about(
  reader: Reader,
  tableOf: (source: string) => Table | undefined,
  in_: ScheduledClass,
  { key }: Work,
): string {
  if (in_ === 'row' || in_ === 'auxiliary') return key;
  if (in_ !== 'shipment') return `${in_} ${key}`;
  const [source, keyHash, child] = key.split(' ') as [string, string, string];
  const table = tableOf(source);
  const row = table?.get(reader, Buffer.from(keyHash, 'hex'));
  return row?.content && table ? `${table.content(reader, row.content).key} for ${child}` : `${in_} ${key}`;
}
