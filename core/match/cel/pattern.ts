/**
 * Regular expressions of users (`pattern` in schemas, `matches` in CEL). Kubernetes and CEL use RE2, whose time is linear in the length of the text.
 * JavaScript's engine can take exponential time on a hostile pattern and text, so it never gets a pattern of a user unless `compileSimple` accepts the
 * pattern.
 */
import { RE2JS } from '@bufbuild/re2';
import { describeError } from '../../runtime/errors.ts';

/** A longer pattern costs more to compile than any schema is worth. Kubernetes' own cost estimate for CEL ends near this length too. */
export const patternCharactersMax = 4096;

export interface Pattern {
  /** True when any part of the text matches. */
  test(text: string): boolean;
}

/** Throws SyntaxError with the error in the pattern. */
export function compilePattern(source: string): Pattern {
  if (source.length > patternCharactersMax) {
    throw new SyntaxError(`pattern has ${source.length} characters, at most ${patternCharactersMax} are allowed`);
  }
  const simple = compileSimple(source);
  if (simple) return simple;
  try {
    return RE2JS.compile(source);
  } catch (error) {
    throw new SyntaxError(describeError(error), { cause: error });
  }
}

const classOrLiteral = String.raw`(?:[A-Za-z0-9_\- @%=,:;/~<>!#&]|\\[.\-/d_]|\[\^?(?:[A-Za-z0-9_.:@/+*]|\\[.\-/])(?:[A-Za-z0-9_.:@/+*]|-[A-Za-z0-9]|\\[.\-/])*-?\])`;
const simplePattern = new RegExp(
  String.raw`^\^${classOrLiteral}*(?:${classOrLiteral}(?:[+*?]|\{\d{1,3}(?:,\d{0,3})?\})?)?\$$`,
);

/**
 * Handles patterns that are anchored at both ends and have at most one repetition, at the end. JavaScript's engine can't backtrack there and gives the same
 * results as RE2. It is ten times as fast, and most patterns of schemas are of this kind.
 */
function compileSimple(source: string): Pattern | undefined {
  return simplePattern.test(source) ? new RegExp(source) : undefined;
}
