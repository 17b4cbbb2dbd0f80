/**
 * Watermarks: the revision up to which a node has received each source. It is a revision of the source's space. If a parent sends watermarks with a head, then
 * the child has everything up to these watermarks when it has the feed up to this head. A child also records its own position in each source: the newest
 * revision of its rows. A child that changes to another replica compares the watermarks of the new replica with its own positions. If the replica is behind,
 * it would make the child delete rows, so the child waits and keeps its rows.
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
  /** The position of this node in each source: the newest revision of its rows. */
  readonly own: Watermarks;
  /** The watermarks of the parent that this node has reached: it has everything up to these revisions. */
  readonly complete: Watermarks;
}

/** The first source whose revision in `more` is higher than in `received`. Undefined: there is none. */
export function firstSourceAhead(received: Watermarks, more: Watermarks): string | undefined {
  return Object.keys(more).find((name) => (received[name] ?? 0) < more[name]!);
}

/** Describes the first source in which the parent is behind. Undefined: the parent is behind in no source. */
export function describeParentLag(parent: Watermarks, own: Watermarks): string | undefined {
  const source = firstSourceAhead(parent, own);
  return source && `${source} is at revision ${parent[source] ?? 0} there, and at ${own[source]} here`;
}

/** The higher revision of each source. Returns the object `before` itself if no revision rises. */
export function raised(before: Watermarks, by: Watermarks): Watermarks {
  const higher = Object.entries(by).filter(([source, revision]) => revision > (before[source] ?? 0));
  return higher.length === 0 ? before : { ...before, ...Object.fromEntries(higher) };
}

/**
 * Removes revisions that no space can have reached yet: this node and nodes below would wait for them for ever. Returns the same object if there are none.
 */
export function believed(marks: Watermarks, wallMs: number): Watermarks {
  const good = Object.entries(marks).filter(([, revision]) => !isFarAhead(revision, wallMs));
  return good.length === Object.keys(marks).length ? marks : Object.fromEntries(good);
}

/** The newest revision of each source in these changes. Only rows with a revision of a space count. */
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
  return bytes ? (JSON.parse(asText(bytes)) as Stored) : { own: {}, complete: {} };
}

/** Raises the stored watermarks. Also removes stored revisions that no space can have reached yet. */
export function raiseWatermarks(t: Transaction, by: Partial<Stored>, wallMs: number): void {
  const before = readWatermarks(t);
  const after = (which: keyof Stored) => raised(believed(before[which], wallMs), by[which] ?? {});
  const [own, complete] = [after('own'), after('complete')];
  if (own === before.own && complete === before.complete) return;
  t.put(prefixOf('watermarks'), text(JSON.stringify({ own, complete })));
}
