/**
 * Changes the engine's syntax tree before the check, so that expressions mean what they mean at a Kubernetes API server: calls of guarded functions, functions
 * with qualified names, and exact types of results.
 */
import { describeError } from '../../runtime/errors.ts';
import { type CelNode, eachNode } from './base/cel-node.ts';
import { prepareOptionalElements } from './base/optional-elements.ts';
import { compilePattern } from './base/pattern.ts';
import { CelError } from './cel-error.ts';
import { namespaceOf } from './library/namespaces.ts';

/** The engine's own functions cannot be replaced. So calls of them are renamed to functions of the library. */
const renamed: ReadonlyMap<string, string> = new Map([
  // The engine would use JavaScript's RegExp.
  ['matches', 'matchesPattern'],
  // A short list and a long separator can make a text of any length.
  ['join', 'joinTexts'],
  // The engine also changes letters that are not ASCII.
  ['lowerAscii', 'lowerLatin'],
  ['upperAscii', 'upperLatin'],
]);
/** Functions that take a pattern as their first argument. */
const ofPatterns: ReadonlySet<string> = new Set(['matches', 'find', 'findAll']);
/** The types of items whose lists have these functions. */
const summable: ReadonlySet<string> = new Set(['int', 'uint', 'double', 'google.protobuf.Duration']);
const comparable: ReadonlySet<string> = new Set([...summable, 'bool', 'string', 'bytes', 'google.protobuf.Timestamp']);
const itemsOf: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['sum', summable],
  ['min', comparable],
  ['max', comparable],
  ['isSorted', comparable],
]);

/** Throws CelError of kind `type`. */
export function prepare(tree: unknown): void {
  eachNode(tree, (node) => {
    if (node.op === 'call') prepareCall(node);
    if (node.op === 'rcall') prepareMemberCall(node);
    prepareOptionalElements(node);
  });
}

function prepareCall(node: CelNode): void {
  const [name, args] = node.args as [string, CelNode[]];
  if (name === 'matches') checkPattern(args[1]);
}

function prepareMemberCall(node: CelNode): void {
  const call = node.args as [string, CelNode, CelNode[]];
  const [name, receiver, args] = call;
  const namespace = receiver.op === 'id' ? namespaceOf(String(receiver.args), name) : undefined;
  if (namespace !== undefined) receiver.args = namespace;
  if (ofPatterns.has(name)) checkPattern(args[0]);
  giveKnownType(node);
  const items = itemsOf.get(name);
  if (items && args.length === 0) checkItems(node, receiver, items);
  call[0] = renamed.get(name) ?? name;
}

/** Finds an invalid literal pattern already when the expression is compiled. */
function checkPattern(pattern: CelNode | undefined): void {
  if (pattern?.op !== 'value' || typeof pattern.args !== 'string') return;
  try {
    compilePattern(pattern.args);
  } catch (error) {
    throw new CelError('type', `${JSON.stringify(pattern.args)} is no regular expression: ${describeError(error)}`, {
      cause: error,
    });
  }
}

/** For a receiver of an unknown type, the engine gives the placeholder of the declaration as the type of the result, and then refuses to read its fields. */
function giveKnownType(node: CelNode): void {
  const { check } = node.meta;
  if (!check) return;
  node.setMeta('check', (checker, of, context) => {
    const type = check(checker, of, context);
    return type.kind === 'param' ? checker.getType('dyn') : type;
  });
}

/** The engine can't declare a function for lists of some types only, whose result has the type of the items. */
function checkItems(node: CelNode, receiver: CelNode, items: ReadonlySet<string>): void {
  const check = node.meta.check!;
  const [name] = node.args as [string];
  node.setMeta('check', (checker, of, context) => {
    const type = check(checker, of, context);
    const item = checker.check(receiver, context).valueType;
    if (!item || item.kind === 'dyn' || item.kind === 'param') return type;
    if (!items.has(item.name)) {
      throw checker.createError(
        'no_matching_overload',
        `found no matching overload for 'list<${item.name}>.${name}()'`,
        of,
      );
    }
    return type.kind === 'dyn' ? item : type;
  });
}
