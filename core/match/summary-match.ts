/**
 * Compares a placement's rule with a label summary. Finds whether a destination below may match, and how many leaves certainly match. A node uses this file
 * for all decisions about destinations that it knows only by a summary.
 */
import {
  type LabelRequirement,
  type LabelSelector,
  type Labels,
  matchesRequirement,
  requirementsOf,
} from '../object/selector.ts';
import type { CelProgram } from './cel/cel.ts';
import { CelError } from './cel/cel-error.ts';
import type { Syntax } from './cel/syntax.ts';
import { evaluateAbstractly, type FieldFact, type PossibleResults } from './cel/three-valued.ts';
import { type CelValue, celValue } from './cel/values.ts';
import { type KeySection, type KeySummary, keySectionIn, mayHold, numbersOf } from './key-summary.ts';
import {
  type Keyed,
  keyedOf,
  type LabelSet,
  type LabelSummary,
  type LocationLabels,
  labelsIn,
  placesOf,
} from './label-summary.ts';
import type { SummaryBounds } from './summary-bounds.ts';

/** An expression of a placement. */
export interface Expression {
  readonly source: string;
  readonly syntax: Syntax;
  /** The paths that the expression reads: the result of `readsOf(syntax)`. */
  readonly reads: readonly (readonly [variable: string, ...fields: string[]])[];
  readonly program: CelProgram;
}

export interface MatchRule {
  /** One matching selector is enough. Without selectors, the rule selects nothing. */
  readonly selectors: readonly LabelSelector[];
  /** Must be true at a place that a selector matches. `unreadable`: this node cannot evaluate the expression, but nodes below perhaps can. */
  readonly expression?: Expression | 'unreadable';
}

/** `matches`: at least one leaf may match. `expected`: the number of matching leaves; undefined if the answer is only "maybe" for some. */
export type Match = { readonly matches: boolean; readonly expected: number | undefined };

/** `error`: no match, because the expression cannot be evaluated. */
export type Verdict = 'yes' | 'maybe' | 'no' | 'error';

export function matchSummary(rule: MatchRule, summary: LabelSummary): Match {
  const selectors = rule.selectors.map(requirementsOf);
  if (selectors.length === 0 || summary.leaves === 0) return { matches: false, expected: 0 };
  const { sets } = summary;
  if (!sets) {
    const matches = mayMatchByKey(selectors, rule.expression, summary);
    return { matches, expected: matches ? undefined : 0 };
  }
  let certain = 0;
  let isMaybe = false;
  for (const set of sets) {
    const verdict = judgeSet(selectors, rule.expression, summary, set);
    // A cordoned agent keeps its present placements and gets no new ones. Only a node below knows whether it has this placement.
    if (verdict === 'maybe' || (verdict === 'yes' && set.cordoned)) isMaybe = true;
    else if (verdict === 'yes') certain += set.leaves;
  }
  return { matches: isMaybe || certain > 0, expected: isMaybe ? undefined : certain };
}

/**
 * Counts the leaves that a selector selects and where the expression certainly fails, with the error message of one of them. If the summary has only counts
 * for each key, no failure is certain, and the result is 0.
 */
export function failuresBelow(rule: MatchRule, summary: LabelSummary): { leaves: number; message?: string } {
  const { selectors, expression } = rule;
  if (expression === undefined || expression === 'unreadable') return { leaves: 0 };
  const requirements = selectors.map(requirementsOf);
  const failing = (summary.sets ?? []).filter((set) => judgeSet(requirements, expression, summary, set) === 'error');
  const place = failing.flatMap(placesOf).find((one) => judgePlace(expression, summary, one) === 'error');
  const leaves = failing.reduce((sum, set) => sum + set.leaves, 0);
  return { leaves, ...(place ? { message: failureAt(expression, place) } : {}) };
}

function failureAt(expression: Expression, place: LocationLabels): string {
  try {
    expression.program.evaluate(bindingsOf(place));
  } catch (error) {
    if (error instanceof CelError && readsOnly(expression, place)) return error.message;
  }
  return 'a label or a property that it reads is missing there, or is of another type';
}

export type Selectors = readonly (readonly LabelRequirement[])[];

/** The verdict for one set. One matching place is enough. */
export function judgeSet(
  selectors: Selectors,
  expression: MatchRule['expression'],
  summary: LabelSummary,
  set: LabelSet,
): Verdict {
  let best: Verdict = 'no';
  for (const place of placesOf(set)) {
    if (!selectors.some((one) => one.every((requirement) => matchesRequirement(requirement, place.labels)))) continue;
    const verdict = expression === undefined ? 'yes' : judgePlace(expression, summary, place);
    if (verdict === 'yes') return 'yes';
    if (verdict === 'maybe' || (verdict === 'error' && best === 'no')) best = verdict;
  }
  return best;
}

function mayMatchByKey(selectors: Selectors, expression: MatchRule['expression'], summary: LabelSummary): boolean {
  const keyed = keyedOf(summary);
  const labels = labelsIn(keyed);
  const { bounds } = summary;
  const mayBe = (requirement: LabelRequirement) =>
    mayHold(requirement, labels, keyed.places) &&
    (!bounds || isWithin(requirement, keySectionIn(labels, requirement.key), bounds));
  if (!selectors.some((one) => one.every(mayBe))) return false;
  if (expression === undefined || expression === 'unreadable') return true;
  const verdict = remembered(summary, summary, expression, () =>
    verdictOf(abstractly(expression, (path) => keyedFact(path, keyed, bounds))),
  );
  return verdict === 'yes' || verdict === 'maybe';
}

/** Returns whether the bounds allow the requirement, for a key whose values the summary does not have. */
function isWithin(
  { key, operator, values = [] }: LabelRequirement,
  one: KeySummary | undefined,
  bounds: SummaryBounds,
) {
  if (one?.complete) return true;
  switch (operator) {
    case 'In':
      return values.some((value) => bounds.allows('labels', key, value));
    case 'Exists':
    case 'Gt':
    case 'Lt': {
      const allowed = bounds.valuesOf('labels', key);
      if (allowed === 'any') return true;
      return [...allowed].some((value) => matchesRequirement({ key, operator, values }, { [key]: value }));
    }
    default:
      return true;
  }
}

// ---------------------------------------------------------------------------------------------- expressions

function judgePlace(expression: Expression | 'unreadable', summary: LabelSummary, place: LocationLabels): Verdict {
  if (expression === 'unreadable') return 'maybe';
  return remembered(summary, place, expression, () => {
    if (!readsOnly(expression, place))
      return verdictOf(abstractly(expression, (path) => placeFact(path, place, summary.bounds)));
    try {
      return expression.program.evaluate(bindingsOf(place)) === true ? 'yes' : 'no';
    } catch (error) {
      if (error instanceof CelError) return 'error';
      throw error;
    }
  });
}

function abstractly(
  { syntax }: Expression,
  fieldOf: (path: readonly string[]) => FieldFact | undefined,
): PossibleResults {
  return evaluateAbstractly(syntax, { fieldOf });
}

function verdictOf(outcome: PossibleResults): Verdict {
  if (!outcome.true) return outcome.false || !outcome.error ? 'no' : 'error';
  return outcome.false || outcome.error ? 'maybe' : 'yes';
}

/** Whether the summary has all fields of the place that the expression reads. */
function readsOnly(expression: Expression, place: LocationLabels): boolean {
  return expression.reads.every((path) => !isVariable(path[0]) || mapAt(path, place) !== undefined);
}

const variables = new Set(['location', 'syncTarget', 'path', 'properties']);

function isVariable(name: string): boolean {
  return variables.has(name);
}

type LabelSection = 'labels' | 'properties' | 'targetLabels';

/** For each map of a summary, the path at which an expression finds the map. */
const sections: readonly (readonly [section: LabelSection, at: readonly string[]])[] = [
  ['labels', ['location', 'metadata', 'labels']],
  ['properties', ['properties']],
  ['properties', ['syncTarget', 'spec', 'properties']],
  ['targetLabels', ['syncTarget', 'metadata', 'labels']],
];

/** The map that a path reads, and the key if the path reads one key of the map. Undefined: the summary has no map for this path. */
export function sectionOf(path: readonly string[]): { section: LabelSection; key?: string } | undefined {
  for (const [section, at] of sections) {
    if (path.length < at.length || path.length > at.length + 1 || at.some((name, i) => path[i] !== name)) continue;
    const key = path[at.length];
    return key === undefined ? { section } : { section, key };
  }
  return undefined;
}

function mapAt(path: readonly string[], place: LocationLabels): Labels | undefined {
  const found = sectionOf(path);
  return found && place[found.section];
}

/** Without the map, or without the values of a key, the bounds say what is possible. Undefined: everything is possible. */
function boundedFact(path: readonly string[], bounds: SummaryBounds | undefined): FieldFact | undefined {
  if (!bounds) return undefined;
  if (path.length === 1 && path[0] === 'path') return { mayBePresent: true, mayBeAbsent: false, under: bounds.path };
  const { section, key } = sectionOf(path) ?? {};
  return section && key !== undefined ? bounds.factOf(section, key) : undefined;
}

function placeFact(
  path: readonly string[],
  place: LocationLabels,
  bounds: SummaryBounds | undefined,
): FieldFact | undefined {
  const { section, key } = sectionOf(path) ?? {};
  const values = section && place[section];
  if (!values || key === undefined) return boundedFact(path, bounds);
  const isPresent = Object.hasOwn(values, key);
  return { mayBePresent: isPresent, mayBeAbsent: !isPresent, values: isPresent ? [values[key]!] : [] };
}

function keyedFact(path: readonly string[], keyed: Keyed, bounds: SummaryBounds | undefined): FieldFact | undefined {
  const { section, key } = sectionOf(path) ?? {};
  const keys = section && sectionIn(keyed, section);
  const one = keys && key !== undefined ? keySectionIn(keys, key) : undefined;
  const bounded = one?.complete ? undefined : boundedFact(path, bounds);
  if (!one) return bounded;
  const numbers = numbersOf(one);
  const { values = one.complete ? Object.keys(one.values) : undefined, under } = bounded ?? {};
  return {
    mayBePresent: one.present > 0,
    mayBeAbsent: keyed.places - one.present > 0,
    ...(values ? { values } : numbers ? { numbers } : {}),
    ...(under ? { under } : {}),
  };
}

function sectionIn(keyed: Keyed, section: LabelSection): KeySection | undefined {
  if (section === 'labels') return labelsIn(keyed);
  const keys = keyed[section];
  return keys && { keys };
}

const bindings = new WeakMap<LocationLabels, Readonly<Record<string, CelValue>>>();

/**
 * The variables of an expression, with the fields that a summary has. They have the same shape as in `relay/placements/location-expression.ts`, which
 * evaluates the expression with the whole objects.
 */
function bindingsOf(place: LocationLabels): Readonly<Record<string, CelValue>> {
  const before = bindings.get(place);
  if (before) return before;
  const { labels, properties = {}, targetLabels = {} } = place;
  const made = {
    location: celValue({ metadata: { labels } }),
    syncTarget: celValue({ metadata: { labels: targetLabels }, spec: { properties } }),
    properties: celValue(properties),
  };
  bindings.set(place, made);
  return made;
}

// ----------------------------------------------------------------------------------------------------- cache

/** Limit for the expressions in the cache of one summary. A full cache is cleared; then the expressions are evaluated again when needed. */
const rememberedMax = 1_024;
const verdicts = new WeakMap<LabelSummary, Map<string, Map<object, Verdict>>>();

/** Returns a cached verdict, or makes it. The cache is useful because each report of the summary's child asks the same questions again. */
function remembered(summary: LabelSummary, of: object, { source }: Expression, judge: () => Verdict): Verdict {
  const bySource = verdicts.get(summary) ?? new Map<string, Map<object, Verdict>>();
  verdicts.set(summary, bySource);
  if (bySource.size >= rememberedMax && !bySource.has(source)) bySource.clear();
  const found = bySource.get(source) ?? new Map<object, Verdict>();
  bySource.set(source, found);
  const verdict = found.get(of) ?? judge();
  found.set(of, verdict);
  return verdict;
}
