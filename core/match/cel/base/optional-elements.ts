/**
 * Optional elements of list and map literals: `[?a, b]` has no first item if `a` has no value, and `{?'k': a}` no entry. The parser of the engine does not know
 * them. So the question mark becomes a call of `__optionalElement`, and the check and the evaluation of the literal know this call.
 */
import type { CelChecker, CelNode, ValueType } from './cel-node.ts';

export const optionalElement = '__optionalElement';

/** One token: a comment, a text, a name or number, space, or one other character. Prefixes of texts (`r`, `b`) belong to the text. A text without an end takes the rest. */
const token =
  /\/\/[^\n]*|(?:[bB]?[rR]|[rR]?[bB])?(?:"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|["'][\s\S]*|\w+|\s+|[\s\S]/g;

interface Literal {
  /** Whether the bracket begins a list or a map literal. */
  readonly isLiteral: boolean;
  readonly isMap: boolean;
  /** Whether an optional element, or the key of one, has begun and not ended. */
  isOpen: boolean;
}

/** The expression with calls in the place of question marks. */
export function withOptionalCalls(source: string): string {
  if (!/[[{,]\s*\?/.test(source)) return source;
  const open: Literal[] = [];
  let result = '';
  /** The last token that is no space and no comment. */
  let before = '';
  for (const [text] of source.matchAll(token)) {
    const inner = open.at(-1);
    const isElementEnd = text === ',' || text === ']' || text === '}' || (text === ':' && inner?.isMap);
    if (inner?.isOpen && isElementEnd) {
      result += ')';
      inner.isOpen = false;
    }
    if (text === '?' && inner?.isLiteral && (before === '[' || before === '{' || before === ',')) {
      inner.isOpen = true;
      result += `${optionalElement}(`;
    } else {
      result += text;
    }
    if (text === '(' || text === '[' || text === '{') {
      // After a value, a bracket is an index. Then the engine knows the question mark.
      const isIndex = text === '[' && /[\w)\]}"']$/.test(before) && before !== 'in';
      open.push({ isLiteral: text !== '(' && !isIndex, isMap: text === '{', isOpen: false });
    } else if (text === ')' || text === ']' || text === '}') {
      open.pop();
    }
    if (!/^(?:\s|\/\/)/.test(text)) before = text;
  }
  return result;
}

export function isOptionalElement(node: CelNode): boolean {
  return node.op === 'call' && (node.args as [string])[0] === optionalElement;
}

interface Evaluator {
  run(node: unknown, context: unknown): unknown;
}

interface Registry {
  getListType(item: ValueType): ValueType;
  getMapType(key: ValueType, value: ValueType): ValueType;
}

/** Prepares the literal if it has optional elements. */
export function prepareOptionalElements(node: CelNode): void {
  if (node.op === 'list' && (node.args as CelNode[]).some(isOptionalElement)) prepareList(node);
  if (node.op === 'map' && (node.args as [CelNode, CelNode][]).some(([key]) => isOptionalElement(key)))
    prepareMap(node);
}

function prepareList(node: CelNode): void {
  const items = node.args as CelNode[];
  node.setMeta('check', (checker, _, context) => {
    const types = items.map((item) =>
      isOptionalElement(item) ? valueTypeOf(checker, elementOf(item), context) : checker.check(item, context),
    );
    return registryOf(checker).getListType(commonType(checker, types));
  });
  node.setMeta('evaluate', (evaluator, _, context) =>
    items.flatMap((item) => {
      const { run } = runnerOf(evaluator, context);
      return isOptionalElement(item) ? valuesOf(run(elementOf(item))) : [run(item)];
    }),
  );
}

function prepareMap(node: CelNode): void {
  const entries = node.args as [CelNode, CelNode][];
  node.setMeta('check', (checker, _, context) => {
    const keys = entries.map(([key]) => checker.check(isOptionalElement(key) ? elementOf(key) : key, context));
    const values = entries.map(([key, value]) =>
      isOptionalElement(key) ? valueTypeOf(checker, value, context) : checker.check(value, context),
    );
    return registryOf(checker).getMapType(commonType(checker, keys), commonType(checker, values));
  });
  node.setMeta('evaluate', (evaluator, _, context) => {
    const { run } = runnerOf(evaluator, context);
    const pairs = entries.flatMap(([key, value]) =>
      isOptionalElement(key)
        ? valuesOf(run(value)).map((one) => [run(elementOf(key)), one] as const)
        : [[run(key), run(value)] as const],
    );
    return new Map(pairs);
  });
}

function elementOf(node: CelNode): CelNode {
  const [, [element]] = node.args as [string, [CelNode]];
  return element;
}

function valueTypeOf(checker: CelChecker, node: CelNode, context: unknown): ValueType {
  const type = checker.check(node, context);
  if (type.kind === 'optional') return type.valueType!;
  if (type.kind === 'dyn') return type;
  throw checker.createError(
    'invalid_optional_element',
    `an optional element needs an optional, and has ${type.name}`,
    node,
  );
}

function commonType(checker: CelChecker, [first, ...others]: readonly ValueType[]): ValueType {
  return first && others.every(({ name }) => name === first.name) ? first : checker.getType('dyn');
}

function registryOf(checker: CelChecker): Registry {
  return (checker as unknown as { registry: Registry }).registry;
}

function runnerOf(evaluator: unknown, context: unknown): { run(node: CelNode): unknown } {
  return { run: (node) => (evaluator as Evaluator).run(node, context) };
}

function valuesOf(value: unknown): unknown[] {
  const optional = value as { hasValue?(): boolean; value(): unknown } | null;
  if (typeof optional?.hasValue !== 'function') throw new TypeError('an optional element needs an optional');
  return optional.hasValue() ? [optional.value()] : [];
}
