/**
 * What a node tells its parent about the destinations below it, so that the parent can prune without knowing them: exact sets of what
 * selectors and expressions read while there are few, else counts and ranges per key. A summary may say "maybe" too often, never "no" wrongly.
 *
 * Leaves are agents, places are their Locations: an agent with two Locations is one leaf with two places, and a placement that matches
 * either of them matches the leaf, once.
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

/** Distinct sets that a summary holds exactly; beyond it, evaluation is by key. The design's figure. */
export const exactSetsMax = 256;
/** Characters of all sets together: what a node sends again when one of them changes. Some 500 a set, when there are as many as may be. */
export const exactCharactersMax = 131_072;
/** Keys of properties told by key. More are not told, and what reads one is "maybe". */
export const propertyKeysMax = 512;
/** Characters of the properties of one place; those of a place with more are not told. */
export const propertyCharactersMax = 4_096;

/** One Location as its agent has it. What is absent was not told, for its size, and nothing is known of it. */
export interface LocationLabels {
  /** Own labels over inherited ones. */
  readonly labels: Labels;
  /** `spec.properties` of the SyncTarget. */
  readonly properties?: Labels;
  /** The SyncTarget's own labels. */
  readonly targetLabels?: Labels;
}

/** Equal agents: the first of their Locations, and the others. */
export interface LabelSet extends LocationLabels {
  readonly leaves: number;
  readonly others?: readonly LocationLabels[];
  /** Nothing new is placed there: what matches may be there or not. */
  readonly cordoned?: true;
}

export interface LabelSummary {
  readonly leaves: number;
  /** Present while they are few enough; then all of the rest is absent. */
  readonly sets?: readonly LabelSet[];
  /** By label of the Locations. */
  readonly keys?: KeySummaries;
  /** Beside `keys`: Locations have others, of which nothing is known. */
  readonly moreKeys?: true;
  /** Absent: as many as leaves. */
  readonly places?: number;
  /** Absent beside `keys`: not told by all that is below. */
  readonly properties?: KeySummaries;
  readonly targetLabels?: KeySummaries;
}

/** A summary by key, complete. */
export interface Keyed {
  readonly leaves: number;
  readonly places: number;
  readonly keys: KeySummaries;
  readonly moreKeys?: true;
  readonly properties?: KeySummaries;
  readonly targetLabels?: KeySummaries;
}

/** Of the labels of the Locations. */
export function labelsIn({ keys, moreKeys }: Keyed): KeySection {
  return moreKeys ? { keys, more: moreKeys } : { keys };
}

export const emptyLabelSummary: LabelSummary = { leaves: 0, sets: [] };

/** Of one agent; without a Location it is no destination. */
export function summaryOfAgent(places: readonly LocationLabels[], cordoned = false): LabelSummary {
  const sorted = new Map(places.map(bounded).map((place) => [stableStringify(place), place] as const));
  const [first, ...others] = [...sorted].sort(byId).map(([, place]) => place);
  if (!first) return emptyLabelSummary;
  const set = { ...first, leaves: 1, ...(others.length > 0 ? { others } : {}) };
  return { leaves: 1, sets: [cordoned ? { ...set, cordoned } : set] };
}

/** Associative and commutative up to the values kept beyond the bounds. */
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

/** What the sets say, by key. */
export function keyedOf(summary: LabelSummary): Keyed {
  const { leaves, sets } = summary;
  if (!sets) return { ...summary, keys: summary.keys ?? {}, places: summary.places ?? leaves };
  const known = keyedCache.get(summary);
  if (known) return known;
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

/** What a set says, as a key of maps: without how many leaves it has. */
export function setId(set: LabelSet): string {
  const known = setIds.get(set);
  if (known !== undefined) return known;
  const { leaves: _, ...facts } = set;
  const id = stableStringify(facts);
  setIds.set(set, id);
  return id;
}

/** Whatever matches below `narrow` matches below `wide` too, and there are no more leaves: `wide` may stand a while longer. */
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

/** The same summary gives the same bytes, so that an unchanged one is not sent again. */
export function encodeLabelSummary(summary: LabelSummary): Uint8Array {
  const { keys, properties, targetLabels, sets, leaves, places, ...rest } = summary;
  const sections = Object.entries({ keys, properties, targetLabels })
    .filter(([, section]) => section !== undefined)
    .map(([name, section]) => `${JSON.stringify(name)}:${encodeSection(section!)}`);
  if (sets) sections.push(`"sets":[${sets.map(encodeSet).join(',')}]`);
  const told = {
    leaves: reportedLocations(leaves),
    ...rest,
    ...(places === undefined ? {} : { places: reportedLocations(places) }),
  };
  for (const [name, said] of Object.entries(told)) sections.push(`${JSON.stringify(name)}:${said}`);
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

/** Of what a child sent: throws Protocol on anything that is not a summary. */
export function decodeLabelSummary(bytes: Uint8Array): LabelSummary {
  return withPlacesOfAll(decodeChecked('a label summary', labelSummary, bytes));
}

/** No key is at more places than there are: one that were would make up for those of other children which do not have it, and "no" would be said of these. */
function withPlacesOfAll(summary: LabelSummary): LabelSummary {
  const { leaves, places = leaves, keys = {}, properties = {}, targetLabels = {} } = summary;
  let most = places;
  for (const section of [keys, properties, targetLabels]) {
    for (const key in section) most = Math.max(most, section[key]!.present);
  }
  return most === places ? summary : { ...summary, places: most };
}

// Sets and summaries are never changed once made, so that what is made of them is kept as long as they are.
const setIds = new WeakMap<LabelSet, string>();
const keyedCache = new WeakMap<LabelSummary, Keyed>();

/** Undefined: more than are kept. */
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

/** What a summary tells of a place, and nothing else that it may have. */
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
