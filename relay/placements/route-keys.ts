/**
 * The keys that decide whether a placement reaches a child. A change of a child concerns the placements that name a changed key, and no others. `labels/K`,
 * `properties/K` and `targetLabels/K` name one key, `labels/*` a whole map, and `*` everything else.
 */
import { sectionOf } from '../../core/match/summary-match.ts';
import { requirementsOf } from '../../core/object/selector.ts';
import { compiledExpression } from './location-expression.ts';
import type { Placement } from './placement.ts';

/** The maps of a destination whose keys are compared one by one. */
export const routeSections = ['labels', 'properties', 'targetLabels'] as const;
export type RouteSection = (typeof routeSections)[number];

/** Returns the keys that a placement names. A placement without keys depends only on whether there is a destination. */
export function routeKeysOf(placement: Placement): ReadonlySet<string> {
  const { locationSelectors, locationExpression, waveSelectors = [] } = placement;
  const keys = new Set<string>();
  for (const selector of [...locationSelectors, ...waveSelectors])
    for (const { key } of requirementsOf(selector)) keys.add(`labels/${key}`);
  const expression = locationExpression === undefined ? undefined : compiledExpression(locationExpression);
  if (expression === undefined || expression === 'unreadable') return keys;
  for (const path of expression.reads) {
    const { section, key } = sectionOf(path) ?? {};
    if (section) keys.add(`${section}/${key ?? '*'}`);
    // `path` needs no key, because the path of a child never changes. Other names are variables of macros, and the values of a macro come from another path.
    else if (path[0] === 'location' || path[0] === 'syncTarget') keys.add('*');
  }
  return keys;
}
