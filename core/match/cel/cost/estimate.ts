/**
 * The greatest cost that an expression can have, as a Kubernetes API server estimates it when a rule of a CustomResourceDefinition is written (cel-go,
 * checker/cost.go). The estimate is exact, so that a rule is accepted here if such a server accepts it. It has nothing to do with the budget of an evaluation
 * (budget.ts).
 *
 * cel-go replaces macros by loops before it estimates. `loops` has the costs of these loops.
 */
import type { CelNode, ValueType } from '../base/cel-node.ts';
import { optionalElement } from '../base/optional-elements.ts';
import { type CallCost, callCost, memberCost, type Operand, operatorCost, qualifiedCost } from './calls.ts';
import { type EntrySizes, fixedSize, type Size, times, unionOf, unionOfEntries, unknownSize } from './sizes.ts';

/**
 * The greatest size of a value that the object may have at a path: `['self', 'spec', '@items']`. `@items`, `@keys` and `@values` stand for the parts of lists
 * and maps. Undefined: there is no such value.
 */
export type SizeOf = (path: readonly string[]) => number | undefined;

interface Variable {
  readonly path: readonly string[];
  readonly size?: Size | undefined;
  readonly entries?: EntrySizes | undefined;
}

/** The known facts about the value of a node. */
interface Value {
  /** The cost of the evaluation. */
  readonly cost: number;
  readonly path?: readonly string[] | undefined;
  readonly size?: Size | undefined;
  readonly entries?: EntrySizes | undefined;
}

type Variables = ReadonlyMap<string, Variable>;

const listCost = 10;
const mapCost = 30;

/** `tree`: the expression after the type check. */
export function estimateCost(tree: CelNode, sizeOf: SizeOf): number {
  return new Estimate(sizeOf).of(tree, new Map()).cost;
}

/** A loop of cel-go: the costs of its parts for a body that costs `body`, without the costs of the range and of the number of turns. */
interface Loop {
  readonly variables: 1 | 2;
  /** `value`: the loop makes a bool. */
  readonly makes: 'value' | 'list' | 'map';
  readonly start: number;
  turn(body: number): number;
  readonly end: number;
}

const plain = { variables: 1, makes: 'value', start: 0, end: 1 } as const;
const existsOne: Loop = { ...plain, turn: (body) => body + 2, end: 2 };
const list = { variables: 1, makes: 'list', start: listCost, end: 1 } as const;
const map = { variables: 2, makes: 'map', start: mapCost, end: 1 } as const;
const addItem = 2 + listCost;
const loops: Readonly<Record<string, Loop>> = {
  all: { ...plain, turn: (body) => body + 3 },
  exists: { ...plain, turn: (body) => body + 4 },
  exists_one: existsOne,
  existsOne,
  map: { ...list, turn: (body) => body + addItem },
  filter: { ...list, turn: (body) => body + addItem + 1 },
  transformList: { ...list, variables: 2, turn: (body) => body + addItem },
  transformMap: { ...map, turn: (body) => body + 3 },
  transformMapEntry: { ...map, turn: (body) => body + 2 },
};

class Estimate {
  readonly #sizeOf: SizeOf;

  constructor(sizeOf: SizeOf) {
    this.#sizeOf = sizeOf;
  }

  of(node: CelNode, variables: Variables): Value {
    const value = this.#valueOf(node, variables);
    return { ...value, size: value.size ?? this.#sizeFor(node, value.path, undefined) };
  }

  #valueOf(node: CelNode, variables: Variables): Value {
    const args = node.args as CelNode[];
    switch (node.op) {
      case 'value':
        return { cost: 0, size: literalSize(node.args) };
      case 'id':
        return this.#variable(node, variables);
      case '.':
        return this.#field(node, variables);
      case 'list':
        return this.#list(args, variables);
      case 'map':
        return this.#map(node.args as [CelNode, CelNode][], variables);
      case '[]':
        return this.#item(args, variables);
      case '&&':
      case '||':
        return { cost: this.#sum(args, variables) };
      case '?:':
        return this.#choice(args, variables);
      case '!_':
      case '-_':
        return this.#negated(node.args as CelNode, variables);
      case 'call':
        return this.#call(node, variables);
      case 'rcall':
        return this.#memberCall(node, variables);
      case '.?':
        return { cost: 1 + this.of(args[0]!, variables).cost };
      case '[?]':
        return { cost: 1 + this.#sum(args, variables) };
      default:
        return this.#operator(node, variables);
    }
  }

  /** A negative number is a constant. */
  #negated(of: CelNode, variables: Variables): Value {
    const { cost } = this.of(of, variables);
    return typeof of.args === 'bigint' || typeof of.args === 'number' ? { cost } : { cost: 1 + cost };
  }

  #sum(nodes: readonly CelNode[], variables: Variables): number {
    return nodes.reduce((sum, node) => sum + this.of(node, variables).cost, 0);
  }

  #variable(node: CelNode, variables: Variables): Value {
    const name = String(node.args);
    const variable = variables.get(name);
    const path = variable ? variable.path : [name];
    return { cost: 1, path, size: this.#sizeFor(node, path, variable?.size), entries: variable?.entries };
  }

  #field(node: CelNode, variables: Variables): Value {
    const [of, name] = node.args as [CelNode, string];
    const owner = this.of(of, variables);
    const isStep = of.checkedType?.kind === 'map' || of.checkedType?.kind === 'message';
    return { cost: owner.cost + (isStep ? 1 : 0), path: [...(owner.path ?? []), name] };
  }

  #list(items: readonly CelNode[], variables: Variables): Value {
    const values = items.map((item) => this.of(item, variables));
    const entries: EntrySizes = { container: 'list', key: fixedSize(1), value: unionOfAll(values) };
    return { cost: listCost + costOf(values), size: fixedSize(items.length), entries };
  }

  #map(pairs: readonly [CelNode, CelNode][], variables: Variables): Value {
    const keys = pairs.map(([key]) => this.of(key, variables));
    const values = pairs.map(([, value]) => this.of(value, variables));
    const entries: EntrySizes = { container: 'map', key: unionOfAll(keys), value: unionOfAll(values) };
    return { cost: mapCost + costOf(keys) + costOf(values), size: fixedSize(pairs.length), entries };
  }

  #item([of, index]: readonly CelNode[], variables: Variables): Value {
    const owner = this.of(of!, variables);
    const cost = 1 + owner.cost + this.of(index!, variables).cost;
    const kind = of!.checkedType?.kind;
    if (kind !== 'list' && kind !== 'map') return { cost };
    return { cost, path: [...(owner.path ?? []), kind === 'list' ? '@items' : '@values'], size: owner.entries?.value };
  }

  #choice([condition, yes, no]: readonly CelNode[], variables: Variables): Value {
    const [a, b] = [this.of(yes!, variables), this.of(no!, variables)];
    return {
      cost: this.of(condition!, variables).cost + Math.max(a.cost, b.cost),
      size: unionOf(a.size ?? unknownSize, b.size ?? unknownSize),
      entries: unionOfEntries(a.entries, b.entries),
    };
  }

  #operator(node: CelNode, variables: Variables): Value {
    const [left, right] = (node.args as CelNode[]).map((one) => this.#operand(one, variables)) as [Known, Known];
    const { cost, size } = operatorCost(node.op, [left.operand, right.operand]);
    const entries = node.op === '+' ? unionOfEntries(left.value.entries, right.value.entries) : undefined;
    return { cost: cost + left.value.cost + right.value.cost, size, entries };
  }

  #call(node: CelNode, variables: Variables): Value {
    const [name, args] = node.args as [string, CelNode[]];
    if (name === 'has') {
      const [of] = args[0]!.args as [CelNode];
      return { cost: this.of(of, variables).cost };
    }
    const known = args.map((one) => this.#operand(one, variables));
    if (name === optionalElement && known[0]) return known[0].value;
    if (name === 'dyn' && known[0]) return { ...known[0].value, cost: known[0].value.cost + 1 };
    return summed(callCost(name, operandsOf(known)), known);
  }

  #memberCall(node: CelNode, variables: Variables): Value {
    const [name, receiver, args] = node.args as [string, CelNode, CelNode[]];
    const loop = Object.hasOwn(loops, name) ? loops[name] : undefined;
    if (loop && isMacro(node)) return this.#loop(loop, name, receiver, args, variables);
    if (name === 'optMap' || name === 'optFlatMap') return this.#optional(name, receiver, args, variables);
    const known = args.map((one) => this.#operand(one, variables));
    const namespace = receiver.op === 'id' ? /^@(.*)$/.exec(String(receiver.args))?.[1] : undefined;
    if (namespace !== undefined) return summed(qualifiedCost(`${namespace}.${name}`, operandsOf(known)), known);
    if (receiver.op === 'id' && receiver.args === 'optional') return summed({ cost: 1 }, known);
    const target = this.#operand(receiver, variables);
    return summed(memberCost(originalNames.get(name) ?? name, target.operand, operandsOf(known)), [target, ...known]);
  }

  #loop(loop: Loop, name: string, receiver: CelNode, args: readonly CelNode[], variables: Variables): Value {
    // With three arguments, `all` and the like have two variables. `map` then has a filter.
    const count = loop.makes === 'value' && args.length === 3 ? 2 : loop.variables;
    const range = this.of(receiver, variables);
    const inner = new Map(variables);
    for (const [index, node] of args.slice(0, count).entries()) {
      inner.set(
        String(node.args),
        loopVariable(receiver, range, count === 1 ? 'only' : index === 0 ? 'first' : 'second'),
      );
    }
    const body = args.slice(count).map((node) => this.of(node, inner));
    const last = body.at(-1)!;
    const turn = loop.turn(last.cost) + (body.length === 2 ? body[0]!.cost : 0);
    const size = range.size ?? unknownSize;
    const cost = range.cost + loop.start + times(size.max, turn) + loop.end;
    if (loop.makes === 'value') return { cost, size: fixedSize(1) };
    if (loop.makes === 'map') return { cost, size };
    const item = name === 'filter' ? this.of(args[0]!, inner) : last;
    return {
      cost,
      size,
      entries: { container: 'list', key: fixedSize(1), value: { ...(item.size ?? unknownSize), min: 0 } },
    };
  }

  /** `optMap(name, body)` becomes `target.hasValue() ? optional.of(BODY) : optional.none()`. */
  #optional(name: string, receiver: CelNode, [variable, body]: readonly CelNode[], variables: Variables): Value {
    const { cost } = this.of(receiver, variables);
    const inner = new Map(variables);
    const type = receiver.checkedType?.valueType;
    inner.set(String(variable!.args), { path: [], size: type && isScalar(type) ? fixedSize(1) : undefined });
    const bound = listCost + (1 + cost) + this.of(body!, inner).cost + (name === 'optMap' ? 1 : 0);
    return { cost: cost + 1 + Math.max(1, bound) };
  }

  #operand(node: CelNode, variables: Variables): Known {
    const value = this.of(node, variables);
    const type = node.checkedType;
    const item = type?.valueType ?? type?.keyType;
    return {
      value,
      operand: {
        node,
        type: type?.name ?? 'dyn',
        kind: type?.kind ?? 'dyn',
        size: value.size ?? unknownSize,
        ...(item ? { item: { type: item.name, size: this.#itemSize(value) } } : {}),
      },
    };
  }

  /** Without a path, nothing is known about the items, not even of a literal list. */
  #itemSize({ path }: Value): Size {
    const max = path === undefined ? undefined : this.#sizeOf([...path, '@items']);
    return max === undefined ? unknownSize : { min: 0, max };
  }

  #sizeFor(node: CelNode, path: readonly string[] | undefined, fallback: Size | undefined): Size | undefined {
    const max = path === undefined || path.length === 0 ? undefined : this.#sizeOf(path);
    if (max !== undefined) return { min: 0, max };
    return node.checkedType && isScalar(node.checkedType) ? fixedSize(1) : fallback;
  }
}

interface Known {
  readonly value: Value;
  readonly operand: Operand;
}

/** prepare.ts renames these functions. */
const originalNames: ReadonlyMap<string, string> = new Map([
  ['matchesPattern', 'matches'],
  ['joinTexts', 'join'],
  ['lowerLatin', 'lowerAscii'],
  ['upperLatin', 'upperAscii'],
]);

function operandsOf(known: readonly Known[]): Operand[] {
  return known.map(({ operand }) => operand);
}

function summed({ cost, size }: CallCost, known: readonly Known[]): Value {
  return { cost: cost + costOf(known.map(({ value }) => value)), size };
}

function costOf(values: readonly Value[]): number {
  return values.reduce((sum, { cost }) => sum + cost, 0);
}

function unionOfAll(values: readonly Value[]): Size {
  const [first, ...rest] = values.map(({ size }) => size ?? unknownSize);
  return rest.reduce(unionOf, first ?? fixedSize(0));
}

function isMacro(node: CelNode): boolean {
  return node.meta.alternate !== undefined || node.meta.macro !== undefined;
}

/** `only`: the one variable, which is the item of a list or the key of a map. */
function loopVariable(receiver: CelNode, range: Value, which: 'only' | 'first' | 'second'): Variable {
  const isList = (range.entries?.container ?? receiver.checkedType?.kind) === 'list';
  const isValue = which === 'second' || (which === 'only' && isList);
  const part = isValue ? (isList ? '@items' : '@values') : isList ? '@indices' : '@keys';
  return { path: [...(range.path ?? []), part], size: isValue ? range.entries?.value : range.entries?.key };
}

const scalars: ReadonlySet<string> = new Set([
  'bool',
  'double',
  'google.protobuf.Duration',
  'google.protobuf.Timestamp',
  'int',
  'uint',
]);

function isScalar(type: ValueType): boolean {
  return (
    scalars.has(type.name) || (type.kind === 'optional' && type.valueType !== undefined && isScalar(type.valueType))
  );
}

function literalSize(value: unknown): Size | undefined {
  if (typeof value === 'string') return fixedSize([...value].length);
  return fixedSize(value instanceof Uint8Array ? value.length : 1);
}
