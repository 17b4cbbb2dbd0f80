/**
 * What decides whether a placement reaches a child, as keys: a change of a child concerns the placements that name a key which changed, and
 * no other. `labels/K`, `properties/K` and `targetLabels/K` name one key; `labels/*` all of a map, and `*` what is in none of these.
 */
import { sectionOf } from '../../core/match/summary-match.ts';
import { requirementsOf } from '../../core/object/selector.ts';
import { compiledExpression } from './location-expression.ts';
import type { Placement } from './placement.ts';

/** Maps of a destination whose keys count one by one. */
export const routeSections = ['labels', 'properties', 'targetLabels'] as const;
export type RouteSection = (typeof routeSections)[number];

/** The keys that a placement names. One that names none asks only whether there is a destination at all. */
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
    // A child's path never changes; other names are bound by macros, over what is read elsewhere.
    else if (path[0] === 'location' || path[0] === 'syncTarget') keys.add('*');
  }
  return keys;
}
