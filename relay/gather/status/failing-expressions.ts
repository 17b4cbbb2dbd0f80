/**
 * Where a placement's expression can't be evaluated: no match there, and its author reads of it. It is told from what the node itself knows of its
 * agents and, by their label summaries, of what is below its relays: a subtree where an expression fails everywhere is pruned for that very reason, and
 * would never report it.
 */

import { childPath } from '../../../core/identity/node-path.ts';
import { costExceeded } from '../../../core/match/cel/budget.ts';
import { type NewCondition, withCondition } from '../../../core/object/conditions.ts';
import type { Condition } from '../../../core/object/meta.ts';
import { type Child, failingAt } from '../../children/children.ts';
import type { Placement } from '../../placements/placement.ts';

export interface ExpressionFailures {
  /** Destinations, as far as they are certain. */
  readonly destinations: number;
  /** The first by path, at most `sampleMax`. */
  readonly sample: readonly string[];
}

/** As many as a line of text can hold that a person reads. */
const sampleMax = 3;
/** Placements remembered for one state of a child; beyond it, those of before are evaluated again. */
const rememberedMax = 1_024;
const type = 'ExpressionFailing';

type Failing = ReturnType<typeof failingAt>;

export class FailingExpressions {
  readonly #path: string;
  readonly #children: ReadonlyMap<string, Child>;
  /** A child that changes is another object: a status that is written again asks only for those. */
  readonly #known = new WeakMap<Child, Map<string, Failing>>();

  constructor(path: string, children: ReadonlyMap<string, Child>) {
    this.#path = path;
    this.#children = children;
  }

  /** Undefined for a placement without an expression. */
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
    const known = this.#known.get(child) ?? new Map<string, Failing>();
    this.#known.set(child, known);
    const failing = known.get(rule) ?? failingAt(placement, child);
    if (known.size >= rememberedMax && !known.has(rule)) known.clear();
    known.set(rule, failing);
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
  // What costs too much says its own remedy.
  const remedy = sample.every((line) => line.endsWith(costExceeded)) ? '' : '; ask with has() or "in" first';
  const message = `spec.locationExpression fails at ${more}, which ${destinations > 1 ? 'do' : 'does'} not match for that${remedy}. ${sample.join('; ')}`;
  return { type, status: 'True', reason: 'EvaluationFailed', message };
}
