/**
 * Watermarks: how far a node has come with each source, in revisions of the source's space. What a parent tells with a head covers all that it has sent up
 * to there; what a child has taken of a source is at most its own position. A child that goes from one sibling to another compares the two: one that
 * is behind would take back what the child has, so the child waits, and keeps what it has.
 */

import { sourceOfEntry } from '../entries/source-incarnations.ts';
import { isFarAhead } from '../feed/far-ahead.ts';
import type { AppliedChange } from '../feed/feed.ts';
import { asText, text } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';

/** Source -> revision. */
export type Watermarks = Readonly<Record<string, number>>;

interface Stored {
  /** The newest revision of each source of which something was taken. */
  readonly own: Watermarks;
  /** All up to here is stored, by the word of the parent. */
  readonly told: Watermarks;
}

/** The first source of which there is more than has come so far. */
export function firstSourceAhead(come: Watermarks, more: Watermarks): string | undefined {
  return Object.keys(more).find((name) => (come[name] ?? 0) < more[name]!);
}

/** In words, the first source with which a parent is behind. */
export function describeParentLag(parent: Watermarks, own: Watermarks): string | undefined {
  const source = firstSourceAhead(parent, own);
  return source && `${source} is at revision ${parent[source] ?? 0} there, and at ${own[source]} here`;
}

/** Never less than before; the same object when nothing is more. */
export function raised(before: Watermarks, by: Watermarks): Watermarks {
  const more = Object.entries(by).filter(([source, revision]) => revision > (before[source] ?? 0));
  return more.length === 0 ? before : { ...before, ...Object.fromEntries(more) };
}

/** Without what no space can have given by now: it would be waited for in vain, here and below, for good. The same object when there is nothing of it. */
export function believed(marks: Watermarks, wallMs: number): Watermarks {
  const good = Object.entries(marks).filter(([, revision]) => !isFarAhead(revision, wallMs));
  return good.length === Object.keys(marks).length ? marks : Object.fromEntries(good);
}

/** Of rows whose revision is one of their source's space. */
export function positionsOf(changes: readonly AppliedChange[], wallMs: number): Watermarks {
  const positions: Record<string, number> = {};
  for (const { key, originRevision } of changes) {
    const source = sourceOfEntry(key);
    if (originRevision === 0 || isFarAhead(originRevision, wallMs) || source === undefined) continue;
    positions[source] = Math.max(positions[source] ?? 0, originRevision);
  }
  return positions;
}

export function readWatermarks(reader: Reader): Stored {
  const bytes = reader.get(prefixOf('watermarks'));
  return bytes ? (JSON.parse(asText(bytes)) as Stored) : { own: {}, told: {} };
}

/** What was stored before and can't be believed goes with it. */
export function raiseWatermarks(t: Transaction, by: Partial<Stored>, wallMs: number): void {
  const before = readWatermarks(t);
  const after = (which: keyof Stored) => raised(believed(before[which], wallMs), by[which] ?? {});
  const [own, told] = [after('own'), after('told')];
  if (own === before.own && told === before.told) return;
  t.put(prefixOf('watermarks'), text(JSON.stringify({ own, told })));
}
