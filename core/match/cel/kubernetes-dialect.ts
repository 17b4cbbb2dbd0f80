/**
 * Refuses expressions that a Kubernetes API server refuses when they are written, and that the engine would take: functions that only the engine has, unknown fields, lists of
 * several types, and constants that can never be right.
 */

import { type CelNode, type Check, eachNode, isNode, type ValueType } from './base/cel-node.ts';
import { isOptionalElement } from './base/optional-elements.ts';
import { CelError } from './cel-error.ts';
import { baseEnvironment } from './library/library.ts';

/** Functions of the engine that a Kubernetes API server does not have. */
const ofEngineOnly: ReadonlySet<string> = new Set(['at', 'base64', 'bind', 'hex', 'json', 'string']);
const conversions: ReadonlySet<string> = new Set(['bool', 'double', 'duration', 'int', 'string', 'timestamp', 'uint']);

/** Call it before the check. The check then refuses more. Throws CelError of kind `type`. */
export function restrict(tree: unknown): void {
  const mixed = new Set<CelNode>();
  const negated = new Set<CelNode>();
  eachNode(tree, (node) => {
    if (node.op === 'list' && !mixed.has(node)) requireOneType(node);
    if (node.op === 'map') requireOneTypeOfEntries(node);
    if (node.op === '.?') requireField(node);
    if (node.op === '[]' || node.op === '[?]') refuseIndexOfObject(node);
    if (node.op === '-_' && isNode(node.args) && node.args.args === int64Max + 1n) negated.add(node.args);
    if (node.op === 'value' && typeof node.args === 'bigint' && node.args > int64Max && !negated.has(node)) {
      throw new CelError('type', 'invalid int literal');
    }
    if (node.op === 'call') restrictCall(node);
    if (node.op === 'rcall') restrictMemberCall(node, mixed);
  });
}

function restrictCall(node: CelNode): void {
  const [name, args] = node.args as [string, CelNode[]];
  const [argument] = args;
  if (argument === undefined) return;
  if (conversions.has(name) && args.length === 1 && argument.op === 'value') checkConstant(name, argument.args);
  const { macro } = node.meta;
  if (name !== 'has' || !macro) return;
  const { typeCheck } = macro;
  // The engine takes `has` of an unknown field.
  macro.typeCheck = (checker, of, context) => {
    const type = typeCheck(checker, of, context);
    if (argument.op === '.') checker.check(argument, context);
    return type;
  };
}

/** `mixed`: gets the lists that may have items of several types. */
function restrictMemberCall(node: CelNode, mixed: Set<CelNode>): void {
  const [name, receiver, args] = node.args as [string, CelNode, CelNode[]];
  if (ofEngineOnly.has(name)) throw new CelError('type', `undeclared reference to '${name}'`);
  const [list] = args;
  if (name !== 'format' || list?.op !== 'list') return;
  mixed.add(list);
  list.setMeta('check', (checker, of, context) => {
    const types = (of.args as CelNode[]).map((item) => checker.check(item, context));
    if (receiver.op === 'value' && typeof receiver.args === 'string') checkClauses(receiver.args, types);
    return checker.getType('list<dyn>');
  });
}

const environment = baseEnvironment.clone().registerVariable('value', 'dyn');

/** A conversion of a constant that fails would fail each time. */
function checkConstant(conversion: string, value: unknown): void {
  try {
    environment.evaluate(`${conversion}(value)`, { value });
  } catch (error) {
    throw new CelError('type', `${conversion}(${JSON.stringify(String(value))}) is invalid`, { cause: error });
  }
}

const integers: readonly string[] = ['int', 'uint'];
/** The types that a clause takes. Absent: any. */
const typesOf: Readonly<Record<string, readonly string[] | undefined>> = {
  s: undefined,
  d: integers,
  f: ['double'],
  e: ['double'],
  b: [...integers, 'bool'],
  o: integers,
  x: [...integers, 'string', 'bytes'],
  X: [...integers, 'string', 'bytes'],
};

function checkClauses(text: string, types: readonly ValueType[]): void {
  let next = 0;
  for (const [, verb = ''] of text.matchAll(/%(?:\.\d+)?(.|$)/gs)) {
    if (verb === '%') continue;
    if (!Object.hasOwn(typesOf, verb)) throw new CelError('type', `unrecognized formatting clause "${verb}"`);
    const type = types[next++];
    if (!type) throw new CelError('type', `format has more clauses than its ${types.length} arguments`);
    const allowed = typesOf[verb];
    if (allowed && type.kind !== 'dyn' && !allowed.includes(type.name)) {
      throw new CelError('type', `the formatting clause "${verb}" can't be used on ${type.name}`);
    }
  }
}

function requireOneType(node: CelNode): void {
  if ((node.args as CelNode[]).some(isOptionalElement)) return;
  const check = node.meta.check!;
  node.setMeta('check', (checker, of, context) => {
    const type = check(checker, of, context);
    requireSame(of.args as CelNode[], (item) => checker.check(item, context));
    return type;
  });
}

function requireOneTypeOfEntries(node: CelNode): void {
  if ((node.args as [CelNode, CelNode][]).some(([key]) => isOptionalElement(key))) return;
  const check = node.meta.check!;
  node.setMeta('check', (checker, of, context) => {
    const type = check(checker, of, context);
    const entries = of.args as [CelNode, CelNode][];
    for (const index of [0, 1] as const) {
      requireSame(
        entries.map((entry) => entry[index]),
        (item) => checker.check(item, context),
      );
    }
    return type;
  });
}

function requireSame(items: readonly CelNode[], typeOf: (item: CelNode) => ValueType): void {
  const types = items.map(typeOf);
  const [first] = types;
  const other = types.find((type) => !first || !isSame(first, type));
  if (first && other) throw new CelError('type', `expected type '${first.name}' but found '${other.name}'`);
}

/** An empty list or map has no types of its own. */
function isSame(a: ValueType, b: ValueType): boolean {
  if (a.name === b.name || a.kind === 'param' || b.kind === 'param') return true;
  return (
    a.kind === b.kind && a.valueType !== undefined && b.valueType !== undefined && isSame(a.valueType, b.valueType)
  );
}

const int64Max = 2n ** 63n - 1n;

/** Only lists and maps have an index. The engine also reads the field of an object by a text. */
function refuseIndexOfObject(node: CelNode): void {
  checkOwner(node, (owner, checker, of) => {
    if (owner.kind !== 'message') return;
    throw checker.createError('no_matching_overload', `found no matching overload for '_[_]' of an object`, of);
  });
}

function requireField(node: CelNode): void {
  checkOwner(node, (owner, checker, of, context) => {
    checker.checkAccessOnType(of, context, owner);
  });
}

/** Adds a check of the type whose field or item the node reads. The type of an optional value is the type of its content. */
function checkOwner(node: CelNode, refuse: (owner: ValueType, ...of: Parameters<Check>) => void): void {
  const check: Check = node.meta.check!;
  node.setMeta('check', (checker, of, context) => {
    const type = check(checker, of, context);
    const [receiver] = of.args as [CelNode];
    const found = checker.check(receiver, context);
    refuse(found.kind === 'optional' ? found.valueType! : found, checker, of, context);
    return type;
  });
}
