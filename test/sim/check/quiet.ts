/**
 * Invariant 7 for a whole tree: a producer that is not ready deletes nothing by absence. While nobody writes anything, no fault takes a delivered object from
 * an agent: neither its row, nor the object on its cluster.
 */
import { isStagedNamespace, isStagedObject } from '../model/releases.ts';
import type { Check, World } from '../world.ts';
import { isIn, Rows, rowOf, tableIdOf } from './rows.ts';

type IsLate = (path: string, entry: string) => boolean;

/** `isLate`: whether an agent may still lose the entry because of an earlier request. */
export function quiet(world: World): Check & { begin(isLate?: IsLate): void; end(): void } {
  const name = 'faults alone delete nothing';
  let isOn = false;
  let isLate: IsLate | undefined;
  return {
    name,
    begin(late) {
      isOn = true;
      isLate = late;
    },
    end() {
      isOn = false;
    },
    committed(host, changes, before) {
      if (!isOn || host.role !== 'agent' || host.isClone) return;
      Rows.of(before, (rows) => {
        const upstream = rows.table('upstream');
        for (const { key, value } of changes) {
          if (value !== undefined || !isIn(key, 'tableRow') || tableIdOf(key) !== upstream) continue;
          const formerBytes = before.read((reader) => reader.get(key));
          const content = formerBytes && rowOf(formerBytes).content;
          if (content === undefined) continue;
          const entry = rows.keyOf(content);
          // A release may end by itself and be rolled back, together with the namespace that was brought for its objects.
          if (!entry.startsWith('o/') || isStagedObject(entry) || isStagedNamespace(entry)) continue;
          if (!isLate?.(host.path, entry)) world.violation(name, `${host.title} loses ${entry}`);
        }
      });
    },
  };
}
