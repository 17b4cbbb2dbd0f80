/**
 * What an expression may cost. The engine has no limit of its own, and loops nest: every turn of a loop is charged with the size of its
 * body, every concatenation with what it makes, every call with the texts that it looks through and gives; and the first that finds nothing
 * left throws. Functions whose result can be much larger than what they are given ask before they make it (`chargeText`). Works on the
 * engine's syntax tree after the check, where a loop is a node `comprehension` with a node `step`.
 */
import type { ParseResult } from '@marcbachmann/cel-js';
import { describeError } from '../../runtime/errors.ts';
import { CelError } from './cel-error.ts';
import { compilePattern } from './pattern.ts';

export interface EvaluationBudget {
  /** Steps left; below 0: exceeded. */
  remaining: number;
}

/**
 * For all rules of one object together: about 50 ms. Kubernetes allows ten million units an expression and a hundred
 * million an object, a second or so.
 */
const budgetSteps = 1_000_000;

export const costExceeded =
  'expression exceeds its cost limit; use fewer loops inside of others, or shorter lists and texts';

export function defaultBudget(): EvaluationBudget {
  return { remaining: budgetSteps };
}

export interface BudgetedExpression {
  /** Variables by name, with the fields of each that are named; undefined: used as a whole somewhere. */
  readonly names: ReadonlyMap<string, ReadonlySet<string> | undefined>;
  run(bindings: Readonly<Record<string, unknown>>, budget: EvaluationBudget): unknown;
}

type Evaluate = (evaluator: unknown, node: unknown, context: unknown) => unknown;

/** What of the engine's nodes is used here; version 8 is pinned, and a test stands on it. */
interface CelNode {
  readonly op: string;
  readonly args: unknown;
  readonly meta: { evaluate?: Evaluate; alternate?: CelNode };
  setMeta(key: 'evaluate', evaluate: Evaluate): unknown;
}

/** Characters or items a step pays for in a concatenation. */
const unitsPerStep = 16;
/** Characters that a call looks through in a step. */
const scannedPerStep = 64;

/** Of the expression that is evaluated now; evaluation is synchronous. */
let chargeNow: ((steps: number) => void) | undefined;

/** For functions of the library: throws when so many characters, or items, are not to be had any more. */
export function chargeText(characters: number): void {
  chargeNow?.(Math.ceil(characters / unitsPerStep));
}

/** Checks (which expands macros) and then wraps the nodes that cost. */
export function instrument(parsed: ParseResult): BudgetedExpression {
  const state: { budget: EvaluationBudget } = { budget: { remaining: 0 } };
  const charge = (steps: number): void => {
    state.budget.remaining -= steps;
    if (state.budget.remaining < 0) throw new CelError('cost', costExceeded);
  };
  const tree: unknown = parsed.ast;
  renameCalls(tree);
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
      const before = chargeNow;
      chargeNow = charge;
      try {
        return parsed(bindings);
      } finally {
        chargeNow = before;
      }
    },
  };
}

/** The engine's own functions can't be replaced: calls go to the guarded ones of library.ts. */
const ownFunctions: ReadonlyMap<string, string> = new Map([
  // JavaScript's RegExp.
  ['matches', 'matchesPattern'],
  // A short list and a long separator make any length.
  ['join', 'joinTexts'],
]);

function renameCalls(tree: unknown): void {
  eachNode(tree, (node) => {
    const args = node.args;
    if (node.op !== 'rcall' || !Array.isArray(args)) return;
    if (typeof args[0] === 'string') args[0] = ownFunctions.get(args[0]) ?? args[0];
    if (args[0] !== 'matchesPattern') return;
    const [pattern]: unknown[] = Array.isArray(args[2]) ? args[2] : [];
    if (isNode(pattern) && pattern.op === 'value' && typeof pattern.args === 'string') checkPattern(pattern.args);
  });
}

/** A literal pattern that is wrong is found when the expression is compiled, not when it is used. */
function checkPattern(source: string): void {
  try {
    compilePattern(source);
  } catch (error) {
    throw new CelError('type', `${JSON.stringify(source)} is no regular expression: ${describeError(error)}`, {
      cause: error,
    });
  }
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

/** What is called upon is looked through, also by a function that gives a number. */
function wrapCall(node: CelNode, charge: (steps: number) => void): void {
  const receiver: unknown = Array.isArray(node.args) ? node.args[1] : undefined;
  const evaluate = isNode(receiver) ? receiver.meta.evaluate : undefined;
  // A macro has no receiver of its own any more.
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

function eachNode(tree: unknown, visit: (node: CelNode) => void): void {
  if (Array.isArray(tree)) {
    for (const item of tree) eachNode(item, visit);
  } else if (isNode(tree)) {
    visit(tree);
    eachNode(tree.args, visit);
  }
}

function isNode(value: unknown): value is CelNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value && 'meta' in value;
}
