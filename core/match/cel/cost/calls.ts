/** The estimated costs of functions: k8s.io/apiserver/pkg/cel/library/cost.go, and functionCost of cel-go's checker/cost.go. */
import type { CelNode } from '../base/cel-node.ts';
import { fixedSize, type Size, sizeProduct, sizeSum, times, traversal } from './sizes.ts';

/** A value that a function gets. */
export interface Operand {
  readonly node: CelNode;
  /** `string`, `list<int>`, `dyn` */
  readonly type: string;
  readonly kind: string;
  readonly size: Size;
  /** The type and size of the items of a list, or of the values of a map. Absent: the value has none. */
  readonly item?: { readonly type: string; readonly size: Size };
}

export interface CallCost {
  /** Without the costs of the operands. */
  readonly cost: number;
  readonly size?: Size;
}

const regexFactor = 0.25;
const one: CallCost = { cost: 1 };
/** The limits of Kubernetes for the patterns of named formats and their names. */
const formatPatternMax = 128;
const formatNameMax = 64;
const address: Size = { min: 4, max: 16 };
/** Types of libraries whose values are compared in one step. */
const comparedAtOnce: ReadonlySet<string> = new Set(['net.IP', 'net.CIDR', 'kubernetes.Quantity', 'kubernetes.Semver']);

/** The cost of `name(args)`. */
export function callCost(name: string, args: readonly Operand[]): CallCost {
  const [first] = args;
  if (!first) return one;
  switch (name) {
    case 'url':
      return { cost: traversal(first.size), size: first.size };
    case 'ip':
    case 'cidr':
    case 'isIP':
    case 'isCIDR':
    case 'quantity':
    case 'isQuantity':
    case 'semver':
    case 'isSemver':
      return { cost: traversal(first.size) };
    case 'bytes':
      return mayBe(first, 'string') ? { cost: traversal(first.size), size: scaled(first.size, 1, 4) } : one;
    case 'string':
      return mayBe(first, 'bytes') ? { cost: traversal(first.size), size: scaled(first.size, 0.25, 1) } : one;
    default:
      return one;
  }
}

function mayBe({ type, kind }: Operand, expected: string): boolean {
  return type === expected || kind === 'dyn';
}

/** The cost of a function with a qualified name: `sets.contains`. */
export function qualifiedCost(name: string, args: readonly Operand[]): CallCost {
  const [first, second] = args;
  if (!first) return one;
  switch (name) {
    case 'sets.contains':
    case 'sets.intersects':
      return { cost: 1 + times(first.size.max, second!.size.max) };
    case 'sets.equivalent':
      return { cost: 1 + 2 * times(first.size.max, second!.size.max) };
    case 'strings.quote':
      return { cost: traversal(first.size), size: { min: first.size.min + 2, max: 2 * first.size.max + 2 } };
    case 'ip.isCanonical':
      return { cost: traversal(first.size, 2) };
    default:
      return one;
  }
}

/** The cost of `target.name(args)`. */
export function memberCost(name: string, target: Operand, args: readonly Operand[]): CallCost {
  const [first, second] = args;
  const { size } = target;
  switch (name) {
    case 'isSorted':
    case 'sum':
    case 'min':
    case 'max':
    case 'indexOf':
    case 'lastIndexOf': {
      if (!target.item) return { cost: traversal(size) };
      const isText = target.item.type === 'string' || target.item.type === 'bytes';
      return { cost: times(size.max, 1 + (isText ? traversal(target.item.size) : 0)) };
    }
    case 'lowerAscii':
    case 'upperAscii':
    case 'substring':
    case 'trim':
      return { cost: traversal(size), size };
    case 'replace':
      return { cost: traversal(size, 2), size: replacedSize(size, first!.size, second!.size) };
    case 'split': {
      const limit = args[1]?.node.op === 'value' ? Number(args[1].node.args) : size.max;
      return { cost: traversal(size, 2), size: { min: 0, max: limit < 0 ? Number.POSITIVE_INFINITY : limit } };
    }
    case 'join': {
      const joined = joinedSize(target, first?.size);
      return { cost: traversal(joined), size: joined };
    }
    case 'find':
    case 'findAll':
      return { cost: patternCost(size, first!.size), size: { min: 0, max: size.max } };
    case 'matches':
      return { cost: patternCost(size, first!.size) };
    case 'containsIP':
      return { cost: traversal(sizeSum(address, address)) + (first!.type === 'string' ? traversal(first!.size) : 0) };
    case 'containsCIDR': {
      const text = first!.type === 'string' ? traversal(first!.size) : 0;
      return { cost: traversal(sizeSum(address, address)) + traversal(address) + 1 + text };
    }
    case 'validate':
      return { cost: Math.ceil(times(traversal(first!.size), formatPatternMax * regexFactor)) };
    case 'format':
      return { cost: traversal(size) };
    case 'startsWith':
    case 'endsWith':
      return { cost: traversal(first!.size) };
    case 'contains':
      return { cost: times(traversal(size), traversal(first!.size)) };
    default:
      return one;
  }
}

export function operatorCost(op: string, [left, right]: readonly [Operand, Operand]): CallCost {
  switch (op) {
    case 'in':
      return { cost: right.kind === 'map' ? 1 : right.size.max };
    case '+': {
      const size = sizeSum(left.size, right.size);
      const has = (type: string) => [left, right].some((one) => one.kind === type || one.type === type);
      const isText = has('string') || has('bytes') || (left.kind === 'dyn' && right.kind === 'dyn');
      if (isText) return { cost: traversal(size), size };
      return has('list') ? { cost: 1, size } : one;
    }
    case '==':
      if (left.type === right.type && comparedAtOnce.has(left.type)) return one;
      if (left.type === right.type && left.type === 'kubernetes.NamedFormat')
        return { cost: Math.ceil(formatNameMax / 10) };
      if (left.type === right.type && left.type === 'kubernetes.URL') {
        return { cost: traversal(fixedSize(Math.max(left.size.max, right.size.max))) };
      }
      return { cost: comparisonCost(left.size, right.size) };
    case '!=':
      return { cost: comparisonCost(left.size, right.size) };
    case '<':
    case '<=':
    case '>':
    case '>=': {
      const isText = [left, right].every(({ type, kind }) => type === 'string' || type === 'bytes' || kind === 'dyn');
      return isText ? { cost: comparisonCost(left.size, right.size) } : one;
    }
    default:
      return one;
  }
}

function comparisonCost(a: Size, b: Size): number {
  return traversal(fixedSize(Math.min(a.max, b.max)));
}

function patternCost(text: Size, pattern: Size): number {
  return times(traversal(sizeSum(text, fixedSize(1))), Math.ceil(times(pattern.max, regexFactor)));
}

function scaled({ min, max }: Size, byMin: number, byMax: number): Size {
  return { min: Math.floor(min * byMin), max: max * byMax };
}

function joinedSize(target: Operand, separator: Size | undefined): Size {
  const texts = target.item ? sizeProduct(target.size, target.item.size) : fixedSize(0);
  if (!separator) return texts;
  const count = { min: Math.max(0, target.size.min - 1), max: Math.max(0, target.size.max - 1) };
  return sizeSum(texts, sizeProduct(separator, count));
}

function replacedSize(text: Size, old: Size, by: Size): Size {
  const max = bound(text.max, old.min, by.max <= old.min);
  const min = bound(text.min, old.max, old.max <= by.min);
  return {
    max: times(max.count, by.max) + max.kept,
    min: times(min.count, by.min) + min.kept,
  };
}

/** How often a text of this size may have the old text, and how much of the text stays. */
function bound(size: number, old: number, isNoChange: boolean): { count: number; kept: number } {
  if (old === 0) return { count: size + 1, kept: size };
  return isNoChange ? { count: 0, kept: size } : { count: Math.ceil(size / old), kept: 0 };
}
