/** Writes the rows of a source for its space. Each change of a row is announced in its transaction, with the previous content. */
import type { AppliedChange, Content, Table } from '../../core/feed/feed.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { Transaction } from '../../core/store/store.ts';

/** A source table with its write methods: `LocalTable` of core/feed. */
export interface SourceTable extends Table {
  put(t: Transaction, content: Content, originRevision: number): boolean;
  remove(t: Transaction, keyHash: Uint8Array): boolean;
}

export interface SourceRows {
  readonly table: SourceTable;
  /** Called for each changed row of the table, in the transaction of the change. */
  noteChange(t: Transaction, change: AppliedChange): void;
}

/** Writes the row. Returns false if the row has this content already. */
export function putRow(t: Transaction, rows: SourceRows, after: Content, originRevision: number): boolean {
  const { table } = rows;
  const { key } = after;
  const keyHash = hash128(key);
  const before = table.get(t, keyHash)?.content;
  const beforeContent = before && table.content(t, before);
  if (!table.put(t, after, originRevision)) return false;
  const former = beforeContent ? { before: beforeContent } : {};
  rows.noteChange(t, { keyHash, key, originRevision, after, ...former });
  return true;
}

/** Removes the row. Returns false if there is no such row. */
export function dropRow(t: Transaction, rows: SourceRows, key: string, originRevision: number): boolean {
  const { table } = rows;
  const keyHash = hash128(key);
  const row = table.get(t, keyHash);
  if (!row?.content) return false;
  const before = table.content(t, row.content);
  table.remove(t, keyHash);
  rows.noteChange(t, { keyHash, key, originRevision, before });
  return true;
}
