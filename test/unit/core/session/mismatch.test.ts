import { describe, expect, it } from 'vitest';
import { Mismatch } from '../../../../core/session/mismatch.ts';

describe('a difference of digests', () => {
  it('is a mismatch once; a difference that a reconciliation leaves unchanged is intended', () => {
    const mismatch = new Mismatch();
    expect(mismatch.isOne('')).toBe(false);
    expect(mismatch.isOne('1/ab')).toBe(true);
    expect(mismatch.isOne('1/ab')).toBe(false);
    expect(mismatch.isOne('1/ab')).toBe(false);
    expect(mismatch.isOne('')).toBe(false);
  });

  it('is a mismatch again when other rows differ', () => {
    const mismatch = new Mismatch();
    expect(mismatch.isOne('1/ab')).toBe(true);
    expect(mismatch.isOne('1/ab')).toBe(false);
    expect(mismatch.isOne('2/cd')).toBe(true);
    expect(mismatch.isOne('1/ab')).toBe(false);
  });
});
