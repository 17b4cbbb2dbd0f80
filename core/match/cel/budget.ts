/**
 * Limits the cost of an expression. The engine has no limit, and loops can be inside of loops. So each turn of a loop costs the size of its body, each
 * concatenation costs the size of its result, and each call costs the texts that it reads and returns. The first charge that exceeds the budget throws.
 * Functions whose result can be much larger than their arguments charge before they make the result (`chargeText`). The charges are added to the engine's
 * syntax tree after the check; at this time, a loop is a node `comprehension` with a node `step`.
 */
import type { ParseResult } from '@marcbachmann/cel-js';
import { type CelNode, eachNode, isNode } from './base/cel-node.ts';
import { charged, unitsPerStep } from './base/charge.ts';
import { CelError } from './cel-error.ts';
import { prepare } from './prepare.ts';

export interface EvaluationBudget {
  /** The number of remaining steps. Below 0: the budget is exceeded. */
  remaining: number;
}

/**
 * Budget for all rules of one object together: about 50 ms. Kubernetes allows ten million units for an expression and a hundred million for an object, which
 * is about one second.
 */
const budgetSteps = 1_000_000;

export const costExceeded =
  'expression exceeds its cost limit; use fewer loops inside of others, or shorter lists and texts';

export function defaultBudget(): EvaluationBudget {
  return { remaining: budgetSteps };
}

export interface BudgetedExpression {
  /** The variables of the expression, keyed by name, with the fields that the expression reads. Undefined: the expression reads the variable as a whole. */
  readonly names: ReadonlyMap<string, ReadonlySet<string> | undefined>;
  run(bindings: Readonly<Record<string, unknown>>, budget: EvaluationBudget): unknown;
}

/** Characters of text that one step pays for when a call reads them. */
const scannedPerStep = 64;

/** Checks the expression, which expands macros, and then wraps the nodes that cost. */
export function instrument(parsed: ParseResult): BudgetedExpression {
  const state: { budget: EvaluationBudget } = { budget: { remaining: 0 } };
  const charge = (steps: number): void => {
    state.budget.remaining -= steps;
    if (state.budget.remaining < 0) throw new CelError('cost', costExceeded);
  };
  const tree: unknown = parsed.ast;
  prepare(tree);
  const names = usesOf(tree);
  const checked = parsed.check();
  if (!checked.valid)
    throw new CelError('type', checked.error?.summary ?? 'not an expression', { cause: checked.error });
  wrap(tree, charge);
  return {
    names,
    run(bindings, budget) {
      state.budget = budget;
      charge(1);
      return charged(charge, () => parsed(bindings));
    },
  };
}

function usesOf(tree: unknown): Map<string, Set<string> | undefined> {
  const uses = new Map<string, Set<string> | undefined>();
  const ofField = new Set<CelNode>();
  eachNode(tree, (node) => {
    if (node.op === 'id' && typeof node.args === 'string') {
      if (!ofField.has(node)) uses.set(node.args, undefined);
      return;
    }
    if ((node.op !== '.' && node.op !== '.?') || !Array.isArray(node.args)) return;
    const [of, field]: unknown[] = node.args;
    if (!isNode(of) || of.op !== 'id' || typeof of.args !== 'string' || typeof field !== 'string') return;
    ofField.add(of);
    if (!uses.has(of.args)) uses.set(of.args, new Set());
    uses.get(of.args)?.add(field);
  });
  return uses;
}

function wrap(tree: unknown, charge: (steps: number) => void): void {
  eachNode(tree, (node) => {
    if (node.op === '+') wrapConcatenation(node, charge);
    if (node.op === 'rcall') wrapCall(node, charge);
    const loop = node.meta.alternate;
    if (loop?.op === 'comprehension') wrapLoop(node, loop, charge);
  });
}

function wrapLoop(node: CelNode, loop: CelNode, charge: (steps: number) => void): void {
  const { step } = loop.args as { step: CelNode };
  let bodyNodes = 0;
  eachNode(node.args, () => {
    bodyNodes += 1;
  });
  const evaluate = step.meta.evaluate;
  if (!evaluate) throw new Error('a loop of the CEL engine has no step to charge');
  step.setMeta('evaluate', (evaluator, at, context) => {
    charge(bodyNodes);
    return evaluate(evaluator, at, context);
  });
}

/** Charges for the text on which a function is called: the function reads it, even if it returns only a number. */
function wrapCall(node: CelNode, charge: (steps: number) => void): void {
  const receiver: unknown = Array.isArray(node.args) ? node.args[1] : undefined;
  const evaluate = isNode(receiver) ? receiver.meta.evaluate : undefined;
  // An expanded macro has no receiver.
  if (!isNode(receiver) || !evaluate) return;
  receiver.setMeta('evaluate', (evaluator, at, context) => {
    const value = evaluate(evaluator, at, context);
    if (typeof value === 'string' && value.length >= scannedPerStep) charge(Math.floor(value.length / scannedPerStep));
    return value;
  });
}

function wrapConcatenation(node: CelNode, charge: (steps: number) => void): void {
  const evaluate = node.meta.evaluate;
  if (!evaluate) throw new Error('an addition of the CEL engine has nothing to charge');
  node.setMeta('evaluate', (evaluator, at, context) => {
    const sum = evaluate(evaluator, at, context);
    if (typeof sum === 'string' || Array.isArray(sum)) charge(Math.ceil(sum.length / unitsPerStep));
    return sum;
  });
}
