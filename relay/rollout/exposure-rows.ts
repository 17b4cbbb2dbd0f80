/**
 * The rows about releases that a last hop needs after a restart: to which agents a release was handed, and which rows are kept back until the node knows a
 * release completely.
 */

import type { PlacementId } from '../../core/entries/placement-id.ts';
import { asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader } from '../../core/store/store.ts';

const nul = Buffer.of(0);

export function storedExposures(reader: Reader, id: PlacementId): Map<string, number> {
  const prefix = exposureKey(id, '');
  const stored = [...reader.scan(prefixRange(prefix))].map(([key, value]): [string, number] => [
    asText(key.subarray(prefix.length)),
    (JSON.parse(asText(value)) as { release: number }).release,
  ]);
  return new Map(stored);
}

export function exposureKey(id: PlacementId, child: string): Uint8Array {
  return concat(prefixOf('exposure'), text(id), nul, text(child));
}

export function withheldRows(reader: Reader, id: PlacementId): string[] {
  const prefix = withheldKey(id, '');
  return [...reader.scan(prefixRange(prefix))].map(([key]) => asText(key.subarray(prefix.length)));
}

export function withheldKey(id: PlacementId, key: string): Uint8Array {
  return concat(prefixOf('withheld'), text(id), nul, text(key));
}
