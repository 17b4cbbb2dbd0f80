/**
 * A label summary in the form that a node sends: small enough for an entry, with a second summary beside it (`relay/children/owned-label-summary.ts`).
 * Whatever is left out counts as "maybe". The values of the keys with the most text go first. Then the properties and the labels of SyncTargets go, and then
 * the labels that the fewest places have. Where there are so many labels, each of the rare ones is at one place only, and the labels by which placements
 * select are at most places.
 */
import { compareText } from '../object/text-order.ts';
import { encodeKey, type KeySummaries, type KeySummary, withoutValues } from './key-summary.ts';
import type { LabelSummary } from './label-summary.ts';

/** Limit for the encoded keys together. A character takes at most three bytes, and two summaries fit in one entry (4 MiB). */
export const summaryCharactersMax = 524_288;

const summarySections = ['keys', 'properties', 'targetLabels'] as const;
type SummarySection = (typeof summarySections)[number];

/** The same summary gives the same object. */
export function boundedSummary(summary: LabelSummary): LabelSummary {
  if (summary.sets) return summary;
  const before = boundedSummaries.get(summary);
  if (before) return before;
  const made = shortened(summary);
  boundedSummaries.set(summary, made);
  return made;
}

const boundedSummaries = new WeakMap<LabelSummary, LabelSummary>();

function shortened(summary: LabelSummary): LabelSummary {
  let excess = summarySections.reduce(
    (sum, section) => sum + charactersOf(summary[section] ?? {}),
    -summaryCharactersMax,
  );
  if (excess <= 0) return summary;
  const short = {
    keys: { ...summary.keys },
    properties: { ...summary.properties },
    targetLabels: { ...summary.targetLabels },
  };
  // Keys that save the same are in the order of their names: the same summary is always shortened in the same way.
  const savings = summarySections
    .flatMap((section) => savingsIn(section, short[section]))
    .sort((a, b) => b.saves - a.saves);
  for (const { section, name, brief, saves } of savings) {
    if (excess <= 0) break;
    short[section][name] = brief;
    excess -= saves;
  }
  const { properties, targetLabels, ...rest } = summary;
  // The names of the keys alone are too many: both other sections are left out.
  if (excess > 0) return { ...rest, ...commonest(short.keys) };
  return {
    ...rest,
    keys: short.keys,
    ...(properties ? { properties: short.properties } : {}),
    ...(targetLabels ? { targetLabels: short.targetLabels } : {}),
  };
}

/** The keys that most places have, as many as fit. */
function commonest(keys: KeySummaries): Pick<LabelSummary, 'keys' | 'moreKeys'> {
  const sorted = Object.entries(keys).sort(
    ([a, { present: atA }], [b, { present: atB }]) => atB - atA || compareText(a, b),
  );
  let remaining = summaryCharactersMax;
  const kept: typeof sorted = [];
  for (const entry of sorted) {
    remaining -= charactersOfKey(entry);
    if (remaining < 0) break;
    kept.push(entry);
  }
  return kept.length === sorted.length ? { keys } : { keys: Object.fromEntries(kept), moreKeys: true };
}

function charactersOf(keys: KeySummaries): number {
  return Object.entries(keys).reduce((sum, entry) => sum + charactersOfKey(entry), 0);
}

/** Characters of a key with the punctuation around it in JSON. */
function charactersOfKey([name, key]: readonly [string, KeySummary]): number {
  return name.length + encodeKey(key).length + 4;
}

/** For each key: its form without values, and how many characters that form saves. */
function savingsIn(section: SummarySection, keys: KeySummaries) {
  const named = Object.keys(keys).sort();
  return named.flatMap((name) => {
    const [whole, brief] = [keys[name]!, withoutValues(keys[name]!)];
    const saves = encodeKey(whole).length - encodeKey(brief).length;
    return saves > 0 ? [{ section, name, brief, saves }] : [];
  });
}
