/** One entry of a table, found by the entry's key. */
import { hash128 } from '../object/hash.ts';
import type { Reader } from '../store/store.ts';
import type { Content, Table } from './feed.ts';

/** Undefined: the table has no such entry, or there is no table. */
export function entryContent(
  reader: Reader,
  table: Pick<Table, 'get' | 'content'> | undefined,
  key: string,
): Content | undefined {
  const row = table?.get(reader, hash128(key));
  return table && row?.content && table.content(reader, row.content);
}
