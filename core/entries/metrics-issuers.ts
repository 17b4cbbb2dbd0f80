/** The entry with the nodes above whose tokens for metrics a node takes, as the node has it from its parent. */

import type { MetricsIssuer } from '../authentication/metrics-tokens.ts';
import { entryContent } from '../feed/entry-content.ts';
import type { Table } from '../feed/feed.ts';
import type { Reader } from '../store/store.ts';
import type { MetricsIssuersAttributes } from './down-attributes.ts';
import { attributesOf, entryKey } from './entry-keys.ts';

/** `table`: the entries from the parent. */
export function metricsIssuersAbove(reader: Reader, table: Table): readonly MetricsIssuer[] {
  const content = entryContent(reader, table, entryKey.metrics());
  return content ? attributesOf<MetricsIssuersAttributes>(content).issuers : [];
}
