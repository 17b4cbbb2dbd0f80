/**
 * Regular expressions of users (`pattern` in schemas, `matches` in CEL). Kubernetes and CEL use RE2, which needs only linear time in the length of the text.
 * JavaScript's engine can need exponential time for a malicious pattern. So it gets a pattern of a user only if `compileSimple` accepts the pattern.
 */
import { RE2JS } from '@bufbuild/re2';
import { describeError } from '../../../runtime/errors.ts';
import type { Charge } from './charge.ts';
import { findParts } from './pattern-search.ts';

/** Limit for the length of a pattern, because long patterns take long to compile. Kubernetes' cost estimate for CEL has a similar limit. */
export const patternCharactersMax = 4096;

export interface Pattern {
  /** Whether any part of the text matches. */
  test(text: string): boolean;
  /** The matching parts of the text, from left to right. `charge` is called with the work, and may throw. */
  find(text: string, limit: number, charge: Charge): string[];
}

/** Compiles a pattern. Throws SyntaxError if the pattern is invalid. */
export function compilePattern(source: string): Pattern {
  if (source.length > patternCharactersMax) {
    throw new SyntaxError(`pattern has ${source.length} characters, at most ${patternCharactersMax} are allowed`);
  }
  const simple = compileSimple(source);
  try {
    const whole = simple ?? RE2JS.compile(source);
    let search: RE2JS | undefined;
    return {
      test: (text) => whole.test(text),
      find: (text, limit, charge) => {
        search ??= RE2JS.compile(source);
        return findParts(search.re2().prog, text, limit, charge);
      },
    };
  } catch (error) {
    throw new SyntaxError(describeError(error), { cause: error });
  }
}

const classOrLiteral = String.raw`(?:[A-Za-z0-9_\- @%=,:;/~<>!#&]|\\[.\-/d_]|\[\^?(?:[A-Za-z0-9_.:@/+*]|\\[.\-/])(?:[A-Za-z0-9_.:@/+*]|-[A-Za-z0-9]|\\[.\-/])*-?\])`;
const simplePattern = new RegExp(
  String.raw`^\^${classOrLiteral}*(?:${classOrLiteral}(?:[+*?]|\{\d{1,3}(?:,\d{0,3})?\})?)?\$$`,
);

/**
 * Compiles a simple pattern with JavaScript's engine: a pattern that is anchored at both ends and has at most one repetition, at the end. Undefined: the
 * pattern is not simple. For simple patterns, JavaScript's engine cannot backtrack and gives the same results as RE2, ten times as fast. Most patterns of
 * schemas are simple.
 */
function compileSimple(source: string): RegExp | undefined {
  return simplePattern.test(source) ? new RegExp(source) : undefined;
}
