/**
 * The fields of a status that no rule merges. An aggregated status of a kind without rules lacks them, and a condition names them: otherwise whoever waits for such
 * a field would wait for ever without a hint.
 */
import { compareText } from '../object/text-order.ts';
import { otherKinds, type StatusRules } from './status-rules.ts';

/** Names of fields in one partial, and the length of a name. People need some names, to know what is meant. */
export const leftOutMax = 8;
export const leftOutNameMax = 64;
/** Fields that every aggregated status treats in its own way. */
const treated: ReadonlySet<string> = new Set(['conditions', 'observedGeneration']);

/** The names of the fields that the aggregate lacks, sorted. The kinds of the table have rules for all fields that people read. */
export function leftOutOf(rules: StatusRules, status: Readonly<Record<string, unknown>> | undefined): string[] {
  if (rules !== otherKinds || !status) return [];
  const names = Object.keys(status).filter((name) => !treated.has(name) && !(name in rules.fields));
  return first(names.map((name) => name.slice(0, leftOutNameMax)));
}

export function mergeLeftOut(a: readonly string[] = [], b: readonly string[] = []): readonly string[] {
  return first([...a, ...b]);
}

function first(names: readonly string[]): string[] {
  return [...new Set(names)].sort(compareText).slice(0, leftOutMax);
}

export function leftOutMessage(names: readonly string[], places: string): string {
  const remedy = 'name a StatusSummarizer in the placement, or read the copies (kubectl --context fleet/NODE/SPACE)';
  return `${names.join(', ')}: no rule makes one value from those of ${places}; ${remedy}`;
}
