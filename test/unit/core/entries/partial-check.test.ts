import { describe, expect, it } from 'vitest';
import { checkPartial } from '../../../../core/entries/partial-check.ts';
import { type DestinationCounts, emptyPartial, encodePartial, type Failure } from '../../../../core/summary/partial.ts';

const agent = { path: 'eu:paris', role: 'agent' } as const;
const relay = { path: 'eu:paris', role: 'relay' } as const;

function partial(counts: { readonly [name in keyof DestinationCounts]?: number }, failures: readonly Failure[] = []) {
  const empty = emptyPartial(1, 2);
  return encodePartial({ ...empty, counts: { ...empty.counts, ...counts }, failures });
}

const failureOf = (path: string) => ({ path, object: 'deployments.apps shop/till', reason: 'Failed', message: 'no' });

describe('a child’s report about a placement', () => {
  it('covers one destination if the child is an agent', () => {
    const one = { expected: 1, fresh: 1, synced: 1, applied: 1, available: 1 };
    expect(() => checkPartial(agent, partial(one, [failureOf('eu:paris')]))).not.toThrow();
    expect(() => checkPartial(agent, partial({ expected: 1, quarantined: 1, synced: 1 }))).not.toThrow();
    for (const counts of [{ expected: 5, fresh: 5, available: 5 }, {}, { expected: 1, stale: 1 }, { quarantined: 2 }]) {
      expect(() => checkPartial(agent, partial(counts))).toThrow(
        'an agent is exactly one destination that has reported',
      );
    }
  });

  it('has consistent sums', () => {
    const counts = { expected: 9, fresh: 4, stale: 3, never: 1, quarantined: 1, available: 4 };
    expect(() => checkPartial(relay, partial(counts))).not.toThrow();
    expect(() => checkPartial(relay, partial({}))).not.toThrow();
    expect(() => checkPartial(relay, partial({ ...counts, expected: 8 }))).toThrow(
      'counts.expected 8 is not the sum of fresh 4, stale 3, never 1 and quarantined 1',
    );
  });

  it.each(['synced', 'applied', 'available', 'failed', 'conflicted', 'outdated'])(
    'has no more %s destinations than destinations that have reported',
    (name) => {
      const counts = { expected: 9, fresh: 3, quarantined: 1, never: 5 };
      expect(() => checkPartial(relay, partial({ ...counts, [name]: 4 }))).not.toThrow();
      expect(() => checkPartial(relay, partial({ ...counts, [name]: 5 }))).toThrow(
        `counts.${name} 5 is more than fresh 3 and quarantined 1 together`,
      );
    },
  );

  it('names failures of the child’s own destinations only', () => {
    const counts = { expected: 2, fresh: 2, failed: 1 };
    expect(() => checkPartial(relay, partial(counts, [failureOf('eu:paris:rivoli')]))).not.toThrow();
    expect(() => checkPartial(relay, partial(counts, [failureOf('eu:parish')]))).toThrow(
      'failures of "eu:parish", which is not "eu:paris" or below it',
    );
  });
});
