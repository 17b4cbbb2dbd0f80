/**
 * Finds the destinations for which the expression of a placement can't be evaluated. Such a destination does not match, and a condition reports this to the
 * author of the placement. For its agents, the node evaluates the expression itself. For its relays, it uses their label summaries. It does not wait for
 * reports: if the expression fails everywhere in a subtree, the subtree does not match, does not get the placement, and would never report the failure.
 */

import { childPath } from '../../../core/identity/node-path.ts';
import { costExceeded } from '../../../core/match/cel/budget.ts';
import { type NewCondition, withCondition } from '../../../core/object/conditions.ts';
import type { Condition } from '../../../core/object/meta.ts';
import { type Child, failingAt } from '../../children/children.ts';
import type { Placement } from '../../placements/placement.ts';

export interface ExpressionFailures {
  /** Destinations at which the expression certainly fails. */
  readonly destinations: number;
  /** One line for each of the first failing children, sorted by path; at most `sampleMax` lines. */
  readonly sample: readonly string[];
}

/** Limit for the children that the message names: one line of text for a person. */
const sampleMax = 3;
/** Limit for the results that are kept for one state of a child. When it is reached, all results are dropped; the next call evaluates them again. */
const rememberedMax = 1_024;
const type = 'ExpressionFailing';

type Failing = ReturnType<typeof failingAt>;

export class FailingExpressions {
  readonly #path: string;
  readonly #children: ReadonlyMap<string, Child>;
  /** Results, keyed by child and rule. A changed child is a new object in memory, so only the changed children are evaluated again. */
  readonly #results = new WeakMap<Child, Map<string, Failing>>();

  constructor(path: string, children: ReadonlyMap<string, Child>) {
    this.#path = path;
    this.#children = children;
  }

  /** Returns the failures of the placement's expression. Undefined: the placement has no expression. */
  of(placement: Placement): ExpressionFailures | undefined {
    if (placement.locationExpression === undefined) return undefined;
    const rule = JSON.stringify([placement.locationExpression, placement.locationSelectors]);
    let destinations = 0;
    const failing: string[] = [];
    for (const child of this.#children.values()) {
      const { leaves, message = '' } = this.#at(rule, placement, child);
      if (leaves === 0) continue;
      destinations += leaves;
      const path = childPath(this.#path, child.name);
      failing.push(child.role === 'agent' ? `${path}: ${message}` : `${leaves} below ${path}: ${message}`);
    }
    return { destinations, sample: failing.sort().slice(0, sampleMax) };
  }

  #at(rule: string, placement: Placement, child: Child): Failing {
    const results = this.#results.get(child) ?? new Map<string, Failing>();
    this.#results.set(child, results);
    const failing = results.get(rule) ?? failingAt(placement, child);
    if (results.size >= rememberedMax && !results.has(rule)) results.clear();
    results.set(rule, failing);
    return failing;
  }
}

export function withExpression(
  conditions: readonly Condition[],
  failures: ExpressionFailures | undefined,
  generation: number,
  now: string,
): readonly Condition[] {
  if (!failures) return conditions.filter((condition) => condition.type !== type);
  return withCondition(conditions, { ...conditionOf(failures), observedGeneration: generation }, now);
}

function conditionOf({ destinations, sample }: ExpressionFailures): NewCondition {
  if (destinations === 0) {
    return {
      type,
      status: 'False',
      reason: 'Evaluated',
      message: 'spec.locationExpression can be evaluated everywhere',
    };
  }
  const more = destinations > 1 ? `${destinations} destinations` : 'one destination';
  // The message about too high a cost has its own remedy.
  const remedy = sample.every((line) => line.endsWith(costExceeded)) ? '' : '; check with has() or "in" first';
  const message = `spec.locationExpression fails at ${more}, which ${destinations > 1 ? 'do' : 'does'} not match for this reason${remedy}. ${sample.join('; ')}`;
  return { type, status: 'True', reason: 'EvaluationFailed', message };
}
