/**
 * What a node reports to its parent about the destinations below it, so that the parent can leave out subtrees without knowing their destinations. While
 * there are few sets of labels and properties, the summary has the exact sets that selectors and expressions read. With more, the summary has counts and
 * ranges by key. A summary may say "maybe" too often, and never says "no" wrongly.
 *
 * Leaves are agents, places are their Locations. An agent with two Locations is one leaf with two places. A placement that matches either of them matches the
 * leaf, once.
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

/** How many distinct sets a summary holds exactly. With more sets, a placement is matched by key. The number comes from the design. */
export const exactSetsMax = 256;
/** Characters of all sets together: a node sends all of them again when one changes. With as many sets as allowed, some 500 characters a set. */
export const exactCharactersMax = 131_072;
/** How many keys of properties a summary holds by key. With more, all are left out, and an expression that reads one gives "maybe". */
export const propertyKeysMax = 512;
/** Characters of the properties of one place. If a place has more, its properties are left out. */
export const propertyCharactersMax = 4_096;

/** One Location as its agent has it. An absent field was left out because of its size: nothing is known about it. */
export interface LocationLabels {
  /** The Location's own labels over the inherited ones. */
  readonly labels: Labels;
  /** `spec.properties` of the SyncTarget. */
  readonly properties?: Labels;
  /** The SyncTarget's own labels. */
  readonly targetLabels?: Labels;
}

/** Agents with equal facts: the fields of their first Location, and `others` for the other Locations. */
export interface LabelSet extends LocationLabels {
  readonly leaves: number;
  readonly others?: readonly LocationLabels[];
  /** Nothing new is placed at these agents. A placement that matches may be there or not. */
  readonly cordoned?: true;
}

export interface LabelSummary {
  readonly leaves: number;
  /** Present while there are few enough sets; then all fields below are absent. */
  readonly sets?: readonly LabelSet[];
  /** By key of the Locations' labels. */
  readonly keys?: KeySummaries;
  /** Only beside `keys`: Locations have other keys too, about which nothing is known. */
  readonly moreKeys?: true;
  /** Absent: as many places as leaves. */
  readonly places?: number;
  /** Absent beside `keys`: not reported by every child. */
  readonly properties?: KeySummaries;
  readonly targetLabels?: KeySummaries;
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

/** Associative and commutative, except for the values that are kept beyond the bounds. */
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

/** The facts of a set as a key of maps: everything but the number of leaves. */
export function setId(set: LabelSet): string {
  const cached = setIds.get(set);
  if (cached !== undefined) return cached;
  const { leaves: _, ...facts } = set;
  const id = stableStringify(facts);
  setIds.set(set, id);
  return id;
}

/**
 * True if everything that matches below `narrow` matches below `wide` too, and `narrow` has no more leaves. Then a parent may keep using `wide` for a while.
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

/** The same summary gives the same bytes, so that an unchanged summary is not sent again. */
export function encodeLabelSummary(summary: LabelSummary): Uint8Array {
  const { keys, properties, targetLabels, sets, leaves, places, ...rest } = summary;
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

/** Decodes the summary that a child sent. Throws Protocol on anything else. */
export function decodeLabelSummary(bytes: Uint8Array): LabelSummary {
  return withPlacesOfAll(decodeChecked('a label summary', labelSummary, bytes));
}

/**
 * Makes sure that no key is at more places than there are. A key with a greater count would make up for places of other children that do not have the key,
 * and the parent would wrongly say "no" for these.
 */
function withPlacesOfAll(summary: LabelSummary): LabelSummary {
  const { leaves, places = leaves, keys = {}, properties = {}, targetLabels = {} } = summary;
  let most = places;
  for (const section of [keys, properties, targetLabels]) {
    for (const key in section) most = Math.max(most, section[key]!.present);
  }
  return most === places ? summary : { ...summary, places: most };
}

// Sets and summaries never change once they are made. So derived values are kept as long as the sets and summaries are.
const setIds = new WeakMap<LabelSet, string>();
const keyedCache = new WeakMap<LabelSummary, Keyed>();

/** Undefined: the sets exceed the limits. */
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

/** The fields of a place that a summary holds, within their limits. */
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
