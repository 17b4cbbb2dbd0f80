/**
 * Finds out whether a child has received more of the spaces above than this node. This can happen below replicas: this node received the sources from one
 * replica, lost its store, and attached to another replica that is behind. If this node sent anything before it has received as much as the child, the child
 * would treat objects that were deleted in between as new.
 *
 * The parent's watermarks show how much this node has received, as for a node that goes from one replica to another (core/session/watermark-gate.ts). But this
 * node lost its own earlier watermarks with the store. So it compares the parent's watermarks with the child's reports.
 */

import { reportedSeenRevision, seenSources } from '../../core/entries/source-incarnations.ts';
import type { Table } from '../../core/feed/feed.ts';
import { believed, firstSourceAhead, readWatermarks } from '../../core/session/watermark.ts';
import type { Reader } from '../../core/store/store.ts';

/**
 * Returns a message that names a source of which the child has received more. Undefined: there is none among the sources that this node knows to be above it. A
 * source for which the parent has sent no watermark counts as not received.
 */
export function childAhead(reader: Reader, reported: Table | undefined, wallMs: number): string | undefined {
  if (!reported) return undefined;
  const { complete } = readWatermarks(reader);
  const all = seenSources(reader).map((source) => [source, reportedSeenRevision(reader, reported, source)] as const);
  const seen = believed(Object.fromEntries(all), wallMs);
  const source = firstSourceAhead(complete, seen);
  return (
    source && `${source} is at revision ${complete[source] ?? 0} on this node; the child has revision ${seen[source]}`
  );
}
