/**
 * A label summary as a node tells it: no larger than an entry may be, with a second one beside it (`relay/children/owned-label-summary.ts`). What is left out is
 * "maybe": first the values of the keys that have most to say, then what is said of properties and of labels of SyncTargets, and at last the labels that the
 * fewest places have: where there are so many, each is at its own place, and the ones that placements select by are at most.
 */
import { compareText } from '../object/text-order.ts';
import { encodeKey, type KeySummaries, type KeySummary, withoutValues } from './key-summary.ts';
import type { LabelSummary } from './label-summary.ts';

/** Of all keys together, as they are encoded: at most three bytes each, and two summaries fit in one entry (4 MiB). */
export const summaryCharactersMax = 524_288;

const summarySections = ['keys', 'properties', 'targetLabels'] as const;
type SummarySection = (typeof summarySections)[number];

/** The same object for the same summary. */
export function boundedSummary(summary: LabelSummary): LabelSummary {
  if (summary.sets) return summary;
  const known = told.get(summary);
  if (known) return known;
  const made = shortened(summary);
  told.set(summary, made);
  return made;
}

const told = new WeakMap<LabelSummary, LabelSummary>();

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
  // By name where two save as much: the same summary is always shortened to the same.
  const savings = summarySections
    .flatMap((section) => savingsIn(section, short[section]))
    .sort((a, b) => b.saves - a.saves);
  for (const { section, name, brief, saves } of savings) {
    if (excess <= 0) break;
    short[section][name] = brief;
    excess -= saves;
  }
  const { properties, targetLabels, ...rest } = summary;
  // Where the names of keys alone are too many, nothing is said of these two.
  if (excess > 0) return { ...rest, ...commonest(short.keys) };
  return {
    ...rest,
    keys: short.keys,
    ...(properties ? { properties: short.properties } : {}),
    ...(targetLabels ? { targetLabels: short.targetLabels } : {}),
  };
}

/** The keys that most places have, as far as they may be told. */
function commonest(keys: KeySummaries): Pick<LabelSummary, 'keys' | 'moreKeys'> {
  const sorted = Object.entries(keys).sort(
    ([a, { present: atA }], [b, { present: atB }]) => atB - atA || compareText(a, b),
  );
  let left = summaryCharactersMax;
  const told: typeof sorted = [];
  for (const entry of sorted) {
    left -= charactersOfKey(entry);
    if (left < 0) break;
    told.push(entry);
  }
  return told.length === sorted.length ? { keys } : { keys: Object.fromEntries(told), moreKeys: true };
}

function charactersOf(keys: KeySummaries): number {
  return Object.entries(keys).reduce((sum, entry) => sum + charactersOfKey(entry), 0);
}

/** With what stands around it in JSON. */
function charactersOfKey([name, key]: readonly [string, KeySummary]): number {
  return name.length + encodeKey(key).length + 4;
}

/** What each key is without its values, and how many characters fewer that is. */
function savingsIn(section: SummarySection, keys: KeySummaries) {
  const named = Object.keys(keys).sort();
  return named.flatMap((name) => {
    const [whole, brief] = [keys[name]!, withoutValues(keys[name]!)];
    const saves = encodeKey(whole).length - encodeKey(brief).length;
    return saves > 0 ? [{ section, name, brief, saves }] : [];
  });
}
