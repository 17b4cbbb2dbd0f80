/**
 * Evaluates an expression for all places of a summary together, although its variables are only partly known. Each sub-expression gets the set of its possible
 * results (some values, numbers in a range, or anything), and whether it may fail. The result at each single place is in this set. So if the set does not
 * contain `true`, the expression is true at no place. Relations between two variables are not known; this only makes more answers "maybe".
 *
 * For operators on known values, the engine evaluates a small expression with only this operator. This file does not implement the operators again, because
 * they could then differ from the engine's. For the same reason, an interpreter of our own with exact semantics was rejected.
 */
import { type CelProgram, compileCel } from './cel.ts';
import { CelError } from './cel-error.ts';
import { fieldPathOf, isSyntax, partsOf, type Syntax } from './syntax.ts';
import type { CelValue } from './values.ts';

/** The possible results of an expression. An error counts as no match. */
export interface PossibleResults {
  readonly true: boolean;
  readonly false: boolean;
  readonly error: boolean;
}

/** The knowledge about one field, over all places together. The values of the field are strings. */
export interface FieldFact {
  readonly mayBePresent: boolean;
  readonly mayBeAbsent: boolean;
  /** All values of the field; absent: any string. */
  readonly values?: readonly string[];
  /** Only without `values`: the range of those values that are numbers. Empty: no value is a number. Absent: unknown. */
  readonly numbers?: readonly [low: number, high: number] | readonly [];
  /** Only without `values`: how all values begin. */
  readonly under?: TextsUnder;
}

/** Texts that are `above`, or begin with `above` and the separator. */
export interface TextsUnder {
  readonly above: string;
  readonly separator: string;
}

export function isUnder({ above, separator }: TextsUnder, value: string): boolean {
  return value === above || value.startsWith(above + separator);
}

export interface KnownFields {
  /** Returns the fact for a path, for example `["properties", "x"]`. Undefined: nothing is known. */
  fieldOf(path: readonly string[]): FieldFact | undefined;
}

/** The possible results of a sub-expression. */
type ValueRange =
  | { readonly kind: 'some'; readonly values: readonly CelValue[]; readonly error: boolean }
  | { readonly kind: 'numbers'; readonly low: number; readonly high: number; readonly error: boolean }
  | {
      readonly kind: 'texts';
      readonly numbers?: FieldFact['numbers'];
      readonly under?: TextsUnder;
      readonly error: boolean;
    }
  | { readonly kind: 'any' };

const any: ValueRange = { kind: 'any' };
const nothing: ValueRange = { kind: 'some', values: [], error: true };

/** Limit for the combinations of values for which one operator is evaluated. With more combinations, the result is "anything". */
const combinationsMax = 1_024;
/** Limit for the engine's evaluations for one expression: about 20 ms. After that, the results are "anything". */
const evaluationsMax = 16_384;

/** Evaluates an expression with partly known variables. Never throws CelError of kind `syntax`, because the caller has parsed the expression. */
export function evaluateAbstractly(syntax: Syntax, facts: KnownFields): PossibleResults {
  const state: State = { facts, evaluationsLeft: evaluationsMax };
  return outcomeOf(rangeOf(syntax, state));
}

interface State {
  readonly facts: KnownFields;
  evaluationsLeft: number;
}

/** Macros that bind a variable or do not evaluate their arguments. So the arguments of these calls cannot be evaluated on their own. */
const macros = new Set(['all', 'exists', 'exists_one', 'existsOne', 'map', 'filter', 'bind', 'has', 'dyn']);
for (const name of ['optMap', 'optFlatMap', 'transformList', 'transformMap', 'transformMapEntry']) macros.add(name);

function rangeOf(node: Syntax, state: State): ValueRange {
  const field = fieldRange(node, state);
  if (field) return field;
  switch (node.op) {
    case 'value':
      return { kind: 'some', values: [node.args as CelValue], error: false };
    case '&&':
    case '||':
      return logical(node, state);
    case '?:':
      return choice(node, state);
    case 'in':
      return membership(node, state);
    case 'call':
    case 'rcall':
      return call(node, state);
    case '<':
    case '<=':
    case '>':
    case '>=':
    case '==':
    case '!=':
      return comparison(node, state);
    default:
      return applied(node, state);
  }
}

function fieldRange(node: Syntax, { facts }: State): ValueRange | undefined {
  const path = fieldPathOf(node);
  if (!path) return undefined;
  const fact = facts.fieldOf(path);
  if (!fact) return any;
  if (!fact.mayBePresent) return nothing;
  const error = fact.mayBeAbsent;
  if (fact.values) return { kind: 'some', values: fact.values, error };
  const { numbers, under } = fact;
  return { kind: 'texts', error, ...(numbers ? { numbers } : {}), ...(under ? { under } : {}) };
}

// -------------------------------------------------------------------------------------------------- logic

/** Evaluates `&&` and `||`. An error of one side does not count if the other side decides: https://github.com/google/cel-spec, "Logical Operators". */
function logical(node: Syntax, state: State): ValueRange {
  const [a, b] = partsOf(node).map((part) => outcomeOf(rangeOf(part, state))) as [PossibleResults, PossibleResults];
  const isOr = node.op === '||';
  const [aUndecided, bUndecided] = isOr ? [a.false, b.false] : [a.true, b.true];
  return fromFlags({
    true: isOr ? a.true || b.true : a.true && b.true,
    false: isOr ? a.false && b.false : a.false || b.false,
    error: (a.error && (b.error || bUndecided)) || (b.error && aUndecided),
  });
}

function choice(node: Syntax, state: State): ValueRange {
  const [condition, yes, no] = partsOf(node) as [Syntax, Syntax, Syntax];
  const decided = outcomeOf(rangeOf(condition, state));
  const branches = [
    ...(decided.true ? [rangeOf(yes, state)] : []),
    ...(decided.false ? [rangeOf(no, state)] : []),
    ...(decided.error ? [nothing] : []),
  ];
  return branches.reduce(join, { kind: 'some', values: [], error: false });
}

function join(a: ValueRange, b: ValueRange): ValueRange {
  if (a.kind === 'some' && a.values.length === 0) return withError(b, a.error);
  if (b.kind === 'some' && b.values.length === 0) return withError(a, b.error);
  if (a.kind !== 'some' || b.kind !== 'some') return any;
  return { kind: 'some', values: [...a.values, ...b.values], error: a.error || b.error };
}

function withError(range: ValueRange, error: boolean): ValueRange {
  return range.kind === 'any' || !error ? range : { ...range, error };
}

function outcomeOf(range: ValueRange): PossibleResults {
  switch (range.kind) {
    case 'some':
      return {
        true: range.values.includes(true),
        false: range.values.includes(false),
        // A value that is not boolean is an error as a condition.
        error: range.error || range.values.some((value) => typeof value !== 'boolean'),
      };
    case 'numbers':
    case 'texts':
      return { true: false, false: false, error: true };
    case 'any':
      return { true: true, false: true, error: true };
  }
}

function fromFlags(outcome: PossibleResults): ValueRange {
  const values = [...(outcome.true ? [true] : []), ...(outcome.false ? [false] : [])];
  return { kind: 'some', values, error: outcome.error };
}

// -------------------------------------------------------------------------------------------------- fields

/** Evaluates `in`. `"key" in properties` asks the same as `has()`. For a list or an unknown map, `in` is evaluated like other operators. */
function membership(node: Syntax, state: State): ValueRange {
  const [item, list] = partsOf(node) as [Syntax, Syntax];
  const path = fieldPathOf(list);
  if (path && item.op === 'value' && typeof item.args === 'string') {
    const fact = state.facts.fieldOf([...path, item.args]);
    return fact ? presence(fact) : any;
  }
  const [text, items] = [rangeOf(item, state), rangeOf(list, state)];
  if (text.kind !== 'texts' || !text.under || items.kind !== 'some') return operated(node, [text, items], state);
  const values = items.values.flatMap((value): CelValue[] => (Array.isArray(value) ? value : [value]));
  return equalityUnder('==', text, { kind: 'some', values, error: items.error }) ?? any;
}

function presence(fact: FieldFact): ValueRange {
  return fromFlags({ true: fact.mayBePresent, false: fact.mayBeAbsent, error: false });
}

function call(node: Syntax, state: State): ValueRange {
  const [name]: unknown[] = Array.isArray(node.args) ? node.args : [];
  const [first, ...rest] = partsOf(node);
  if (typeof name !== 'string') return any;
  if (node.op === 'call' && name === 'has' && first && rest.length === 0) {
    const path = fieldPathOf(first);
    const fact = path && state.facts.fieldOf(path);
    return fact ? presence(fact) : any;
  }
  if (macros.has(name)) return any;
  if (node.op === 'call' && (name === 'double' || name === 'int') && first && rest.length === 0) {
    const text = rangeOf(first, state);
    if (text.kind === 'texts') return numbersIn(text.numbers);
  }
  const [receiver, argument] = partsOf(node);
  if (node.op === 'rcall' && name === 'startsWith' && receiver && argument) {
    const [text, start] = [rangeOf(receiver, state), rangeOf(argument, state)];
    if (text.kind === 'texts' && text.under && start.kind === 'some')
      return beginning(text.under, start.values, text.error || start.error);
  }
  return applied(node, state);
}

/** Evaluates `startsWith` for texts of which only the beginning is known. */
function beginning({ above, separator }: TextsUnder, starts: readonly CelValue[], error: boolean): ValueRange {
  if (!starts.every((start) => typeof start === 'string')) return any;
  const isCertain = (start: string) => above.startsWith(start);
  const isPossible = (start: string) => isCertain(start) || start.startsWith(above + separator);
  return fromFlags({
    true: (starts as string[]).some(isPossible),
    false: (starts as string[]).some((start) => !isCertain(start)),
    error,
  });
}

/** The range of `double()` or `int()` of a text. Above 2^53, a double is not exact, so a bound of this size counts as infinite. */
function numbersIn(numbers: FieldFact['numbers']): ValueRange {
  if (!numbers) return any;
  if (numbers.length === 0) return nothing;
  const [low, high] = numbers;
  return {
    kind: 'numbers',
    low: low <= Number.MIN_SAFE_INTEGER ? Number.NEGATIVE_INFINITY : low,
    high: high >= Number.MAX_SAFE_INTEGER ? Number.POSITIVE_INFINITY : high,
    error: true,
  };
}

// --------------------------------------------------------------------------------------------- comparisons

type NumberBounds = readonly [low: number, high: number];

function comparison(node: Syntax, state: State): ValueRange {
  const [a, b] = partsOf(node).map((part) => rangeOf(part, state)) as [ValueRange, ValueRange];
  const equality = equalityUnder(node.op, a, b) ?? equalityUnder(node.op, b, a);
  if (equality) return equality;
  if (a.kind !== 'numbers' && b.kind !== 'numbers') return operated(node, [a, b], state);
  const [left, right] = [boundsOf(a), boundsOf(b)];
  if (!left || !right) return any;
  return fromFlags({
    true: mayCompare(node.op, left, right),
    false: mayCompare(opposites[node.op]!, left, right),
    error: true,
  });
}

/** Evaluates `==` and `!=` for texts of which only the beginning is known. Undefined: the operands are others. */
function equalityUnder(op: string, text: ValueRange, other: ValueRange): ValueRange | undefined {
  if ((op !== '==' && op !== '!=') || text.kind !== 'texts' || !text.under || other.kind !== 'some') return undefined;
  if (!other.values.every((value) => typeof value === 'string')) return undefined;
  const { under } = text;
  const mayBeEqual = (other.values as string[]).some((value) => isUnder(under, value));
  const error = text.error || other.error;
  return fromFlags({ true: op === '==' ? mayBeEqual : true, false: op === '==' ? true : mayBeEqual, error });
}

const opposites: Readonly<Record<string, string>> = {
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
  '==': '!=',
  '!=': '==',
};

/** The range of the values. Undefined: some values are no numbers, or too large. If there are no values, the range is empty (low > high). */
function boundsOf(range: ValueRange): NumberBounds | undefined {
  if (range.kind === 'numbers') return [range.low, range.high];
  if (range.kind !== 'some') return undefined;
  const numbers = range.values.map((value) => (typeof value === 'bigint' ? Number(value) : value));
  if (!numbers.every((value) => typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER))
    return undefined;
  return [Math.min(...(numbers as number[])), Math.max(...(numbers as number[]))];
}

function mayCompare(op: string, [lowA, highA]: NumberBounds, [lowB, highB]: NumberBounds): boolean {
  if (lowA > highA || lowB > highB) return false;
  switch (op) {
    case '<':
      return lowA < highB;
    case '<=':
      return lowA <= highB;
    case '>':
      return highA > lowB;
    case '>=':
      return highA >= lowB;
    case '==':
      return lowA <= highB && lowB <= highA;
    default:
      return true;
  }
}

// ------------------------------------------------------------------------------------------- other operators

function applied(node: Syntax, state: State): ValueRange {
  return operated(
    node,
    partsOf(node).map((part) => rangeOf(part, state)),
    state,
  );
}

/** Evaluates the operator for each combination of possible values of its operands. */
function operated(node: Syntax, operands: readonly ValueRange[], state: State): ValueRange {
  let combinations: CelValue[][] = [[]];
  let error = false;
  for (const operand of operands) {
    if (operand.kind !== 'some') return any;
    error ||= operand.error;
    if (combinations.length * operand.values.length > combinationsMax) return any;
    combinations = combinations.flatMap((before) => operand.values.map((value) => [...before, value]));
  }
  state.evaluationsLeft -= combinations.length;
  const program = state.evaluationsLeft < 0 ? undefined : operatorOf(node);
  if (!program) return any;
  const results = new Set<CelValue>();
  for (const values of combinations) {
    if (!isAlike(node, values)) return any;
    try {
      results.add(program.evaluate(Object.fromEntries(values.map((value, i) => [operandName(i), value]))));
    } catch (failure) {
      if (!(failure instanceof CelError)) throw failure;
      if (failure.kind === 'cost') return any;
      error = true;
    }
  }
  return { kind: 'some', values: [...results], error };
}

const binary = new Set(['+', '-', '*', '/', '%', '<', '<=', '>', '>=', '==', '!=', 'in']);

/**
 * Whether the engine gives the same result with and without type information. In the user's expression, the checker may know the types of operands and items;
 * in the small expressions of this file, they are unknown. For operands or items of different types, the results may differ. So only scalars of one type are
 * evaluated.
 */
function isAlike(node: Syntax, values: readonly CelValue[]): boolean {
  if (!binary.has(node.op)) return true;
  const types = new Set(
    values.flatMap((value) => (node.op === 'in' && Array.isArray(value) ? value : [value])).map(typeOf),
  );
  return types.size <= 1 && !types.has('object');
}

function typeOf(value: CelValue): string {
  return value === null ? 'null' : typeof value;
}

const operandName = (index: number) => `operand${index}`;

const operators = new Map<string, CelProgram | undefined>();
/** Limit for the cache of compiled operators and functions. Users can name any function, so the cache needs a limit. */
const operatorsMax = 1_000;

/** The node as a compiled expression, with variables in place of its operands. Undefined: the node is no operator on values. */
function operatorOf(node: Syntax): CelProgram | undefined {
  const source = templateOf(node);
  if (source === undefined) return undefined;
  if (!operators.has(source)) {
    if (operators.size >= operatorsMax) operators.clear();
    const names = Array.from({ length: partsOf(node).length }, (_, i) => operandName(i));
    operators.set(source, compiled(source, names));
  }
  return operators.get(source);
}

function compiled(source: string, names: readonly string[]): CelProgram | undefined {
  try {
    return compileCel(source, Object.fromEntries(names.map((name) => [name, 'dyn'])));
  } catch (error) {
    if (error instanceof CelError) return undefined;
    throw error;
  }
}

function templateOf(node: Syntax): string | undefined {
  const [head]: unknown[] = Array.isArray(node.args) ? node.args : [];
  const operands = partsOf(node).map((_, i) => operandName(i));
  switch (node.op) {
    case '!_':
      return `!${operands[0]}`;
    case '-_':
      return `-${operands[0]}`;
    case 'list':
      return `[${operands.join(', ')}]`;
    case '[]':
      return `${operands[0]}[${operands[1]}]`;
    case 'call':
      return typeof head === 'string' ? `${head}(${operands.join(', ')})` : undefined;
    case 'rcall':
      return typeof head === 'string' ? `${operands[0]}.${head}(${operands.slice(1).join(', ')})` : undefined;
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
    case '<':
    case '<=':
    case '>':
    case '>=':
    case '==':
    case '!=':
    case 'in':
      return isSyntax(head) ? `${operands[0]} ${node.op} ${operands[1]}` : undefined;
    default:
      return undefined;
  }
}
