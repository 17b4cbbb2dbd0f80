/** An own space as the guard sees it: its store incarnations, and the table of the rows that it contributes. */
import type { EmbeddedStorage } from '../../core/apiserver/storage/embedded.ts';
import type { RevisionGap } from '../../core/apiserver/storage/history.ts';
import type { LocalTable } from '../../core/feed/table.ts';
import type { Transaction } from '../../core/store/store.ts';
import { noteSourceChange } from '../schedule/source-changes.ts';

/** A space of this node whose objects travel. */
export interface OriginSpace {
  readonly source: string;
  revision(): number;
  gaps(): readonly RevisionGap[];
  /** Raises the space's revision above `revision`. The rows of this store incarnation are sent again with the new revision. */
  raise(t: Transaction, revision: number): void;
}

export function originSpaceOf(source: string, storage: EmbeddedStorage, table: LocalTable): OriginSpace {
  return {
    source,
    revision: () => storage.revision(),
    gaps: () => storage.gaps(),
    raise(t, seen) {
      const from = storage.gaps().at(-1)?.[1] ?? 0;
      const revision = seen + 1;
      storage.raise(t, revision);
      restamp(t, table, from, revision);
    },
  };
}

/**
 * Sends the rows of this store incarnation again under a new revision. Nodes below ignored these rows, because they have newer revisions of the same rows. This
 * reads the whole table. It happens once for each loss of data after which the clock was below a lost revision.
 */
function restamp(t: Transaction, table: LocalTable, from: number, revision: number): void {
  for (const row of [...table.rows(t)]) {
    if (!row.content || row.originRevision < from) continue;
    const content = table.content(t, row.content);
    table.restamp(t, row, revision);
    noteSourceChange(t, {
      keyHash: row.keyHash,
      key: content.key,
      originRevision: revision,
      before: content,
      after: content,
    });
  }
}
