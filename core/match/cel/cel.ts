/**
 * CEL, the Common Expression Language (https://github.com/google/cel-spec), behind an interface of this project. Expressions are compiled once against
 * declared variables and evaluated often. A budget limits their time.
 *
 * This project adds three things to the engine (@marcbachmann/cel-js): RE2 evaluates regular expressions (pattern.ts); each turn of a loop and each
 * concatenation is charged to a budget (budget.ts); and library.ts has the functions that Kubernetes adds to the language. Types are checked only when an
 * expression is compiled. At run time all values are dynamic, so they need no wrappers.
 */
import { type Environment, EvaluationError, ParseError, type ParseResult } from '@marcbachmann/cel-js';
import { describeError } from '../../runtime/errors.ts';
import type { CelNode } from './base/cel-node.ts';
import { withOptionalCalls } from './base/optional-elements.ts';
import { costExceeded, defaultBudget, type EvaluationBudget, instrument } from './budget.ts';
import { CelError } from './cel-error.ts';
import { estimateCost, type SizeOf } from './cost/estimate.ts';
import { restrict } from './kubernetes-dialect.ts';
import { baseEnvironment } from './library/library.ts';
import { prepare } from './prepare.ts';
import type { CelValue } from './values.ts';

export type CelType =
  | 'string'
  | 'int'
  | 'double'
  | 'bool'
  | 'bytes'
  | 'timestamp'
  | 'duration'
  | 'null'
  | 'dyn'
  | { readonly list: CelType }
  /** Keys are strings. */
  | { readonly map: CelType }
  /** An expression can read only these fields. Each field may be missing at run time. */
  | { readonly fields: Readonly<Record<string, CelType>> }
  | { readonly optional: CelType };

export interface CelProgram {
  readonly source: string;
  /** The type of the result, for example `string`, `int` or `map<string, dyn>`. `dyn`: the type depends on the values. */
  readonly resultType: string;
  /** The variables that the expression reads. */
  readonly variables: ReadonlySet<string>;
  /** The fields of a variable that the expression reads; callers may leave out all others. Undefined: the expression reads the variable as a whole. */
  fieldsOf(variable: string): ReadonlySet<string> | undefined;
  /** Throws CelError of kind `evaluation` or `cost`. Several evaluations can share one budget. */
  evaluate(bindings: Readonly<Record<string, CelValue>>, budget?: EvaluationBudget): CelValue;
}

const nothing: ReadonlySet<string> = new Set();

/** The engine's codes for a missing field and a missing item. */
const missingCodes: ReadonlySet<string> = new Set(['no_such_key', 'index_out_of_bounds']);

/** Limit for the length of an expression: far more than any rule needs. */
const sourceCharactersMax = 16_384;

/**
 * Compiles an expression. `result`: the type that the expression must have. `dialect`: `kubernetes` refuses what a Kubernetes API server refuses, and `banyan`
 * also takes functions that only the engine has. Throws CelError of kind `syntax`, `type` or `result`.
 */
export function compileCel(
  source: string,
  variables: Readonly<Record<string, CelType>>,
  result?: 'bool' | 'string',
  dialect: 'banyan' | 'kubernetes' = 'banyan',
): CelProgram {
  if (source.length > sourceCharactersMax) {
    throw new CelError(
      'syntax',
      `expression has ${source.length} characters, at most ${sourceCharactersMax} are allowed`,
    );
  }
  const resultType = checkTypes(source, variables, result, dialect);
  const environment = baseEnvironment.clone();
  for (const name of Object.keys(variables)) environment.registerVariable(name, 'dyn');
  const parsed = environment.parse(sourceIn(dialect, source));
  const guarded = instrument(parsed);
  const named = new Set(Object.keys(variables).filter((name) => guarded.names.has(name)));
  return {
    source,
    resultType,
    variables: named,
    fieldsOf: (variable) => (guarded.names.has(variable) ? guarded.names.get(variable) : nothing),
    evaluate(bindings, budget = defaultBudget()) {
      const value = run(() => guarded.run(bindings, budget) as CelValue);
      if (budget.remaining < 0) throw new CelError('cost', costExceeded);
      return value;
    },
  };
}

function run(evaluate: () => CelValue): CelValue {
  try {
    return evaluate();
  } catch (error) {
    if (error instanceof CelError) throw error;
    const text = error instanceof EvaluationError ? error.summary : describeError(error);
    const isMissing = error instanceof EvaluationError && missingCodes.has(error.code);
    throw new CelError('evaluation', lowerFirst(text), { cause: error, isMissing });
  }
}

function checkTypes(
  source: string,
  variables: Readonly<Record<string, CelType>>,
  result: string | undefined,
  dialect: 'banyan' | 'kubernetes',
): string {
  const checked = parse(environmentOf(variables), source, dialect).check();
  if (!checked.valid) {
    const { error } = checked;
    if (error instanceof CelError) throw error;
    const kind = error?.name === 'ParseError' ? 'syntax' : 'type';
    throw new CelError(kind, lowerFirst(error?.summary ?? 'not an expression'), { cause: error });
  }
  if (result && checked.type !== result && checked.type !== 'dyn') {
    throw new CelError('result', `must be of type ${result}, is ${checked.type}`);
  }
  return checked.type ?? 'dyn';
}

/**
 * The greatest cost of an expression, in the unit of Kubernetes (cost/estimate.ts). `sizeOf`: the greatest sizes of the values that the variables have.
 * Undefined: the expression does not compile in the dialect of Kubernetes.
 */
export function estimateCel(
  source: string,
  variables: Readonly<Record<string, CelType>>,
  sizeOf: SizeOf,
): number | undefined {
  try {
    const parsed = parse(environmentOf(variables), source, 'kubernetes');
    return parsed.check().valid ? estimateCost(parsed.ast as unknown as CelNode, sizeOf) : undefined;
  } catch (error) {
    if (error instanceof CelError) return undefined;
    throw error;
  }
}

function environmentOf(variables: Readonly<Record<string, CelType>>): Environment {
  const environment = baseEnvironment.clone();
  const names: TypeNames = { environment, byType: new Map() };
  for (const [name, type] of Object.entries(variables)) environment.registerVariable(name, typeName(type, names));
  return environment;
}

/** Returns the text that the engine parses. */
function sourceIn(dialect: 'banyan' | 'kubernetes', source: string): string {
  return dialect === 'kubernetes' ? withOptionalCalls(source) : source;
}

/** Throws CelError. */
function parse(environment: Environment, source: string, dialect: 'banyan' | 'kubernetes'): ParseResult {
  let parsed: ParseResult;
  try {
    parsed = environment.parse(sourceIn(dialect, source));
  } catch (error) {
    const text = error instanceof ParseError ? error.summary : describeError(error);
    throw new CelError('syntax', lowerFirst(text), { cause: error });
  }
  if (dialect === 'kubernetes') restrict(parsed.ast);
  prepare(parsed.ast);
  return parsed;
}

/** Names of declared types. The same type always gets the same name, so that two values of this type can be compared: `self == oldSelf`. */
interface TypeNames {
  readonly environment: Environment;
  readonly byType: Map<CelType, string>;
}

function typeName(type: CelType, names: TypeNames): string {
  if (type === 'timestamp') return 'google.protobuf.Timestamp';
  if (type === 'duration') return 'google.protobuf.Duration';
  if (typeof type === 'string') return type;
  if ('list' in type) return `list<${typeName(type.list, names)}>`;
  if ('map' in type) return `map<string, ${typeName(type.map, names)}>`;
  if ('optional' in type) return `optional<${typeName(type.optional, names)}>`;
  const registered = names.byType.get(type);
  if (registered !== undefined) return registered;
  const fields = Object.fromEntries(Object.entries(type.fields).map(([name, field]) => [name, typeName(field, names)]));
  const name = `Object${names.byType.size}`;
  names.byType.set(type, name);
  names.environment.registerType(name, { fields });
  names.environment.registerOperator(`${name} == ${name}`, (a, b) => a === b);
  return name;
}

function lowerFirst(text: string): string {
  return /^[A-Z][a-z]/.test(text) ? text[0]!.toLowerCase() + text.slice(1) : text;
}
