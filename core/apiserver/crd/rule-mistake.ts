/** The text of a mistake in a CEL rule, in the form of the Kubernetes API server: what is wrong, the place, and the line of the rule with a mark. */
import { ParseError, TypeError as TypeMistake } from '@marcbachmann/cel-js';
import type { CelError } from '../../match/cel/cel-error.ts';

export function ruleMistake({ kind, message, cause }: CelError, what: 'rule' | 'messageExpression' = 'rule'): string {
  const isRule = what === 'rule';
  if (kind === 'result') {
    return isRule ? 'cel expression must evaluate to a bool' : 'messageExpression must evaluate to a string';
  }
  const isPlaced = cause instanceof ParseError || cause instanceof TypeMistake;
  const text = (isPlaced && placed(kind, message, cause)) || `ERROR: <input>:1:1: ${message}`;
  return `${isRule ? '' : 'messageExpression '}compilation failed: ${text}`;
}

function placed(kind: string, message: string, { code, range, node }: ParseError | TypeMistake): string | undefined {
  const source = node?.input;
  if (source === undefined || !range) return undefined;
  const before = source.slice(0, range.start).split('\n');
  const word = source.slice(range.start, range.end);
  const isField = code === 'no_such_key';
  // Kubernetes points to the dot before a field, and the engine points to the field.
  const column = Math.max(0, before.at(-1)!.length - (isField ? 1 : 0));
  const text = isField
    ? `undefined field '${word}'`
    : code === 'unknown_variable'
      ? `undeclared reference to '${word}' (in container '')`
      : `${kind === 'syntax' ? 'Syntax error: ' : ''}${message}`;
  const line = source.split('\n')[before.length - 1]!;
  return `ERROR: <input>:${before.length}:${column + 1}: ${text}\n | ${line}\n | ${'.'.repeat(column)}^`;
}
