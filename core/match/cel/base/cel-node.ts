/** The engine's syntax tree, as far as this project reads and changes it. Version 8 of the engine is pinned, and tests check this form. */

export type Evaluate = (evaluator: unknown, node: unknown, context: unknown) => unknown;

export interface ValueType {
  readonly kind: string;
  readonly name: string;
  readonly keyType?: ValueType;
  readonly valueType?: ValueType;
}

export interface CelChecker {
  check(node: CelNode, context: unknown): ValueType;
  /** The type of the field of a value. Throws if the type has no such field, unless `allowMissingField` is true. */
  checkAccessOnType(node: CelNode, context: unknown, of: ValueType, allowMissingField?: boolean): ValueType;
  getType(name: string): ValueType;
  createError(code: string, message: string, node: CelNode): Error;
}

export type Check = (checker: CelChecker, node: CelNode, context: unknown) => ValueType;

/** A node of an expression. */
export interface CelNode {
  readonly op: string;
  args: unknown;
  readonly meta: { check?: Check; evaluate?: Evaluate; alternate?: CelNode; macro?: { typeCheck: Check } };
  /** After the check. */
  readonly checkedType?: ValueType;
  setMeta(key: 'check', check: Check): unknown;
  setMeta(key: 'evaluate', evaluate: Evaluate): unknown;
}

export function eachNode(tree: unknown, visit: (node: CelNode) => void): void {
  if (Array.isArray(tree)) {
    for (const item of tree) eachNode(item, visit);
  } else if (isNode(tree)) {
    visit(tree);
    eachNode(tree.args, visit);
  }
}

export function isNode(value: unknown): value is CelNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value && 'meta' in value;
}
