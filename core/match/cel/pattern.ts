/**
 * Regular expressions of users (schemas' `pattern`, CEL's `matches`). Kubernetes and CEL mean RE2, which takes time linear in the
 * text; JavaScript's engine can take exponential time on a hostile pair of pattern and text, so it is never given one.
 */
import { RE2JS } from '@bufbuild/re2';
import { describeError } from '../../runtime/errors.ts';

/** A longer pattern costs more to compile than any schema is worth (Kubernetes' own estimate of CEL's cost stops near here too). */
export const patternCharactersMax = 4096;

export interface Pattern {
  /** True when any part of the text matches. */
  test(text: string): boolean;
}

/** Throws SyntaxError with what is wrong with the pattern. */
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
 * Anchored at both ends, with one repetition at most and that last: JavaScript's engine can't backtrack there and means the same.
 * It is ten times as fast, and most patterns of schemas are of this kind.
 */
function compileSimple(source: string): Pattern | undefined {
  return simplePattern.test(source) ? new RegExp(source) : undefined;
}
