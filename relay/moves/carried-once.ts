/**
 * The placements of a space that carry a volume which only one node at a time may write. The store has a row for each object with such a volume and each
 * placement that selects the object. Strategy Auto asks for the result at each change of a placement. With these rows, it does not have to read all objects of
 * the placement.
 */
import { carriesOnce } from '../../core/move/carries-once.ts';
import { formatKey, type ObjectKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';

const nul = Buffer.of(0);

/**
 * Call it when an object or the placements that select it have changed. Returns the placements that began or ceased to carry a volume because of this object.
 */
export function noteCarriesOnce(
  t: Transaction,
  source: string,
  key: ObjectKey,
  object: KubeObject | undefined,
  placements: readonly string[],
): string[] {
  const name = formatKey(key);
  const at = concat(prefixOf('carriesOnce'), text(source), nul, text('by'), nul, text(name));
  const stored = t.get(at);
  const before = stored ? (JSON.parse(asText(stored)) as string[]) : [];
  const after = object && carriesOnce(object) ? [...placements].sort() : [];
  const added = after.filter((placement) => !before.includes(placement));
  const removed = before.filter((placement) => !after.includes(placement));
  for (const placement of added) t.put(concat(ofPlacement(source, placement), text(name)), new Uint8Array(0));
  for (const placement of removed) t.remove(concat(ofPlacement(source, placement), text(name)));
  if (added.length + removed.length === 0) return [];
  if (after.length > 0) t.put(at, text(JSON.stringify(after)));
  else t.remove(at);
  return [...added, ...removed];
}

export function carriesAnyOnce(reader: Reader, source: string, placement: string): boolean {
  const range = prefixRange(ofPlacement(source, placement));
  return !reader
    .scan({ ...range, limit: 1 })
    [Symbol.iterator]()
    .next().done;
}

function ofPlacement(source: string, placement: string): Uint8Array {
  return concat(prefixOf('carriesOnce'), text(source), nul, text('of'), nul, text(placement), nul);
}
