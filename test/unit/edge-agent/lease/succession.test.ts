import { describe, expect, test } from 'vitest';
import { successionOf } from '../../../../edge-agent/lease/succession.ts';

const memory = { store: 's1', leased: true };

describe('an agent that has become active', () => {
  test('continues at once if its own store was active last', () => {
    expect(successionOf({ store: 's1' }, memory)).toEqual({});
  });

  test('catches up with the parent if another store was', () => {
    expect(successionOf({ store: 's2' }, memory).catchUp).toBe('another agent of this identity was active last');
  });

  test('catches up if the Lease was made anew, since another store may have been active by the former one', () => {
    expect(successionOf({}, memory).catchUp).toMatch(/created again/);
  });

  test('that never had a Lease continues at once with a new one', () => {
    expect(successionOf({}, { ...memory, leased: false })).toEqual({});
  });

  test('has the same identity for the parent as the former one', () => {
    const left = { store: 's2', bootCounter: 7, attachedNonce: 'ab' };
    expect(successionOf(left, memory).forebear).toEqual({ bootCounter: 7, attachedNonce: 'ab' });
  });
});
