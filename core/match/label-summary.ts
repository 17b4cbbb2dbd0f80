/**
 * What a node tells its parent about the labels of the destinations below it, so that the parent can prune without knowing
 * them: exact label sets while there are few, else counts and ranges per key. A summary may say "maybe" too often, never "no" wrongly.
 */

import { z } from 'zod';
import { stableStringify } from '../object/canonical.ts';
import { decodeChecked } from '../object/checked.ts';
import {
  isInteger,
  type LabelRequirement,
  type LabelSelector,
  type Labels,
  matchesRequirement,
  requirementsOf,
} from '../object/selector.ts';

/** Distinct label sets that a summary holds exactly; beyond it, evaluation is by key. The brief's figure. */
export const exactSetsMax = 256;
/** Values counted per key; the rest count as present only, which makes value counts under-estimates. */
export const valuesPerKeyMax = 256;

export interface LabelSet {
  readonly labels: Labels;
  readonly leaves: number;
}

export interface KeySummary {
  readonly present: number;
  /** Under-estimates: a value that is missing here may exist unless `complete`. */
  readonly values: Readonly<Record<string, number>>;
  readonly complete: boolean;
  /** Over the integer values. */
  readonly min?: number;
  readonly max?: number;
}

export interface LabelSummary {
  readonly leaves: number;
  /** Present while there are at most `exactSetsMax`; then `keys` is absent. */
  readonly sets?: readonly LabelSet[];
  readonly keys?: Readonly<Record<string, KeySummary>>;
}

export const emptyLabelSummary: LabelSummary = { leaves: 0, sets: [] };

/** Associative and commutative up to the values kept beyond the bounds. */
export function mergeLabelSummaries(parts: readonly LabelSummary[]): LabelSummary {
  const leaves = parts.reduce((sum, part) => sum + part.leaves, 0);
  if (parts.every((part) => part.sets)) {
    const sets = mergeSets(parts.flatMap((part) => part.sets ?? []));
    if (sets.length <= exactSetsMax) return { leaves, sets };
  }
  const keys: Record<string, KeySummary> = Object.create(null);
  for (const part of parts) {
    for (const [key, summary] of Object.entries(part.keys ?? keysOfSets(part.sets ?? []))) {
      keys[key] = Object.hasOwn(keys, key) ? mergeKeys(keys[key]!, summary) : summary;
    }
  }
  return { leaves, keys: sortedRecord(keys) };
}

/** Some destination below may satisfy every requirement. */
export function mayMatch(selector: LabelSelector, summary: LabelSummary): boolean {
  if (summary.leaves === 0) return false;
  const requirements = requirementsOf(selector);
  if (summary.sets) return summary.sets.some((set) => requirements.every((r) => matchesRequirement(r, set.labels)));
  return requirements.every((r) => mayHold(r, summary));
}

/** How many destinations satisfy any of the selectors; undefined when only "maybe" is known. */
export function countMatching(selectors: readonly LabelSelector[], summary: LabelSummary): number | undefined {
  if (!summary.sets) return selectors.some((selector) => mayMatch(selector, summary)) ? undefined : 0;
  const lists = selectors.map(requirementsOf);
  return summary.sets
    .filter((set) => lists.some((requirements) => requirements.every((r) => matchesRequirement(r, set.labels))))
    .reduce((sum, set) => sum + set.leaves, 0);
}

export function encodeLabelSummary(summary: LabelSummary): Uint8Array {
  return Buffer.from(stableStringify(summary));
}

const count = z.number().int().min(0);
const keySummary = z.object({
  present: count,
  values: z.record(z.string(), count),
  complete: z.boolean(),
  min: z.number().exactOptional(),
  max: z.number().exactOptional(),
});
const labelSummary = z
  .object({
    leaves: count,
    sets: z.array(z.object({ labels: z.record(z.string(), z.string()), leaves: count })).exactOptional(),
    keys: z.record(z.string(), keySummary).exactOptional(),
  })
  .refine(({ sets, keys }) => sets !== undefined || keys !== undefined, 'neither sets nor keys');

/** Of what a child sent: throws Protocol on anything that is not a summary. */
export function decodeLabelSummary(bytes: Uint8Array): LabelSummary {
  return decodeChecked('a label summary', labelSummary, bytes);
}

function mayHold(requirement: LabelRequirement, summary: LabelSummary): boolean {
  const key: KeySummary =
    summary.keys && Object.hasOwn(summary.keys, requirement.key)
      ? summary.keys[requirement.key]!
      : { present: 0, values: {}, complete: true };
  const values = requirement.values ?? [];
  const known = values.reduce((sum, value) => sum + (Object.hasOwn(key.values, value) ? key.values[value]! : 0), 0);
  switch (requirement.operator) {
    case 'In':
      return known > 0 || (!key.complete && values.length > 0);
    case 'Exists':
      return key.present > 0;
    case 'DoesNotExist':
      return summary.leaves - key.present > 0;
    case 'NotIn':
      return summary.leaves - key.present > 0 || key.present - known > 0;
    case 'Gt':
      return key.max !== undefined && key.max > Number(values[0]);
    case 'Lt':
      return key.min !== undefined && key.min < Number(values[0]);
  }
}

function mergeSets(sets: readonly LabelSet[]): LabelSet[] {
  const merged = new Map<string, LabelSet>();
  for (const set of sets) {
    const id = stableStringify(set.labels);
    const before = merged.get(id);
    merged.set(id, { labels: set.labels, leaves: set.leaves + (before?.leaves ?? 0) });
  }
  return [...merged].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, set]) => set);
}

function keysOfSets(sets: readonly LabelSet[]): Record<string, KeySummary> {
  const keys: Record<string, KeySummary> = Object.create(null);
  for (const set of sets) {
    for (const [key, value] of Object.entries(set.labels)) {
      const number = isInteger(value) ? { min: Number(value), max: Number(value) } : {};
      const one: KeySummary = { present: set.leaves, values: { [value]: set.leaves }, complete: true, ...number };
      keys[key] = Object.hasOwn(keys, key) ? mergeKeys(keys[key]!, one) : one;
    }
  }
  return keys;
}

function mergeKeys(a: KeySummary, b: KeySummary): KeySummary {
  const values: Record<string, number> = Object.assign(Object.create(null), a.values);
  for (const [value, count] of Object.entries(b.values)) values[value] = (values[value] ?? 0) + count;
  const kept = Object.entries(values).sort(([x, m], [y, n]) => n - m || (x < y ? -1 : 1));
  const complete = a.complete && b.complete && kept.length <= valuesPerKeyMax;
  const min = pickNumber(a.min, b.min, Math.min);
  const max = pickNumber(a.max, b.max, Math.max);
  return {
    present: a.present + b.present,
    values: sortedRecord(Object.fromEntries(kept.slice(0, valuesPerKeyMax))),
    complete,
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
  };
}

function pickNumber(a: number | undefined, b: number | undefined, pick: (a: number, b: number) => number) {
  if (a === undefined) return b;
  return b === undefined ? a : pick(a, b);
}

function sortedRecord<T>(record: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}
