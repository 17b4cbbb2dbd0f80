/**
 * What earlier lives of the process have told the parent of placements. A placement may have gone without a word of that: the scheduler forgets it in one
 * commit, and what was told is taken back in a later one. At a start nobody else would think of it any more.
 */

import { parseEntryKey } from '../../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../../core/entries/placement-id.ts';
import type { Producer } from '../../../core/feed/feed.ts';
import type { Reader } from '../../../core/store/store.ts';
import type { SummaryId } from './summary-writer.ts';

export interface ReportedBefore {
  readonly placements: ReadonlySet<PlacementId>;
  readonly summaries: readonly SummaryId[];
}

/** One pass over the outbox. Exact statuses have a record of their own. */
export function reportedBefore(reader: Reader, outbox: Producer): ReportedBefore {
  const placements = new Set<PlacementId>();
  const summaries: SummaryId[] = [];
  for (const row of outbox.rows(reader)) {
    const entry = parseEntryKey(outbox.content(reader, row.content!).key);
    if (entry?.type === 'partial') placements.add(entry.id);
    if (entry?.type === 'summary') summaries.push({ id: entry.id, name: entry.summarizer });
  }
  return { placements, summaries };
}
