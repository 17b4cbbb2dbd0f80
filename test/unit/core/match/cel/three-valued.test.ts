import { describe, expect, it } from 'vitest';
import { parseSyntax, readsOf } from '../../../../../core/match/cel/syntax.ts';
import { evaluateAbstractly, type FieldFact } from '../../../../../core/match/cel/three-valued.ts';

const sometimes = (...values: string[]): FieldFact => ({ mayBePresent: true, mayBeAbsent: true, values });
const always = (...values: string[]): FieldFact => ({ mayBePresent: true, mayBeAbsent: false, values });
const never: FieldFact = { mayBePresent: false, mayBeAbsent: true, values: [] };
const text = (...numbers: [number, number] | []): FieldFact => ({ mayBePresent: true, mayBeAbsent: false, numbers });

/** The possible results among true, false and error, with facts by the name of a property; `location` is unknown. */
function outcomes(source: string, facts: Readonly<Record<string, FieldFact>> = {}): string {
  const outcome = evaluateAbstractly(parseSyntax(source), {
    fieldOf: ([variable, name, ...more]) =>
      variable === 'properties' && name !== undefined && more.length === 0 ? (facts[name] ?? never) : undefined,
  });
  return (['true', 'false', 'error'] as const).filter((one) => outcome[one]).join(' ');
}

describe('an expression over many places at once', () => {
  it('may have each result that one of its values gives', () => {
    expect(outcomes('properties.a == "x"', { a: always('x') })).toBe('true');
    expect(outcomes('properties.a == "x"', { a: always('x', 'y') })).toBe('true false');
    expect(outcomes('properties.a == "z"', { a: always('x', 'y') })).toBe('false');
    expect(outcomes('properties["a"].startsWith("x")', { a: always('xa', 'xb') })).toBe('true');
    expect(outcomes('properties.a in ["x", "z"]', { a: always('x', 'z') })).toBe('true');
    expect(outcomes('double(properties.a) < 2.0 ', { a: always('1.5', '3') })).toBe('true false');
  });

  it('fails if a key is missing, and an error is neither true nor false', () => {
    expect(outcomes('properties.a == "x"', { a: sometimes('x') })).toBe('true error');
    expect(outcomes('!(properties.a == "x")', { a: sometimes('x') })).toBe('false error');
    expect(outcomes('properties.a == "x"')).toBe('error');
    expect(outcomes('!(properties.a == "x")')).toBe('error');
  });

  it('asks whether a key is there without failing', () => {
    for (const ask of ['has(properties.a)', '"a" in properties']) {
      expect([outcomes(ask), outcomes(ask, { a: always('x') }), outcomes(ask, { a: sometimes('x') })]).toEqual([
        'false',
        'true',
        'true false',
      ]);
    }
  });

  it('lets a deciding operand win over an error on either side', () => {
    expect(outcomes('properties.none == "x" || true')).toBe('true');
    expect(outcomes('true || properties.none == "x"')).toBe('true');
    expect(outcomes('properties.none == "x" && false')).toBe('false');
    expect(outcomes('properties.none == "x" || false')).toBe('error');
    expect(outcomes('properties.none == "x" && true')).toBe('error');
    expect(outcomes('has(properties.a) && properties.a == "x"', { a: sometimes('x') })).toBe('true false error');
  });

  it('has the results of all branches that its condition may choose', () => {
    expect(outcomes('has(properties.a) ? true : false')).toBe('false');
    expect(outcomes('properties.a == "x" ? true : false', { a: always('x', 'y') })).toBe('true false');
    expect(outcomes('properties.none == "x" ? true : false')).toBe('error');
  });

  it('compares numbers by their range', () => {
    const facts = { load: text(10, 20.5) };
    expect(outcomes('double(properties.load) < 5.0', facts)).toBe('false error');
    expect(outcomes('double(properties.load) < 15.0', facts)).toBe('true false error');
    expect(outcomes('double(properties.load) > 9.0', facts)).toBe('true error');
    expect(outcomes('21.0 > double(properties.load)', facts)).toBe('true error');
    expect(outcomes('int(properties.load) == 30', facts)).toBe('false error');
    expect(outcomes('!(double(properties.load) < 15.0)', facts)).toBe('true false error');
    expect(outcomes('double(properties.load) < 5.0', { load: text() })).toBe('error');
  });

  it('ignores a bound if texts are more precise than doubles', () => {
    const facts = { id: text(0, 9_007_199_254_740_992) };
    expect(outcomes('int(properties.id) > 9007199254740992', facts)).toBe('true false error');
  });

  it('may have any result if an unknown value decides', () => {
    for (const source of [
      'location.metadata.name == "x"',
      'path.startsWith("eu")',
      '["x"].exists(p, p == properties.a)',
      '[{"a": "x"}].exists(properties, properties.a == "x")',
      'cel.bind(a, properties.a, a == "x")',
      'properties.exists(name, name == "a")',
      'properties[?"a"].orValue("x") == "x"',
      'properties.a == 1',
      'properties == properties',
    ]) {
      expect(outcomes(source, { a: always('x') }), source).toBe('true false error');
    }
    expect(outcomes('path == "x" && properties.a == "y"', { a: always('x') })).toBe('false');
  });

  it('evaluates a bounded number of combinations', () => {
    const many = always(...Array.from({ length: 256 }, (_, i) => `v${i}`));
    expect(outcomes('properties.a + properties.b == "x"', { a: many, b: many })).toBe('true false error');
  });
});

describe('the reads of an expression', () => {
  it('are every path that is written in full', () => {
    const reads = readsOf(
      parseSyntax('has(properties.a) && location.metadata["labels"]["x/y"] in [syncTarget.spec.b, "c"]'),
    );
    expect(reads.map((path) => path.join(' '))).toEqual([
      'properties a',
      'location metadata labels x/y',
      'syncTarget spec b',
    ]);
  });

  it('are a whole map if the key is computed at run time', () => {
    expect(readsOf(parseSyntax('properties[properties.a]')).map((path) => path.join(' '))).toEqual([
      'properties',
      'properties a',
    ]);
  });
});
