import { describe, expect, it } from 'vitest';
import { ageOf, humanDuration } from '../../../../../core/apiserver/table/ages.ts';

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

describe('a duration', () => {
  // The first and the last value of each step.
  it.each([
    [0, '0s'],
    [999, '0s'],
    [119 * secondMs, '119s'],
    [2 * minuteMs, '2m'],
    [2 * minuteMs + secondMs, '2m1s'],
    [10 * minuteMs - secondMs, '9m59s'],
    [10 * minuteMs, '10m'],
    [3 * hourMs - secondMs, '179m'],
    [3 * hourMs, '3h'],
    [3 * hourMs + minuteMs, '3h1m'],
    [8 * hourMs - secondMs, '7h59m'],
    [8 * hourMs, '8h'],
    [2 * dayMs - secondMs, '47h'],
    [2 * dayMs, '2d'],
    [2 * dayMs + hourMs, '2d1h'],
    [8 * dayMs - secondMs, '7d23h'],
    [8 * dayMs, '8d'],
    [730 * dayMs - secondMs, '729d'],
    [730 * dayMs, '2y'],
    [731 * dayMs, '2y1d'],
    [8 * 365 * dayMs - secondMs, '7y364d'],
    [8 * 365 * dayMs, '8y'],
    [9 * 365 * dayMs - secondMs, '8y'],
  ])('of %d ms is %s', (ms, text) => {
    expect(humanDuration(ms)).toBe(text);
  });

  it('of a clock one second ahead is zero, and of a clock further ahead is invalid', () => {
    expect(humanDuration(-1_999)).toBe('0s');
    expect(humanDuration(-2_000)).toBe('<invalid>');
  });
});

describe('an age', () => {
  it('is counted from the time of creation', () => {
    expect(ageOf('2026-01-01T00:00:00Z', Date.parse('2026-01-01T00:05:07Z'))).toBe('5m7s');
  });

  it('is unknown without a time, and invalid for a text that is no time', () => {
    expect(ageOf(undefined, 0)).toBe('<unknown>');
    expect(ageOf('yesterday', 0)).toBe('<invalid>');
  });
});
