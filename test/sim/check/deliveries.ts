/** The rows that a commit delivers to a destination: in the destination's own store, or in its mailbox. */
import type { MemoryStore } from '../../../core/store/memory/memory-store.ts';
import type { Change } from '../disk.ts';
import type { Host } from '../host.ts';
import type { World } from '../world.ts';
import { type ContentSeen, isIn, Rows, rowOf, tableIdOf } from './rows.ts';

export interface RowWritten extends ContentSeen {
  readonly table: string;
}

/** Returns the rows whose content has changed. */
export function rowsWritten(host: Host, changes: readonly Change[], before: MemoryStore): RowWritten[] {
  const found: RowWritten[] = [];
  Rows.of(host.rows, (rows) => {
    let tables: Map<number, string> | undefined;
    for (const { key, value } of changes) {
      const content = isIn(key, 'tableRow') && value ? rowOf(value).content : undefined;
      if (content === undefined) continue;
      const formerBytes = before.read((reader) => reader.get(key));
      if (formerBytes && rowOf(formerBytes).content === content) continue;
      const seen = rows.content(content);
      tables ??= rows.tables();
      if (seen) found.push({ ...seen, table: tables.get(tableIdOf(key)) ?? '' });
    }
  });
  return found;
}

/** The destination that has a table, or whose parent has the table for it. */
export function destinationOf(world: World, host: Host, table: string): string | undefined {
  if (host.role === 'agent') return table === 'upstream' ? host.path : undefined;
  if (!table.startsWith('mailbox/')) return undefined;
  const path = pathBelow(host, table.slice('mailbox/'.length));
  return world.hosts.get(path)?.role === 'agent' ? path : undefined;
}

export function pathBelow({ path }: Host, child: string): string {
  return path === '' ? child : `${path}:${child}`;
}
