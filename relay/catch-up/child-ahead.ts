/**
 * Whether a child has seen more of the spaces above than has come to this node. It may, where the parent is one of several: this node had it from another one of
 * them, and lost its store. Told anything before that has come here too, the child would take deleted objects for new ones.
 *
 * What is here is what the parent says is here, as for a node that goes from one sibling to another (core/session/watermark-gate.ts); this node itself has
 * nothing left to compare.
 */

import { reportedSeenRevision, seenSources } from '../../core/entries/source-incarnations.ts';
import type { Table } from '../../core/feed/feed.ts';
import { believed, firstSourceAhead, readWatermarks } from '../../core/session/watermark.ts';
import type { Reader } from '../../core/store/store.ts';

/** In words; undefined: it has not, of any source that this node knows to be above. What the parent has not said anything of yet has not come. */
export function childAhead(reader: Reader, reported: Table | undefined, wallMs: number): string | undefined {
  if (!reported) return undefined;
  const { told } = readWatermarks(reader);
  const all = seenSources(reader).map((source) => [source, reportedSeenRevision(reader, reported, source)] as const);
  const seen = believed(Object.fromEntries(all), wallMs);
  const source = firstSourceAhead(told, seen);
  return source && `${source} is at revision ${told[source] ?? 0} on this node; the child has revision ${seen[source]}`;
}
