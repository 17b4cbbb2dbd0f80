/** The engine's syntax tree of an expression, before the type check expands macros. The tree shows what the expression reads, without an evaluation. */
import { describeError } from '../../runtime/errors.ts';
import { CelError } from './cel-error.ts';
import { baseEnvironment } from './library/library.ts';

/** The part of the engine's nodes that this project uses. Version 8 is pinned, and tests check this form. */
export interface Syntax {
  /** `id`, `value`, `.`, `[]`, `call`, `rcall`, `!_`, `&&`, `<`, … */
  readonly op: string;
  readonly args: unknown;
}

/** Parses an expression. Throws CelError of kind `syntax`. */
export function parseSyntax(source: string): Syntax {
  try {
    return baseEnvironment.parse(source).ast;
  } catch (error) {
    throw new CelError('syntax', describeError(error), { cause: error });
  }
}

export function isSyntax(value: unknown): value is Syntax {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value;
}

/** The direct child nodes of a node, in the order of the expression. */
export function partsOf(node: Syntax): Syntax[] {
  const parts: Syntax[] = [];
  const collect = (args: unknown): void => {
    if (isSyntax(args)) parts.push(args);
    else if (Array.isArray(args)) for (const item of args) collect(item);
  };
  // The value of a literal is never a node, even if it looks like a node.
  if (node.op !== 'value') collect(node.args);
  return parts;
}

/** The path of a node like `location.metadata.labels["a/b"]`: the variable and the fields. Undefined: the node has parts that are not constant names. */
export function fieldPathOf(node: Syntax): readonly [variable: string, ...fields: string[]] | undefined {
  if (node.op === 'id') return typeof node.args === 'string' ? [node.args] : undefined;
  if (node.op !== '.' && node.op !== '[]') return undefined;
  const [of, field]: unknown[] = Array.isArray(node.args) ? node.args : [];
  const path = isSyntax(of) ? fieldPathOf(of) : undefined;
  const name = isSyntax(field) ? (field.op === 'value' ? field.args : undefined) : field;
  return path && typeof name === 'string' ? [...path, name] : undefined;
}

/** Every path that the expression reads, each as long as possible. The result may also contain variables that a macro binds: they look like paths. */
export function readsOf(node: Syntax): (readonly [variable: string, ...fields: string[]])[] {
  const path = fieldPathOf(node);
  return path ? [path] : partsOf(node).flatMap(readsOf);
}
