/** The engine's interface for macros, as far as the libraries use it. Version 8 of the engine is pinned, and tests check these forms. */
import type { Environment } from '@marcbachmann/cel-js';
import { definer } from './define.ts';

export interface Type {
  readonly kind: string;
  readonly name: string;
  readonly keyType?: Type;
  readonly valueType?: Type;
  unify(registry: unknown, other: Type): Type | null;
}

export interface MacroNode {
  readonly op: string;
  readonly args: unknown;
}

/** The variables at one place of an expression. */
export interface MacroScope {
  forkWithVariable(name: string, type: Type): MacroScope;
  reuse(parent: MacroScope): MacroScope;
  setIterValue(value: unknown, evaluator: Evaluator): MacroScope;
}

export interface MacroChecker {
  readonly registry: {
    getListType(item: Type): Type;
    getMapType(key: Type, value: Type): Type;
    getOptionalType(value: Type): Type;
  };
  check(node: MacroNode, context: MacroScope): Type;
  getType(name: string): Type;
  createError(code: string, message: string, node: MacroNode): Error;
}

export interface Evaluator {
  run(node: MacroNode, context: MacroScope): unknown;
  /** Returns an error instead of throwing it. */
  tryEval(node: MacroNode, context: MacroScope): unknown;
}

export interface Macro {
  readonly async: false;
  typeCheck(checker: MacroChecker, macro: unknown, context: MacroScope): Type;
  evaluate(evaluator: Evaluator, macro: unknown, context: MacroScope): unknown;
}

/** The call that a macro replaces. */
export interface Call {
  readonly receiver: MacroNode;
  readonly args: readonly MacroNode[];
}

/** Declares `receiver.name(…)` with a number of arguments that are not evaluated before the macro runs. */
export function addMacro(environment: Environment, name: string, argumentCount: number, expand: (call: Call) => Macro) {
  const parameters = Array.from({ length: argumentCount }, () => 'ast').join(', ');
  definer(environment)(`list.${name}(${parameters}): dyn`, expand as (...args: never[]) => unknown);
}

/** The name of a variable that the macro binds. Throws if the argument is no name. */
export function variableOf(checker: MacroChecker, node: MacroNode): string {
  if (node.op === 'id' && typeof node.args === 'string') return node.args;
  throw checker.createError('invalid_macro_argument', 'argument must be a simple name', node);
}

/** Throws if the expression can't be true or false. */
export function checkCondition(checker: MacroChecker, node: MacroNode, context: MacroScope): void {
  const type = checker.check(node, context);
  if (type.name === 'bool' || type.kind === 'dyn') return;
  throw checker.createError('invalid_condition_type', `condition must be bool, got '${type.name}'`, node);
}

/** The number of nodes of the arguments: what one turn of a loop costs. */
export function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + sizeOf(item), 0);
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value ? 1 + sizeOf(value.args) : 0;
}
