/**
 * Watermarks: how far a node has received each source, in revisions of the source's space. The watermarks that a parent sends with a head cover everything
 * that the parent has sent up to this head. The rows that a child has of a source are never newer than the child's own position. A child that goes from one
 * replica to another compares the watermarks of the new replica with its own positions. A replica that is behind would take rows away from the child, so the
 * child waits, and keeps its rows.
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
  /** The newest revision that this node has of each source. */
  readonly own: Watermarks;
  /** This node has everything up to these revisions, by the watermarks of the parent. */
  readonly complete: Watermarks;
}

/** The first source with a higher revision in `more` than in `received`. */
export function firstSourceAhead(received: Watermarks, more: Watermarks): string | undefined {
  return Object.keys(more).find((name) => (received[name] ?? 0) < more[name]!);
}

/** The first source with which a parent is behind, as a text. */
export function describeParentLag(parent: Watermarks, own: Watermarks): string | undefined {
  const source = firstSourceAhead(parent, own);
  return source && `${source} is at revision ${parent[source] ?? 0} there, and at ${own[source]} here`;
}

/** The higher revision of each source. The same object if nothing rises. */
export function raised(before: Watermarks, by: Watermarks): Watermarks {
  const higher = Object.entries(by).filter(([source, revision]) => revision > (before[source] ?? 0));
  return higher.length === 0 ? before : { ...before, ...Object.fromEntries(higher) };
}

/** Without revisions that no space can have given by now: nodes here and below would wait for such a revision for ever. The same object if there are none. */
export function believed(marks: Watermarks, wallMs: number): Watermarks {
  const good = Object.entries(marks).filter(([, revision]) => !isFarAhead(revision, wallMs));
  return good.length === Object.keys(marks).length ? marks : Object.fromEntries(good);
}

/** The newest revision of each source, from rows whose revision is one of their source's space. */
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

/** Also removes stored revisions that cannot be true. */
export function raiseWatermarks(t: Transaction, by: Partial<Stored>, wallMs: number): void {
  const before = readWatermarks(t);
  const after = (which: keyof Stored) => raised(believed(before[which], wallMs), by[which] ?? {});
  const [own, complete] = [after('own'), after('complete')];
  if (own === before.own && complete === before.complete) return;
  t.put(prefixOf('watermarks'), text(JSON.stringify({ own, complete })));
}
