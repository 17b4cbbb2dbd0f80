/**
 * The label summary: a node's report to its parent about the destinations below the node. With it, the parent can leave out subtrees although it does not
 * know their destinations. As long as there are few different sets of labels and properties, the summary has the exact sets. With more sets, the summary has
 * only counts and ranges for each key. The answer of a summary may be "maybe" too often, but it is never "no" if a destination matches.
 *
 * Leaves are agents; places are the Locations of agents. An agent with two Locations is one leaf with two places. A placement that matches at least one of
 * them matches the leaf, and counts it once.
 */

import * as z from 'zod';
import { countUpTo, destinationsMax, placesMax, presentMax } from '../object/bounded-counts.ts';
import { stableStringify } from '../object/canonical.ts';
import { decodeChecked } from '../object/checked.ts';
import type { Labels } from '../object/selector.ts';
import { compareText } from '../object/text-order.ts';
import {
  coversKeys,
  encodeKey,
  type KeySection,
  type KeySummaries,
  keysOfValues,
  mergeKeySections,
} from './key-summary.ts';
import type { SummaryBounds } from './summary-bounds.ts';

/** Limit for the different sets in a summary. With more sets, the summary has only counts for each key. The number comes from the design. */
export const exactSetsMax = 256;
/** Limit for the characters of all sets, because a node sends all sets again when one changes. With 256 sets, this is about 500 characters for each. */
export const exactCharactersMax = 131_072;
/** Limit for the keys of properties, and of SyncTarget labels. With more, all are left out, and an expression that reads one of them gives "maybe". */
export const propertyKeysMax = 512;
/** Limit for the characters of the properties of one place. If a place has more, all its properties are left out. */
export const propertyCharactersMax = 4_096;

/** The labels and properties of one Location. An absent field was left out because of its size: nothing is known about it. */
export interface LocationLabels {
  /** The inherited labels and the Location's own labels. For the same key, the own label wins. */
  readonly labels: Labels;
  /** `spec.properties` of the SyncTarget. */
  readonly properties?: Labels;
  /** The SyncTarget's own labels. */
  readonly targetLabels?: Labels;
}

/** Agents with the same labels and properties. The fields are those of the first Location of each agent; `others` has the other Locations. */
export interface LabelSet extends LocationLabels {
  readonly leaves: number;
  readonly others?: readonly LocationLabels[];
  /** These agents get no new placements and keep their present ones. So a placement that matches may be there or not. */
  readonly cordoned?: true;
}

export interface LabelSummary {
  readonly leaves: number;
  /** Present if there are few enough sets. Then the summary has none of the following fields. */
  readonly sets?: readonly LabelSet[];
  /** Summaries of the labels of the Locations, keyed by label key. */
  readonly keys?: KeySummaries;
  /** Only together with `keys`: the Locations also have other keys, and nothing is known about them. */
  readonly moreKeys?: true;
  /** The number of places. Absent: the same as the number of leaves. */
  readonly places?: number;
  /** Summaries of properties. Absent although `keys` is present: not every child has reported its properties, or they have too many keys. */
  readonly properties?: KeySummaries;
  readonly targetLabels?: KeySummaries;
  /** Of the summary of one child, at its parent: what the child can have at most. No merge has this field, and it is not sent. */
  readonly bounds?: SummaryBounds;
}

/** A summary in the form by key, with all fields. */
export interface Keyed {
  readonly leaves: number;
  readonly places: number;
  readonly keys: KeySummaries;
  readonly moreKeys?: true;
  readonly properties?: KeySummaries;
  readonly targetLabels?: KeySummaries;
}

/** The section of the Locations' labels. */
export function labelsIn({ keys, moreKeys }: Keyed): KeySection {
  return moreKeys ? { keys, more: moreKeys } : { keys };
}

export const emptyLabelSummary: LabelSummary = { leaves: 0, sets: [] };

/** The summary of one agent. An agent without a Location is no destination. */
export function summaryOfAgent(places: readonly LocationLabels[], cordoned = false): LabelSummary {
  const sorted = new Map(places.map(bounded).map((place) => [stableStringify(place), place] as const));
  const [first, ...others] = [...sorted].sort(byId).map(([, place]) => place);
  if (!first) return emptyLabelSummary;
  const set = { ...first, leaves: 1, ...(others.length > 0 ? { others } : {}) };
  return { leaves: 1, sets: [cordoned ? { ...set, cordoned } : set] };
}

/** Merges summaries of disjoint subtrees. The order of merging does not matter, except for the values that are kept when a limit is exceeded. */
export function mergeLabelSummaries(parts: readonly LabelSummary[]): LabelSummary {
  const leaves = parts.reduce((sum, part) => sum + part.leaves, 0);
  if (parts.every((part) => part.sets)) {
    const sets = mergeSets(parts.flatMap((part) => part.sets ?? []));
    if (sets) return { leaves, sets };
  }
  const keyed = parts.filter((part) => part.leaves > 0).map(keyedOf);
  const places = keyed.reduce((sum, part) => sum + part.places, 0);
  const properties = mergeSections(keyed.map((part) => part.properties));
  const targetLabels = mergeSections(keyed.map((part) => part.targetLabels));
  const { keys, more } = mergeKeySections(keyed.map(labelsIn));
  return {
    leaves,
    keys,
    ...(more ? { moreKeys: more } : {}),
    ...(places === leaves ? {} : { places }),
    ...(properties ? { properties } : {}),
    ...(targetLabels ? { targetLabels } : {}),
  };
}

/** The summary in the form by key. */
export function keyedOf(summary: LabelSummary): Keyed {
  const { leaves, sets } = summary;
  if (!sets) return { ...summary, keys: summary.keys ?? {}, places: summary.places ?? leaves };
  const cached = keyedCache.get(summary);
  if (cached) return cached;
  const groups = sets.flatMap((set) => placesOf(set).map((place) => [place, set.leaves] as const));
  const properties = sectionOf(groups.map(([place, count]) => [place.properties, count]));
  const targetLabels = sectionOf(groups.map(([place, count]) => [place.targetLabels, count]));
  const keyed = {
    leaves,
    places: groups.reduce((sum, [, count]) => sum + count, 0),
    keys: keysOfValues(groups.map(([{ labels }, count]) => [labels, count])),
    ...(properties ? { properties } : {}),
    ...(targetLabels ? { targetLabels } : {}),
  };
  keyedCache.set(summary, keyed);
  return keyed;
}

export function placesOf(set: LabelSet): readonly LocationLabels[] {
  return set.others ? [set, ...set.others] : [set];
}

/** A text that identifies the labels and properties of a set, for use as a key of maps. The number of leaves is not part of it. */
export function setId(set: LabelSet): string {
  const cached = setIds.get(set);
  if (cached !== undefined) return cached;
  const { leaves: _, ...facts } = set;
  const id = stableStringify(facts);
  setIds.set(set, id);
  return id;
}

/**
 * True: every placement that matches `narrow` also matches `wide`, and `narrow` does not have more leaves than `wide`. Then a parent that still uses `wide`
 * misses no destination of `narrow`.
 */
export function covers(wide: LabelSummary, narrow: LabelSummary): boolean {
  if (narrow.leaves > wide.leaves) return false;
  if (narrow.leaves === 0) return true;
  if (wide.sets) {
    if (!narrow.sets) return false;
    const leaves = new Map(wide.sets.map((set) => [setId(set), set.leaves]));
    return narrow.sets.every((set) => set.leaves <= (leaves.get(setId(set)) ?? 0));
  }
  const [a, b] = [keyedOf(wide), keyedOf(narrow)];
  return (
    coversKeys(labelsIn(a), labelsIn(b), { wide: a.places, narrow: b.places }) &&
    (!a.properties || coversSection(a.properties, b.properties, a, b)) &&
    (!a.targetLabels || coversSection(a.targetLabels, b.targetLabels, a, b))
  );
}

/** Encodes a summary. Equal summaries give equal bytes, so that an unchanged summary is not sent again. */
export function encodeLabelSummary(summary: LabelSummary): Uint8Array {
  const { keys, properties, targetLabels, sets, leaves, places, bounds: _bounds, ...rest } = summary;
  const sections = Object.entries({ keys, properties, targetLabels })
    .filter(([, section]) => section !== undefined)
    .map(([name, section]) => `${JSON.stringify(name)}:${encodeSection(section!)}`);
  if (sets) sections.push(`"sets":[${sets.map(encodeSet).join(',')}]`);
  const counts = {
    leaves: reportedLocations(leaves),
    ...rest,
    ...(places === undefined ? {} : { places: reportedLocations(places) }),
  };
  for (const [name, value] of Object.entries(counts)) sections.push(`${JSON.stringify(name)}:${value}`);
  return Buffer.from(`{${sections.join(',')}}`);
}

function reportedLocations(places: number): number {
  return Math.min(places, placesMax);
}

function encodeSection(section: KeySummaries): string {
  const keys = Object.keys(section).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${encodeKey(section[key]!)}`).join(',')}}`;
}

function encodeSet(set: LabelSet): string {
  return `{"leaves":${Math.min(set.leaves, destinationsMax)},${setId(set).slice(1)}`;
}

const count = countUpTo(placesMax);
const labels = z.record(z.string(), z.string());
const keySummaries = z.record(
  z.string(),
  z.object({
    present: countUpTo(presentMax),
    values: z.record(z.string(), countUpTo(destinationsMax)),
    complete: z.boolean(),
    min: z.number().exactOptional(),
    max: z.number().exactOptional(),
    numbers: z.union([z.tuple([]), z.tuple([z.number(), z.number()])]).exactOptional(),
  }),
);
const place = z.object({ labels, properties: labels.exactOptional(), targetLabels: labels.exactOptional() });
const labelSummary = z
  .object({
    leaves: count,
    sets: z
      .array(
        place.extend({
          leaves: countUpTo(destinationsMax),
          others: z.array(place).exactOptional(),
          cordoned: z.literal(true).exactOptional(),
        }),
      )
      .exactOptional(),
    keys: keySummaries.exactOptional(),
    moreKeys: z.literal(true).exactOptional(),
    places: count.exactOptional(),
    properties: keySummaries.exactOptional(),
    targetLabels: keySummaries.exactOptional(),
  })
  .refine(({ sets, keys }) => sets !== undefined || keys !== undefined, 'neither sets nor keys');

/** Decodes the summary that a child sent. Throws Protocol if the bytes are no label summary. */
export function decodeLabelSummary(bytes: Uint8Array): LabelSummary {
  return withPlacesOfAll(decodeChecked('a label summary', labelSummary, bytes));
}

/**
 * Raises `places` to the largest count of a key, if a child reports a key at more places than it has. Otherwise, after a merge, the key would seem to be at all
 * places of all children together, and the parent would give a wrong "no" for places of other children that do not have the key.
 */
function withPlacesOfAll(summary: LabelSummary): LabelSummary {
  const { leaves, places = leaves, keys = {}, properties = {}, targetLabels = {} } = summary;
  let most = places;
  for (const section of [keys, properties, targetLabels]) {
    for (const key in section) most = Math.max(most, section[key]!.present);
  }
  return most === places ? summary : { ...summary, places: most };
}

// Sets and summaries never change after they are made. So the derived values of a set or summary are kept as long as the set or summary exists.
const setIds = new WeakMap<LabelSet, string>();
const keyedCache = new WeakMap<LabelSummary, Keyed>();

/** Adds the leaves of equal sets. Undefined: the sets exceed the limits. */
function mergeSets(sets: readonly LabelSet[]): LabelSet[] | undefined {
  const merged = new Map<string, LabelSet>();
  let characters = 0;
  for (const set of sets) {
    const id = setId(set);
    const before = merged.get(id);
    if (before) {
      const sum = { ...set, leaves: set.leaves + before.leaves };
      setIds.set(sum, id);
      merged.set(id, sum);
    } else {
      characters += id.length;
      merged.set(id, set);
      if (merged.size > exactSetsMax || characters > exactCharactersMax) return undefined;
    }
  }
  return [...merged].sort(byId).map(([, set]) => set);
}

function mergeSections(parts: readonly (KeySummaries | undefined)[]): KeySummaries | undefined {
  if (parts.some((part) => part === undefined)) return undefined;
  return fewEnough(mergeKeySections(parts.map((part) => ({ keys: part ?? {} }))).keys);
}

function sectionOf(groups: readonly (readonly [Labels | undefined, number])[]): KeySummaries | undefined {
  if (groups.some(([values]) => values === undefined)) return undefined;
  return fewEnough(keysOfValues(groups.map(([values, count]) => [values ?? {}, count])));
}

function fewEnough(section: KeySummaries): KeySummaries | undefined {
  return Object.keys(section).length > propertyKeysMax ? undefined : section;
}

function coversSection(wide: KeySummaries, narrow: KeySummaries | undefined, a: Keyed, b: Keyed): boolean {
  if (!narrow) return false;
  return coversKeys({ keys: wide }, { keys: narrow }, { wide: a.places, narrow: b.places });
}

/** The fields of a place that go into a summary. Properties that exceed their limit are left out. */
function bounded({ labels, properties, targetLabels }: LocationLabels): LocationLabels {
  const characters = Object.entries(properties ?? {}).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  return {
    labels,
    ...(properties && characters <= propertyCharactersMax ? { properties } : {}),
    ...(targetLabels ? { targetLabels } : {}),
  };
}

function byId([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return compareText(a, b);
}
