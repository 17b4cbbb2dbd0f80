/** Regular expressions: `matches` of the language, `find` and `findAll` of Kubernetes. RE2 evaluates them (pattern.ts). */
import type { Environment } from '@marcbachmann/cel-js';
import { chargeSteps } from '../base/charge.ts';
import { compilePattern, type Pattern } from '../base/pattern.ts';
import { definer } from './define.ts';

export function addRegex(environment: Environment): void {
  const define = definer(environment);
  define('string.matchesPattern(string): bool', (text: string, source: string) => patternOf(source).test(text));
  define('matches(string, string): bool', (text: string, source: string) => patternOf(source).test(text));
  define('string.find(string): string', (text: string, source: string) => findAll(text, source, 1)[0] ?? '');
  define('string.findAll(string): list<string>', (text: string, source: string) => findAll(text, source, -1));
  define('string.findAll(string, int): list<string>', (text: string, source: string, limit: bigint) =>
    findAll(text, source, Number(limit)),
  );
}

/** Limit for the cache of compiled patterns. Most patterns are literals of rules, but an expression can also make any number of patterns at run time. */
const patternsMax = 256;
const patterns = new Map<string, Pattern>();

function patternOf(source: string): Pattern {
  let pattern = patterns.get(source);
  if (!pattern) {
    pattern = compilePattern(source);
    if (patterns.size >= patternsMax) patterns.clear();
    patterns.set(source, pattern);
  }
  return pattern;
}

/** The parts of the text that match, from left to right. A negative limit means all. */
function findAll(text: string, source: string, limit: number): string[] {
  return patternOf(source).find(text, limit < 0 ? Number.POSITIVE_INFINITY : limit, chargeSteps);
}
