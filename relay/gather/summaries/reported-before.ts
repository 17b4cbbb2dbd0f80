/**
 * Finds the reports about placements that earlier runs of the process made to the parent. When a placement is removed, the scheduler forgets the placement in
 * one commit, and a later commit takes the reports back. If the process ends between the two commits, the reports stay in the outbox. Only this function finds
 * them, at the next start.
 */

import { parseEntryKey } from '../../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../../core/entries/placement-id.ts';
import type { Producer } from '../../../core/feed/feed.ts';
import type { ObjectKey } from '../../../core/object/key.ts';
import type { Reader } from '../../../core/store/store.ts';
import type { SummaryId } from './summary-writer.ts';

export interface ReportedBefore {
  readonly placements: ReadonlySet<PlacementId>;
  readonly summaries: readonly SummaryId[];
  readonly aggregates: readonly { readonly source: string; readonly object: ObjectKey }[];
}

/** Reads the outbox once. */
export function reportedBefore(reader: Reader, outbox: Producer): ReportedBefore {
  const placements = new Set<PlacementId>();
  const summaries: SummaryId[] = [];
  const aggregates: { source: string; object: ObjectKey }[] = [];
  for (const row of outbox.rows(reader)) {
    const entry = parseEntryKey(outbox.content(reader, row.content!).key);
    if (entry?.type === 'partial') placements.add(entry.id);
    if (entry?.type === 'aggregate') aggregates.push({ source: entry.source, object: entry.object });
    if (entry?.type === 'summary') summaries.push({ id: entry.id, name: entry.summarizer });
  }
  return { placements, summaries, aggregates };
}
