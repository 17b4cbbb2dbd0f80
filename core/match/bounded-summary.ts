/**
 * Makes a label summary small enough to send: it has to fit into one entry, together with a second summary (`relay/children/owned-label-summary.ts`). Parts
 * that are left out count as "maybe". The values of the keys with the most text are left out first. If this is not enough, the properties and the labels of
 * SyncTargets are left out, and then the labels that the fewest places have. In a tree with so many labels, a rare label is usually at one place only, and a
 * label that placements select is at the majority of places.
 */
import { compareText } from '../object/text-order.ts';
import { encodeKey, type KeySummaries, type KeySummary, withoutValues } from './key-summary.ts';
import type { LabelSummary } from './label-summary.ts';

/** Limit for all encoded keys together. A character is at most three bytes, so two summaries fit into one entry (4 MiB). */
export const summaryCharactersMax = 524_288;

const summarySections = ['keys', 'properties', 'targetLabels'] as const;
type SummarySection = (typeof summarySections)[number];

/** The summary within the limits. Returns the same object again for the same summary. */
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
  // Keys with the same savings are sorted by name, so that the same summary is always shortened in the same way.
  const savings = summarySections
    .flatMap((section) => savingsIn(section, short[section]))
    .sort((a, b) => b.saves - a.saves);
  for (const { section, name, brief, saves } of savings) {
    if (excess <= 0) break;
    short[section][name] = brief;
    excess -= saves;
  }
  const { properties, targetLabels, ...rest } = summary;
  // If even the names of the keys are too much text, both other sections are left out.
  if (excess > 0) return { ...rest, ...commonest(short.keys) };
  return {
    ...rest,
    keys: short.keys,
    ...(properties ? { properties: short.properties } : {}),
    ...(targetLabels ? { targetLabels: short.targetLabels } : {}),
  };
}

/** Keeps as many keys as fit, and prefers the keys that most places have. */
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

/** Number of characters of a key in JSON, with punctuation. */
function charactersOfKey([name, key]: readonly [string, KeySummary]): number {
  return name.length + encodeKey(key).length + 4;
}

/** For each key: its form without values, and the number of characters that this form saves. */
function savingsIn(section: SummarySection, keys: KeySummaries) {
  const named = Object.keys(keys).sort();
  return named.flatMap((name) => {
    const [whole, brief] = [keys[name]!, withoutValues(keys[name]!)];
    const saves = encodeKey(whole).length - encodeKey(brief).length;
    return saves > 0 ? [{ section, name, brief, saves }] : [];
  });
}
