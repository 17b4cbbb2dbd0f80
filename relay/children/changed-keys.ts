/** Compares two states of a child and returns the keys that differ, as placements name them (relay/placements/route-keys.ts). */
import { differentKeys, type KeySummaries } from '../../core/match/key-summary.ts';
import { keyedOf, type LabelSet, type LabelSummary, setId } from '../../core/match/label-summary.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import type { Labels } from '../../core/object/selector.ts';
import { type RouteSection, routeSections } from '../placements/route-keys.ts';
import { type Child, type Destination, destinationNameOf } from './children.ts';

/** Returns `all` if the difference concerns all placements, also those that name no key: for example, a destination was added or removed. */
export function changedKeys(before: Child | undefined, after: Child | undefined): ReadonlySet<string> | 'all' {
  if (!before || !after || before.role !== after.role) return 'all';
  if (after.role === 'agent') return changedDestinations(before.destinations, after.destinations);
  const labels = changedLabels(before.labels, after.labels);
  if (!before.counted && !after.counted) return labels;
  // The owned label summary decides how many destinations of the relay a placement counts.
  const counted = changedLabels(before.counted ?? before.labels, after.counted ?? after.labels);
  return labels === 'all' || counted === 'all' ? 'all' : new Set([...labels, ...counted]);
}

function changedLabels(before: LabelSummary | undefined, after: LabelSummary | undefined): Set<string> | 'all' {
  if (before === after) return new Set();
  return before && after ? changedSummary(before, after) : 'all';
}

function changedDestinations(before: readonly Destination[], after: readonly Destination[]): Set<string> | 'all' {
  if (before.length !== after.length) return 'all';
  const keys = new Set<string>();
  const oldByName = new Map(before.map((destination) => [destinationNameOf(destination), destination]));
  for (const destination of after) {
    const old = oldByName.get(destinationNameOf(destination));
    if (!old || (old.cordoned ?? false) !== (destination.cordoned ?? false)) return 'all';
    for (const section of routeSections) addDifferent(keys, section, old[section] ?? {}, destination[section] ?? {});
    if (old.rest !== destination.rest) keys.add('*');
  }
  return keys;
}

function addDifferent(keys: Set<string>, section: RouteSection, a: Labels, b: Labels): void {
  for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
    if (a[name] !== b[name] || Object.hasOwn(a, name) !== Object.hasOwn(b, name)) add(keys, section, name);
  }
}

function add(keys: Set<string>, section: RouteSection, name: string): void {
  keys.add(`${section}/${name}`);
  keys.add(`${section}/*`);
}

function changedSummary(before: LabelSummary, after: LabelSummary): Set<string> | 'all' {
  if (before.leaves !== after.leaves) return 'all';
  if (before.sets && after.sets) return changedSets(before.sets, after.sets);
  if (before.sets || after.sets) return 'all';
  const [a, b] = [keyedOf(before), keyedOf(after)];
  if (a.places !== b.places || a.moreKeys !== b.moreKeys) return 'all';
  const keys = new Set<string>();
  for (const section of routeSections) {
    const [old, current] = section === 'labels' ? [a.keys, b.keys] : [a[section], b[section]];
    if (!old !== !current) return 'all';
    if (old && current) addDifferentSummaries(keys, section, old, current);
  }
  return keys;
}

function addDifferentSummaries(keys: Set<string>, section: RouteSection, a: KeySummaries, b: KeySummaries): void {
  for (const name of differentKeys(a, b)) add(keys, section, name);
}

/**
 * Finds the keys that explain the difference of two lists of sets: without these keys, the removed sets and the added sets are equal. The function guesses
 * the keys from each key's own values and then checks the guess. The guess fails if values have moved between sets while each key kept its counts. Then every
 * key of these sets counts as changed.
 */
function changedSets(before: readonly LabelSet[], after: readonly LabelSet[]): Set<string> | 'all' {
  const [removed, added] = [without(before, after), without(after, before)];
  if ([...removed, ...added].some((set) => set.cordoned || set.others || !set.properties || !set.targetLabels))
    return 'all';
  const keys = new Set<string>();
  const [a, b] = [asKeyed(removed), asKeyed(added)];
  for (const section of routeSections) addDifferentSummaries(keys, section, a[section], b[section]);
  if (projected(removed, keys) === projected(added, keys)) return keys;
  for (const section of routeSections) {
    for (const name of [...Object.keys(a[section]), ...Object.keys(b[section])]) add(keys, section, name);
  }
  return keys;
}

/** Returns the sets that have more leaves in `sets` than in `others`, each with the difference as its leaves. */
function without(sets: readonly LabelSet[], others: readonly LabelSet[]): LabelSet[] {
  const leaves = new Map(others.map((set) => [setId(set), set.leaves]));
  return sets
    .map((set) => ({ ...set, leaves: set.leaves - (leaves.get(setId(set)) ?? 0) }))
    .filter((set) => set.leaves > 0);
}

function asKeyed(sets: readonly LabelSet[]): Record<RouteSection, KeySummaries> {
  const keyed = keyedOf({ leaves: sets.reduce((sum, set) => sum + set.leaves, 0), sets });
  return { labels: keyed.keys, properties: keyed.properties ?? {}, targetLabels: keyed.targetLabels ?? {} };
}

function projected(sets: readonly LabelSet[], ignoredKeys: ReadonlySet<string>): string {
  const counts = new Map<string, number>();
  for (const set of sets) {
    const rest = routeSections.map((section) =>
      Object.fromEntries(Object.entries(set[section] ?? {}).filter(([name]) => !ignoredKeys.has(`${section}/${name}`))),
    );
    const id = stableStringify(rest);
    counts.set(id, (counts.get(id) ?? 0) + set.leaves);
  }
  return stableStringify(Object.fromEntries(counts));
}
