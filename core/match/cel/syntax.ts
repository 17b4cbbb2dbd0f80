/** The engine's syntax tree before the check expands macros. It shows what an expression reads without an evaluation. */
import { describeError } from '../../runtime/errors.ts';
import { CelError } from './cel-error.ts';
import { baseEnvironment } from './library.ts';

/** The used part of the engine's nodes. Version 8 is pinned, and tests check this form. */
export interface Syntax {
  /** `id`, `value`, `.`, `[]`, `call`, `rcall`, `!_`, `&&`, `<`, … */
  readonly op: string;
  readonly args: unknown;
}

/** Throws CelError of kind `syntax`. */
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

/** The nodes directly below a node, in order. */
export function partsOf(node: Syntax): Syntax[] {
  const parts: Syntax[] = [];
  const collect = (args: unknown): void => {
    if (isSyntax(args)) parts.push(args);
    else if (Array.isArray(args)) for (const item of args) collect(item);
  };
  // The value of a literal is never a node, even if it has the form of one.
  if (node.op !== 'value') collect(node.args);
  return parts;
}

/** `location.metadata.labels["a/b"]` as a variable and its fields. Undefined: the node has other parts than names and constant strings. */
export function fieldPathOf(node: Syntax): readonly [variable: string, ...fields: string[]] | undefined {
  if (node.op === 'id') return typeof node.args === 'string' ? [node.args] : undefined;
  if (node.op !== '.' && node.op !== '[]') return undefined;
  const [of, field]: unknown[] = Array.isArray(node.args) ? node.args : [];
  const path = isSyntax(of) ? fieldPathOf(of) : undefined;
  const name = isSyntax(field) ? (field.op === 'value' ? field.args : undefined) : field;
  return path && typeof name === 'string' ? [...path, name] : undefined;
}

/** Every path that the expression reads, each in its full length. A variable that a macro binds also looks like a path. */
export function readsOf(node: Syntax): (readonly [variable: string, ...fields: string[]])[] {
  const path = fieldPathOf(node);
  return path ? [path] : partsOf(node).flatMap(readsOf);
}
