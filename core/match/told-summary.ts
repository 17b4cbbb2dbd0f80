/**
 * A label summary as a node tells it: no larger than an entry may be, with a second one beside it (`relay/schedule/counted-labels.ts`). What is left out is
 * "maybe": first the values of the keys that have most to say, then what is said of properties and of labels of SyncTargets.
 */
import { encodeKey, type KeySummaries, withoutValues } from './key-summary.ts';
import type { LabelSummary } from './label-summary.ts';

/** Of all keys together, as they are encoded: at most three bytes each, and two summaries fit in one entry (4 MiB). */
export const toldCharactersMax = 524_288;

const sections = ['keys', 'properties', 'targetLabels'] as const;
type Section = (typeof sections)[number];

interface SizedKey {
  readonly section: Section;
  readonly name: string;
  readonly characters: number;
  /** Fewer of them without its values. */
  readonly saves: number;
}

/** The same object for the same summary. */
export function toldForm(summary: LabelSummary): LabelSummary {
  if (summary.sets) return summary;
  const known = told.get(summary);
  if (known) return known;
  const made = shortened(summary);
  told.set(summary, made);
  return made;
}

const told = new WeakMap<LabelSummary, LabelSummary>();

function shortened(summary: LabelSummary): LabelSummary {
  const sized = sections.flatMap((section) => sizesOf(section, summary[section] ?? {}));
  let excess = sized.reduce((sum, { characters }) => sum + characters, -toldCharactersMax);
  if (excess <= 0) return summary;
  const short: Record<Section, Record<string, KeySummaries[string]>> = {
    keys: { ...summary.keys },
    properties: { ...summary.properties },
    targetLabels: { ...summary.targetLabels },
  };
  // Sizes that are equal come in an order of their own, so that the same summary is always shortened to the same.
  for (const { section, name, saves } of sized.sort((a, b) => b.saves - a.saves)) {
    if (excess <= 0 || saves <= 0) break;
    short[section][name] = withoutValues(short[section][name]!);
    excess -= saves;
  }
  const { properties: _, targetLabels: __, ...rest } = summary;
  // Names alone are that many: of properties, nothing is said any more.
  if (excess > 0) return { ...rest, keys: short.keys };
  return {
    ...rest,
    keys: short.keys,
    ...(summary.properties ? { properties: short.properties } : {}),
    ...(summary.targetLabels ? { targetLabels: short.targetLabels } : {}),
  };
}

function sizesOf(section: Section, keys: KeySummaries): SizedKey[] {
  return Object.keys(keys)
    .sort()
    .map((name) => {
      const key = keys[name]!;
      const characters = encodeKey(key).length;
      const saves = key.complete ? characters - encodeKey(withoutValues(key)).length : 0;
      return { section, name, characters: characters + name.length, saves };
    });
}
