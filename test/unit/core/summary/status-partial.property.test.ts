import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { health } from '../../../../core/object/health.ts';
import { aggregatedStatus } from '../../../../core/summary/aggregated-status.ts';
import { destinationPartial } from '../../../../core/summary/destination-status.ts';
import { conditionTypesMax } from '../../../../core/summary/status-conditions.ts';
import {
  awayPartial,
  destinationsOf,
  mergeStatusPartials,
  outdatedPartial,
  type StatusPartial,
} from '../../../../core/summary/status-partial.ts';
import { encodeStatusPartial, readStatusPartial } from '../../../../core/summary/status-partial-wire.ts';
import { rulesOf, unionMax } from '../../../../core/summary/status-rules.ts';
import {
  aggregateCase,
  caseKinds,
  generation,
  hasFailed,
  isComplete,
  isUnread,
} from '../../../support/aggregate-cases.ts';

const kinds = Object.entries(caseKinds);

describe.each(kinds)('the status partial of a %s', (_name, kind) => {
  const rules = rulesOf(kind.resource);
  const merge = (a: StatusPartial, b: StatusPartial) => mergeStatusPartials(rules, a, b);
  /** A partial of several destinations, as a relay reports it; sometimes the relay is away, or has another form of the object. */
  const partial = fc
    .record({ of: aggregateCase(kind), how: fc.constantFrom('present', 'present', 'away', 'outdated') })
    .map(({ of: { partial: reported }, how }) => {
      const { only: _only, ...rest } = reported;
      if (how === 'away') return awayPartial(rules, rest, 'eu');
      return how === 'outdated' ? outdatedPartial(rules, rest, 'eu', generation) : rest;
    });

  it('merges in any order', () => {
    fc.assert(
      fc.property(partial, partial, partial, (a, b, c) => {
        expect(merge(a, b)).toEqual(merge(b, a));
        expect(merge(merge(a, b), c)).toEqual(merge(a, merge(b, c)));
        expect(destinationsOf(merge(a, b))).toBe(destinationsOf(a) + destinationsOf(b));
      }),
    );
  });

  it('is the same after its way to the parent, and after a merge at each level', () => {
    fc.assert(
      fc.property(aggregateCase(kind), ({ partial: total }) => {
        expect(readStatusPartial({ body: encodeStatusPartial(total) })).toEqual(total);
      }),
    );
  });

  it('gives a status that is ready exactly when all destinations are available, and failed when one has failed', () => {
    fc.assert(
      fc.property(aggregateCase(kind), ({ object, partial: total, states }) => {
        const status = aggregatedStatus({ rules, object, partial: total, isRolledBack: false });
        const { state } = health({ ...object, status });
        const isAvailable = states.every(({ standing }) => standing === 'available') || states.every(isComplete);
        const isFailed = states.some(hasFailed) && !isUnread(object);
        expect([state === 'Current', state === 'Failed']).toEqual([isAvailable, isFailed]);
      }),
      { numRuns: 1000 },
    );
  });

  it('says failed while a release is rolled back, although every destination is available with the former form', () => {
    fc.assert(
      fc.property(aggregateCase(kind), ({ object, partial: total }) => {
        const status = aggregatedStatus({ rules, object, partial: total, isRolledBack: true });
        expect(health({ ...object, status }).state).toBe(isUnread(object) ? 'InProgress' : 'Failed');
      }),
    );
  });
});

it('the partial of a thousand destinations with different texts is as small as that of a few', () => {
  const rules = rulesOf({ group: '', resource: 'services' });
  const partials = Array.from({ length: 1_000 }, (_, i) => {
    const conditions = [{ type: `T${i}`, status: 'False', reason: `r${i}`, message: 'm'.repeat(10_000) }];
    const status = { loadBalancer: { ingress: [{ ip: `10.0.${i >> 8}.${i & 255}` }] }, conditions };
    const texts = { reason: 'r'.repeat(10_000), message: 'm'.repeat(10_000) };
    return destinationPartial(rules, {
      path: `eu:${i}`,
      standing: 'waiting',
      ...texts,
      isCurrent: true,
      generation: 1,
      status,
    });
  });
  const total = partials.reduce((a, b) => mergeStatusPartials(rules, a, b));
  expect(total.conditions).toHaveLength(conditionTypesMax);
  expect(total.fields['loadBalancer.ingress']).toHaveLength(unionMax);
  expect(encodeStatusPartial(total).length).toBeLessThan(20_000);
});

describe('the addresses of a Service', () => {
  const rules = rulesOf({ group: '', resource: 'services' });
  const object = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', generation: 1 },
    spec: { type: 'LoadBalancer' },
  };
  const at = (path: string, standing: 'available' | 'stale' | 'waiting', ...ips: string[]) =>
    destinationPartial(rules, {
      path,
      standing,
      reason: '',
      message: '',
      isCurrent: true,
      generation: 1,
      status: { loadBalancer: { ingress: ips.map((ip) => ({ ip })) } },
    });
  const addresses = (...partials: StatusPartial[]) => {
    const partial = partials.reduce((a, b) => mergeStatusPartials(rules, a, b));
    const status = aggregatedStatus({ rules, object, partial, isRolledBack: false });
    return (status?.loadBalancer as { ingress: { ip: string }[] } | undefined)?.ingress.map(({ ip }) => ip);
  };

  it('are those of all destinations, each once, and stay while a destination is away', () => {
    const [a, b, c] = [
      at('a', 'available', '10.0.0.2'),
      at('b', 'available', '10.0.0.1'),
      at('c', 'stale', '10.0.0.2'),
    ];
    expect(addresses(a, b, c)).toEqual(['10.0.0.1', '10.0.0.2']);
    expect(addresses(a, awayPartial(rules, b, 'eu'))).toEqual(['10.0.0.1', '10.0.0.2']);
  });

  it('are shown once each destination has one, or is available without one', () => {
    expect(addresses(at('a', 'available', '10.0.0.1'), at('b', 'waiting'))).toBeUndefined();
    expect(addresses(at('a', 'available', '10.0.0.1'), at('b', 'available'))).toEqual(['10.0.0.1']);
    expect(addresses(at('a', 'available', '10.0.0.1'), at('b', 'stale'))).toEqual(['10.0.0.1']);
    expect(addresses(at('a', 'available'), at('b', 'available'))).toBeUndefined();
  });
});
