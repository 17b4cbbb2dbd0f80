/**
 * How many leaves a placement matches, and how many would begin or cease to match if the placement changed. The answer comes from a label summary. A summary does
 * not always know the number, so the answer is a range. A range with two equal ends is exact.
 */
import { stableStringify } from '../object/canonical.ts';
import { requirementsOf } from '../object/selector.ts';
import type { LabelSummary } from './label-summary.ts';
import { judgeSet, type MatchRule, matchSummary, type Verdict } from './summary-match.ts';

/** A number that lies between two bounds, both inclusive. */
export interface CountRange {
  readonly atLeast: number;
  readonly atMost: number;
}

/** Numbers of leaves. */
export interface MatchChange {
  /** Leaves that match now. */
  readonly present: CountRange;
  /** Leaves that match after the change. */
  readonly next: CountRange;
  readonly joining: CountRange;
  readonly leaving: CountRange;
}

export const noLeaves: CountRange = { atLeast: 0, atMost: 0 };

export function exactly(count: number): CountRange {
  return { atLeast: count, atMost: count };
}

export function addRanges(a: CountRange, b: CountRange): CountRange {
  return { atLeast: a.atLeast + b.atLeast, atMost: a.atMost + b.atMost };
}

export function addChanges(a: MatchChange, b: MatchChange): MatchChange {
  return {
    present: addRanges(a.present, b.present),
    next: addRanges(a.next, b.next),
    joining: addRanges(a.joining, b.joining),
    leaving: addRanges(a.leaving, b.leaving),
  };
}

export const noChange: MatchChange = { present: noLeaves, next: noLeaves, joining: noLeaves, leaving: noLeaves };

/** Compares two rules at the leaves of a summary. `present` is absent if the placement does not exist yet. */
export function compareMatches(present: MatchRule | undefined, next: MatchRule, summary: LabelSummary): MatchChange {
  if (present && isSameRule(present, next)) {
    // The same rule moves nothing, even where the summary does not know the number of leaves.
    const matching = countMatches(next, summary);
    return { present: matching, next: matching, joining: noLeaves, leaving: noLeaves };
  }
  if (!summary.sets) return compareByKey(present, next, summary);
  const judge = (rule: MatchRule | undefined) => {
    const selectors = rule?.selectors.map(requirementsOf) ?? [];
    return (set: Parameters<typeof judgeSet>[3]): Verdict =>
      selectors.length === 0 ? 'no' : judgeSet(selectors, rule?.expression, summary, set);
  };
  const [before, after] = [judge(present), judge(next)];
  return summary.sets.reduce((sum, set) => {
    const had = before(set);
    const gets = after(set);
    // A cordoned agent keeps the placements that it has and gets no others. Only a node below knows whether the agent has this placement.
    const isCordoned = set.cordoned === true;
    const hadOrNot = isCordoned && had === 'yes' ? 'maybe' : had;
    const getsOrNot = isCordoned && gets === 'yes' ? (isPossible(had) ? 'maybe' : 'no') : gets;
    const stays = had === 'yes' && gets === 'yes';
    return addChanges(sum, {
      present: leavesOf(hadOrNot, set.leaves),
      next: leavesOf(getsOrNot, set.leaves),
      joining: stays ? noLeaves : both(negated(hadOrNot), getsOrNot, set.leaves),
      leaving: stays ? noLeaves : both(hadOrNot, negated(getsOrNot), set.leaves),
    });
  }, noChange);
}

/** A cordoned agent counts as "maybe": only a node below knows whether the agent has this placement. */
function countMatches(rule: MatchRule, summary: LabelSummary): CountRange {
  const { sets } = summary;
  if (!sets) return rangeByKey(rule, summary);
  const selectors = rule.selectors.map(requirementsOf);
  if (selectors.length === 0) return noLeaves;
  return sets
    .map((set) => {
      const verdict = judgeSet(selectors, rule.expression, summary, set);
      return leavesOf(verdict === 'yes' && set.cordoned ? 'maybe' : verdict, set.leaves);
    })
    .reduce(addRanges, noLeaves);
}

function isSameRule(a: MatchRule, b: MatchRule): boolean {
  const sourceOf = ({ expression }: MatchRule) => (typeof expression === 'object' ? expression.source : expression);
  return (
    stableStringify(a.selectors) === stableStringify(b.selectors) &&
    sourceOf(a) === sourceOf(b) &&
    sourceOf(a) !== 'unreadable'
  );
}

/** With counts for each key, a summary only knows that a rule matches nothing. If it may match, it may match any number of leaves. */
function rangeByKey(rule: MatchRule, summary: LabelSummary): CountRange {
  return matchSummary(rule, summary).matches ? { atLeast: 0, atMost: summary.leaves } : noLeaves;
}

function compareByKey(present: MatchRule | undefined, next: MatchRule, summary: LabelSummary): MatchChange {
  const [before, after] = [present ? rangeByKey(present, summary) : noLeaves, rangeByKey(next, summary)];
  return { present: before, next: after, joining: after, leaving: before };
}

function isPossible(verdict: Verdict): boolean {
  return verdict === 'yes' || verdict === 'maybe';
}

function negated(verdict: Verdict): Verdict {
  if (verdict === 'maybe') return 'maybe';
  return verdict === 'yes' ? 'no' : 'yes';
}

function leavesOf(verdict: Verdict, leaves: number): CountRange {
  return { atLeast: verdict === 'yes' ? leaves : 0, atMost: isPossible(verdict) ? leaves : 0 };
}

function both(a: Verdict, b: Verdict, leaves: number): CountRange {
  return leavesOf(!isPossible(a) || !isPossible(b) ? 'no' : a === 'yes' && b === 'yes' ? 'yes' : 'maybe', leaves);
}
