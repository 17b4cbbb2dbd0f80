/** Objects whose entries are quarantined, and the reports about these objects in states and partials. */
import type { CrashGuard } from '../../core/crash/crash-guard.ts';
import { crashReason } from '../../core/crash/crash-marks.ts';
import { entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import { type PlacementId, placementId } from '../../core/entries/placement-id.ts';
import type { StateAttributes } from '../../core/entries/up-attributes.ts';
import type { Quarantined } from '../../core/feed/quarantine.ts';
import { formatKey, type ObjectKey, parseKey } from '../../core/object/key.ts';
import { type Failure, type Partial, smallestFailures } from '../../core/summary/partial.ts';

interface PoisonedObject extends Quarantined {
  readonly source: string;
  readonly object: ObjectKey;
  readonly placements: readonly PlacementId[];
}

/** The reports that the agent has to make again. */
export interface PoisonedChange {
  readonly states: readonly { readonly source: string; readonly object: ObjectKey }[];
  readonly placements: ReadonlySet<PlacementId>;
}

/** An index of the quarantined objects. There are few such objects, so each change builds the whole index again. */
export class Poisoned {
  #bySource = new Map<string, PoisonedObject>();
  #byPlacement = new Map<PlacementId, PoisonedObject[]>();

  /** `formerPlacements` returns the placements of the last valid form of an object. */
  set(
    all: readonly Quarantined[],
    formerPlacements: (source: string, key: string) => readonly PlacementId[],
  ): PoisonedChange {
    const before = this.#bySource;
    this.#bySource = new Map();
    for (const one of all) {
      const entry = parseEntryKey(one.key);
      if (entry?.type !== 'object') continue;
      const { source, object } = entry;
      const named = one.refs?.map((name) => placementId(source, name));
      const placements = named ?? formerPlacements(source, formatKey(object));
      this.#bySource.set(idOf(source, formatKey(object)), { ...one, source, object, placements });
    }
    this.#byPlacement = byPlacement(this.#bySource.values());
    const concerned = [...before.values(), ...this.#bySource.values()];
    return { states: concerned, placements: new Set(concerned.flatMap(({ placements }) => placements)) };
  }

  of(source: string, key: string): Quarantined | undefined {
    return this.#bySource.get(idOf(source, key));
  }

  ofPlacement(id: PlacementId): readonly PoisonedObject[] {
    return this.#byPlacement.get(id) ?? [];
  }
}

/** The objects whose work has ended the process repeatedly, in the form of quarantined entries. */
export function deadlyObjects(
  crashes: CrashGuard,
  deliveryOf: (key: string) => { readonly source: string; readonly revision: number } | undefined,
): Quarantined[] {
  return Array.from(crashes.quarantined(), ([key, mark]) => {
    const { source = 'nobody', revision = 0 } = deliveryOf(key) ?? {};
    return { key: entryKey.object(source, parseKey(key)), originRevision: revision, reason: crashReason(mark) };
  });
}

export function poisonedState({ originRevision, reason }: Quarantined): StateAttributes {
  return { desired: originRevision, applied: false, available: false, reason: poisonedReason, message: reason };
}

/** Adds the quarantined objects to a partial. A destination that could not accept all entries is neither fresh nor available. */
export function withPoisoned(partial: Partial, path: string, objects: readonly PoisonedObject[]): Partial {
  if (objects.length === 0) return partial;
  const flaws = objects.map(
    ({ object, reason }): Failure => ({ path, object: formatKey(object), reason: poisonedReason, message: reason }),
  );
  return {
    ...partial,
    counts: { ...partial.counts, fresh: 0, quarantined: 1, applied: 0, available: 0 },
    failures: smallestFailures(partial.failures, flaws),
  };
}

const poisonedReason = 'Poisoned';

function byPlacement(objects: Iterable<PoisonedObject>): Map<PlacementId, PoisonedObject[]> {
  const found = new Map<PlacementId, PoisonedObject[]>();
  for (const one of objects) {
    for (const id of one.placements) {
      const ofPlacement = found.get(id);
      if (ofPlacement) ofPlacement.push(one);
      else found.set(id, [one]);
    }
  }
  return found;
}

function idOf(source: string, key: string): string {
  return `${source}\n${key}`;
}
