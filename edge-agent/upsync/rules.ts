/**
 * Finds the objects of the cluster that the upsync rules of this agent's placements match, and the parts of these rules that the site rules out. An object matches a
 * placement if it matches one of the placement's items.
 */
import { type PlacementId, splitPlacementId } from '../../core/entries/placement-id.ts';
import { type Acceptance, ruledOut, type ServedKind } from '../../core/match/acceptance.ts';
import { matchesUpsync, type UpsyncItem } from '../../core/match/upsync-item.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import type { Labels } from '../../core/object/selector.ts';

export type UpsyncRules = ReadonlyMap<PlacementId, readonly UpsyncItem[]>;

export interface Taking {
  readonly id: PlacementId;
  /** Center if one of the matching items wants Center. */
  readonly returnTo: 'Parent' | 'Center';
}

/** Returns the placements that take the object, in the order of their ids. */
export function takingPlacements(rules: UpsyncRules, key: ObjectKey, labels: Labels): Taking[] {
  const taking: Taking[] = [];
  for (const [id, items] of rules) {
    const matching = items.filter((item) => matchesUpsync(item, key, labels));
    if (matching.length === 0) continue;
    taking.push({ id, returnTo: matching.some(({ returnTo }) => returnTo === 'Center') ? 'Center' : 'Parent' });
  }
  return taking.sort((a, b) => (a.id < b.id ? -1 : 1));
}

/**
 * The parts of each placement's rules that the site rules out. The result has no placement without such a part. `served`: the resources of the cluster that the rules
 * name, as far as they are known.
 */
export function ruledOutOf(
  rules: UpsyncRules,
  acceptance: Acceptance | undefined,
  served: readonly ServedKind[],
): Map<PlacementId, readonly string[]> {
  const parts = new Map<PlacementId, readonly string[]>();
  for (const [id, items] of rules) {
    const { source } = splitPlacementId(id);
    const ofItems = items.flatMap((item) => ruledOut(acceptance, source, item, served));
    if (ofItems.length > 0) parts.set(id, ofItems);
  }
  return parts;
}
