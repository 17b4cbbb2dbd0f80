/**
 * The part of a child's label summary that the child may claim. Labels and properties beyond the bounds are left out, as if the child had not reported them,
 * and are listed for people. The labels of the child's own path are those of its certificate.
 */

import type { Labels } from '../object/selector.ts';
import { compareText } from '../object/text-order.ts';
import { type KeySummaries, type KeySummary, restrictedKey } from './key-summary.ts';
import { type LabelSet, type LabelSummary, type LocationLabels, mergeLabelSummaries } from './label-summary.ts';
import type { ClaimSection, SummaryBounds } from './summary-bounds.ts';

/** Claims that have no effect, sorted: `label clearance=top`. */
export interface RefusedClaims {
  readonly count: number;
  readonly sample: readonly string[];
}

/** Limit for the refused claims that a condition names: two lines to read. */
const sampleMax = 5;

export interface AllowedSummary {
  readonly summary: LabelSummary;
  readonly refused: RefusedClaims;
}

export function allowedSummary(reported: LabelSummary, bounds: SummaryBounds): AllowedSummary {
  const refused = new Refusals();
  const summary = reported.sets
    ? mergeLabelSummaries([{ ...reported, sets: reported.sets.map((set) => allowedSet(set, bounds, refused)) }])
    : allowedKeyed(reported, bounds, refused);
  return { summary: { ...summary, bounds }, refused: refused.all() };
}

class Refusals {
  readonly #texts = new Set<string>();

  add(section: ClaimSection, key: string, value: string | undefined): void {
    const what = section === 'properties' ? 'property' : section === 'labels' ? 'label' : 'label of a SyncTarget';
    this.#texts.add(value === undefined ? `${what} ${key}` : `${what} ${key}=${value}`);
  }

  all(): RefusedClaims {
    return { count: this.#texts.size, sample: [...this.#texts].sort(compareText).slice(0, sampleMax) };
  }
}

// -------------------------------------------------------------------------------------------------- exact sets

function allowedSet(set: LabelSet, bounds: SummaryBounds, refused: Refusals): LabelSet {
  const { others, leaves, cordoned } = set;
  return {
    ...allowedPlace(set, bounds, refused),
    leaves,
    ...(others ? { others: others.map((place) => allowedPlace(place, bounds, refused)) } : {}),
    ...(cordoned ? { cordoned } : {}),
  };
}

function allowedPlace(place: LocationLabels, bounds: SummaryBounds, refused: Refusals): LocationLabels {
  const { labels, properties, targetLabels } = place;
  return {
    labels: { ...allowedValues('labels', labels, bounds, refused), ...bounds.pathLabels },
    ...(properties ? { properties: allowedValues('properties', properties, bounds, refused) } : {}),
    ...(targetLabels ? { targetLabels: allowedValues('targetLabels', targetLabels, bounds, refused) } : {}),
  };
}

function allowedValues(section: ClaimSection, values: Labels, bounds: SummaryBounds, refused: Refusals): Labels {
  return Object.fromEntries(
    Object.entries(values).filter(([key, value]) => {
      const isAllowed = bounds.allows(section, key, value);
      if (!isAllowed) refused.add(section, key, value);
      return isAllowed;
    }),
  );
}

// ----------------------------------------------------------------------------------------------- keys one by one

/**
 * A key whose values are not in the summary stays, if the child may claim at least one value: the bounds decide when a placement asks for a value
 * (summary-match.ts).
 */
function allowedKeyed(reported: LabelSummary, bounds: SummaryBounds, refused: Refusals): LabelSummary {
  const places = reported.places ?? reported.leaves;
  const { keys = {}, properties, targetLabels } = reported;
  const own = Object.entries(bounds.pathLabels).map(([key, value]): [string, KeySummary] => [
    key,
    { present: places, values: { [value]: places }, complete: true },
  ]);
  return {
    ...reported,
    keys: { ...allowedKeys('labels', keys, bounds, refused), ...Object.fromEntries(own) },
    ...(properties ? { properties: allowedKeys('properties', properties, bounds, refused) } : {}),
    ...(targetLabels ? { targetLabels: allowedKeys('targetLabels', targetLabels, bounds, refused) } : {}),
  };
}

function allowedKeys(
  section: ClaimSection,
  keys: KeySummaries,
  bounds: SummaryBounds,
  refused: Refusals,
): KeySummaries {
  const allowed: Record<string, KeySummary> = {};
  for (const [key, one] of Object.entries(keys)) {
    const kept = one.complete
      ? restrictedKey(one, (value) => {
          const isAllowed = bounds.allows(section, key, value);
          if (!isAllowed) refused.add(section, key, value);
          return isAllowed;
        })
      : one;
    const values = bounds.valuesOf(section, key);
    if (values !== 'any' && values.size === 0) refused.add(section, key, undefined);
    else if (kept) allowed[key] = kept;
  }
  return allowed;
}
