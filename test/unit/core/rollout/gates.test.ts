import { describe, expect, it } from 'vitest';
import { compileGate, evaluateGate } from '../../../../core/rollout/gates.ts';

const counts = (expected: number, fresh: number, available: number, failed = 0) => ({
  expected,
  fresh,
  exposed: fresh,
  available,
  failed,
});
const gate = (expression: string, some: object = {}) => ({ expression, ...some });
const ratio = 'available/expected >= 0.99';

describe('a gate over counts', () => {
  it('divides with the documented precedence', () => {
    expect(evaluateGate(gate(ratio), counts(100, 100, 99), counts(100, 100, 99))).toEqual({ passed: true });
    expect(evaluateGate(gate(ratio), counts(100, 100, 98), counts(100, 100, 98))).toEqual({
      passed: false,
      failed: false,
      message: 'available/expected >= 0.99 does not hold (expected 100, available 98)',
    });
  });

  it('leaves unconnected destinations out of the denominator', () => {
    expect(evaluateGate(gate(ratio), counts(100, 60, 60), counts(0, 0, 0)).passed).toBe(true);
    expect(evaluateGate(gate('available/total >= 0.99'), counts(100, 60, 60), counts(0, 0, 0)).passed).toBe(false);
  });

  it('reads only the wave, or all destinations with the release', () => {
    expect(evaluateGate(gate('wave.failed == 0.0 && failed == 1.0'), counts(9, 9, 8, 1), counts(3, 3, 3)).passed).toBe(
      true,
    );
  });

  it('passes no empty sample: it waits for one destination unless it requires more', () => {
    const none = evaluateGate(gate(ratio), counts(3, 0, 0), counts(3, 0, 0));
    expect(none).toMatchObject({
      passed: false,
      message: 'only 0 destinations are connected; its minimumSample is 1',
    });
    const few = evaluateGate(gate(ratio, { minimumSample: 5 }), counts(4, 4, 4), counts(4, 4, 4));
    expect(few).toMatchObject({ passed: false, message: 'only 4 destinations are connected; its minimumSample is 5' });
  });

  it('waits until enough are connected', () => {
    const half = evaluateGate(gate(ratio, { minimumFresh: 0.9 }), counts(10, 8, 8), counts(10, 8, 8));
    expect(half).toMatchObject({
      passed: false,
      message: 'only 8 of 10 destinations are connected; its minimumFresh is 0.9',
    });
  });

  it('that cannot be evaluated waits, and says why', () => {
    const wrong = evaluateGate(gate('[1][int(failed)] == 1'), counts(1, 1, 0, 1), counts(1, 1, 0, 1));
    expect(wrong).toMatchObject({ passed: false, failed: false });
    expect(JSON.stringify(wrong)).toContain('[1][int(failed)] == 1: ');
  });

  it.each(['available/expected', 'availabel > 1.0', 'wave.availabel > 1.0', 'available >'])(
    '%s is invalid',
    (expression) => {
      expect(() => compileGate(expression)).toThrow();
    },
  );
});
