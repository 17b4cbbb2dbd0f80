import { describe, expect, it } from 'vitest';
import { compilePattern, patternCharactersMax } from '../../../../../../core/match/cel/base/pattern.ts';

describe('a pattern', () => {
  it.each([
    ['^[A-Z]{3}$', 'EUR', true],
    ['^[A-Z]{3}$', 'EUR\n', false],
    ['^[A-Z]{3}$', 'eur', false],
    ['^a.c$', 'abc', true],
    ['b', 'abc', true],
    ['(?i)TILL', 'a till', true],
    ['^\\d+(\\.\\d+)?$', '1.5', true],
    ['^[a-z0-9]([-a-z0-9]*[a-z0-9])?$', 'a-b', true],
    ['^[^@]+@[^@]+$', 'a@b', true],
    ['^$', '', true],
  ])('%s of %j is %s', (pattern, text, expected) => {
    expect(compilePattern(pattern).test(text)).toBe(expected);
  });

  it('runs in linear time where a backtracking engine takes for ever', () => {
    const started = performance.now();
    for (const pattern of ['^(a+)+$', '^(a|aa)+$', '^([a-z]+)*!$', '^(.*a){20}$'])
      compilePattern(pattern).test(`${'a'.repeat(5000)}!`);
    expect(performance.now() - started).toBeLessThan(2000);
  });

  it.each(['(', '[z-a]', 'a{2,1}', '(?=x)', '\\1'])('%s is an invalid pattern', (pattern) => {
    expect(() => compilePattern(pattern)).toThrow(SyntaxError);
  });

  it('has a maximum length', () => {
    expect(() => compilePattern('a'.repeat(patternCharactersMax + 1))).toThrow('at most 4096');
  });
});
