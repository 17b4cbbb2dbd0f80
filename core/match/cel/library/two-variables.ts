/**
 * Comprehensions with two variables (ext.TwoVarComprehensions of cel-go): key and value of a map, or index and item of a list.
 */
import type { Environment } from '@marcbachmann/cel-js';
import { chargeSteps } from '../base/charge.ts';
import {
  addMacro,
  type Call,
  checkCondition,
  type Evaluator,
  type Macro,
  type MacroChecker,
  type MacroNode,
  type MacroScope,
  sizeOf,
  type Type,
  variableOf,
} from './macros.ts';

/** One turn of a loop. */
interface Turn {
  readonly key: unknown;
  /** Evaluates a part of the loop's body. */
  run(node: MacroNode): unknown;
  /** The same, with an error as the result. */
  attempt(node: MacroNode): unknown;
}

/** A kind of comprehension. `body`: the arguments after the variables. */
interface Comprehension {
  typeOf(checker: MacroChecker, body: readonly MacroNode[], context: MacroScope, keyType: Type): Type;
  resultOf(turns: Iterable<Turn>, body: readonly MacroNode[]): unknown;
}

export function addTwoVariables(environment: Environment): void {
  const add = (name: string, bodyLength: number, comprehension: Comprehension) =>
    addMacro(environment, name, 2 + bodyLength, (call) => loop(call, comprehension));
  add('all', 1, quantifier(false));
  add('exists', 1, quantifier(true));
  add('existsOne', 1, existsOne);
  add('exists_one', 1, existsOne);
  for (const bodyLength of [1, 2]) {
    add('transformList', bodyLength, transformList);
    add('transformMap', bodyLength, transformMap);
    add('transformMapEntry', bodyLength, transformMapEntry);
  }
}

function loop({ receiver, args }: Call, comprehension: Comprehension): Macro {
  const body = args.slice(2);
  const turnSteps = sizeOf(args);
  let contexts: MacroScopes;
  return {
    async: false,
    typeCheck(checker, _, context) {
      const [first, second] = [variableOf(checker, args[0]!), variableOf(checker, args[1]!)];
      if (first === second) throw checker.createError('invalid_macro_argument', 'duplicate variable name', args[1]!);
      const { keyType, valueType } = itemTypes(checker, receiver, context);
      const outer = context.forkWithVariable(first, keyType);
      contexts = { outer, inner: outer.forkWithVariable(second, valueType) };
      return comprehension.typeOf(checker, body, contexts.inner, keyType);
    },
    evaluate(evaluator, _, context) {
      const entries = entriesOf(evaluator.run(receiver, context));
      return comprehension.resultOf(turnsOf(evaluator, entries, contexts, context, turnSteps), body);
    },
  };
}

/** The contexts of the variables of a loop. The second variable is known inside of the first. */
interface MacroScopes {
  readonly outer: MacroScope;
  readonly inner: MacroScope;
}

function itemTypes(
  checker: MacroChecker,
  receiver: MacroNode,
  context: MacroScope,
): { keyType: Type; valueType: Type } {
  const type = checker.check(receiver, context);
  if (type.kind === 'list') return { keyType: checker.getType('int'), valueType: type.valueType! };
  if (type.kind === 'map') return { keyType: type.keyType!, valueType: type.valueType! };
  if (type.kind === 'dyn') return { keyType: type, valueType: type };
  const message = `expression of type '${type.name}' cannot be range of a comprehension (must be list, map, or dynamic)`;
  throw checker.createError('invalid_comprehension_range', message, receiver);
}

function* turnsOf(
  evaluator: Evaluator,
  entries: Iterable<readonly [unknown, unknown]>,
  { outer, inner }: MacroScopes,
  context: MacroScope,
  steps: number,
): Generator<Turn> {
  for (const [key, value] of entries) {
    chargeSteps(steps);
    const both = inner.reuse(outer.reuse(context).setIterValue(key, evaluator)).setIterValue(value, evaluator);
    yield {
      key,
      run: (node) => evaluator.run(node, both),
      attempt: (node) => evaluator.tryEval(node, both),
    };
  }
}

function entriesOf(range: unknown): Iterable<readonly [unknown, unknown]> {
  if (Array.isArray(range)) return range.map((item, index) => [BigInt(index), item] as const);
  if (range instanceof Map) return [...range];
  if (typeof range === 'object' && range !== null) return Object.entries(range);
  throw new TypeError('a comprehension needs a list or a map');
}

/** `all` and `exists`: the first turn with the result `decisive` decides. An error counts only if no turn decides. */
function quantifier(decisive: boolean): Comprehension {
  return {
    typeOf: condition,
    resultOf(turns, [predicate]) {
      let failure: Error | undefined;
      for (const turn of turns) {
        const result = turn.attempt(predicate!);
        if (result === decisive) return decisive;
        if (result !== !decisive)
          failure ??= result instanceof Error ? result : new TypeError('the predicate must be bool');
      }
      if (failure) throw failure;
      return !decisive;
    },
  };
}

const existsOne: Comprehension = {
  typeOf: condition,
  resultOf(turns, [predicate]) {
    let count = 0;
    for (const turn of turns) if (turn.run(predicate!) === true) count++;
    return count === 1;
  },
};

const transformList: Comprehension = {
  typeOf: (checker, body, context) => checker.registry.getListType(transformed(checker, body, context)),
  resultOf: (turns, body) => [...selected(turns, body)].map(([, value]) => value),
};

const transformMap: Comprehension = {
  typeOf: (checker, body, context, keyType) =>
    checker.registry.getMapType(keyType, transformed(checker, body, context)),
  resultOf: (turns, body) => new Map(selected(turns, body)),
};

const transformMapEntry: Comprehension = {
  typeOf(checker, body, context) {
    const type = transformed(checker, body, context);
    if (type.kind === 'map' || type.kind === 'dyn') return type;
    throw checker.createError('invalid_macro_argument', `the entry must be a map, got '${type.name}'`, body.at(-1)!);
  },
  resultOf(turns, body) {
    const found = new Map<unknown, unknown>();
    for (const [, entries] of selected(turns, body)) {
      for (const [key, value] of entriesOf(entries)) {
        if (found.has(key)) throw new TypeError(`insert failed: key ${String(key)} already exists`);
        found.set(key, value);
      }
    }
    return found;
  },
};

function condition(checker: MacroChecker, [predicate]: readonly MacroNode[], context: MacroScope): Type {
  checkCondition(checker, predicate!, context);
  return checker.getType('bool');
}

/** The type of the transformation, which is the last part of the body. A part before it is a filter. */
function transformed(checker: MacroChecker, body: readonly MacroNode[], context: MacroScope): Type {
  if (body.length === 2) checkCondition(checker, body[0]!, context);
  return checker.check(body.at(-1)!, context);
}

function* selected(turns: Iterable<Turn>, body: readonly MacroNode[]): Generator<readonly [unknown, unknown]> {
  for (const turn of turns) {
    const isTaken = body.length === 1 || turn.run(body[0]!);
    if (typeof isTaken !== 'boolean') throw new TypeError('the filter must be bool');
    if (isTaken) yield [turn.key, turn.run(body.at(-1)!)];
  }
}
