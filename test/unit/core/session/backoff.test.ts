import { describe, expect, it } from 'vitest';
import { nextWait, noBackoff, waitForReturn } from '../../../../core/session/backoff.ts';

describe('the wait before the next dial', () => {
  it('is uniform below a bound that doubles from half a second to a minute', () => {
    let backoff = noBackoff;
    const bounds = Array.from({ length: 9 }, () => {
      const next = nextWait(backoff, 1, 0);
      backoff = next.backoff;
      return next.waitMs;
    });
    expect(bounds).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    expect(nextWait(backoff, 0.5).waitMs).toBe(30_000);
    expect(nextWait(backoff, 0).waitMs).toBe(0);
  });

  it('is the time that the parent named, and a little more, but at most ten minutes', () => {
    expect(nextWait({ attempt: 9 }, 0.999, 4_000).waitMs).toBe(4_500);
    expect(nextWait({ attempt: 9 }, 0, Number.MAX_SAFE_INTEGER).waitMs).toBe(600_000);
  });

  it('is as long as an orderly ended parent is away, and up to twice that', () => {
    expect(waitForReturn(0, 2_000)).toBe(2_000);
    expect(waitForReturn(1, 2_000)).toBe(4_000);
  });
});
