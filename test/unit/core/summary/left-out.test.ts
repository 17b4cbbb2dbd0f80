/** The fields that an aggregated status of a kind without rules lacks, and the words about them. */
import { describe, expect, it } from 'vitest';
import type { GroupResource } from '../../../../core/object/key.ts';
import { aggregatedStatus } from '../../../../core/summary/aggregated-status.ts';
import { destinationPartial, type Status } from '../../../../core/summary/destination-status.ts';
import { leftOutMax } from '../../../../core/summary/left-out.ts';
import {
  mergeStatusPartials,
  type ObjectStanding,
  type StatusPartial,
} from '../../../../core/summary/status-partial.ts';
import { encodeStatusPartial, readStatusPartial } from '../../../../core/summary/status-partial-wire.ts';
import { rulesOf } from '../../../../core/summary/status-rules.ts';

const boilers = { group: 'heat.example.com', resource: 'boilers' };
const deployments = { group: 'apps', resource: 'deployments' };

function at(path: string, status: Status, standing: ObjectStanding = 'available', of: GroupResource = boilers) {
  const state = { path, standing, reason: '', message: '', isCurrent: true, generation: 1, status };
  return destinationPartial(rulesOf(of), state);
}

function conditionOf(partials: readonly StatusPartial[], of: GroupResource = boilers) {
  const rules = rulesOf(of);
  const partial = partials.reduce((a, b) => mergeStatusPartials(rules, a, b));
  const object = { apiVersion: 'v1', kind: 'Any', metadata: { name: 'b', generation: 1 }, spec: { replicas: 1 } };
  const status = aggregatedStatus({ rules, object, partial, isRolledBack: false });
  const { conditions = [] } = (status ?? {}) as { conditions?: { type: string; status: string; message: string }[] };
  return conditions.find(({ type }) => type === 'FieldsLeftOut');
}

describe('the fields of a kind without rules', () => {
  it('are named with the places and the remedy', () => {
    const condition = conditionOf([
      at('a', { temperature: 70, phase: 'Hot', observedGeneration: 1, conditions: [] }),
      at('b', { temperature: 10, pressure: 2 }),
    ]);
    expect(condition).toMatchObject({
      status: 'True',
      message:
        'pressure, temperature: no rule makes one value from those of 2 destinations; name a StatusSummarizer in the placement, or read the copies (kubectl --context fleet/NODE/SPACE)',
    });
  });

  it('are not named if there are none, or of a kind of the table', () => {
    expect(conditionOf([at('a', { phase: 'Hot' }), at('b', { phase: 'Hot' })])).toBeUndefined();
    const status = { replicas: 1, collisionCount: 3 };
    const two = ['a', 'b'].map((path) => at(path, status, 'available', deployments));
    expect(conditionOf(two, deployments)).toBeUndefined();
  });

  it('are not named while the status is that of the only destination', () => {
    expect(conditionOf([{ ...at('a', { temperature: 70 }), only: { temperature: 70 } }])).toBeUndefined();
  });

  it('of a destination that is not connected are not named', () => {
    expect(conditionOf([at('a', { temperature: 70 }, 'stale'), at('b', {})])).toBeUndefined();
  });

  it('are the same in whatever order they merge, and have a bound', () => {
    const rules = rulesOf(boilers);
    const names = Array.from({ length: 20 }, (_, i) => `field-${i}`.padEnd(100, 'x'));
    const partials = names.map((name, i) => at(`eu:${i}`, { [name]: i }));
    const merge = (some: readonly StatusPartial[]) => some.reduce((a, b) => mergeStatusPartials(rules, a, b));
    const { leftOut } = merge(partials);
    expect(leftOut).toHaveLength(leftOutMax);
    expect(merge(partials.toReversed()).leftOut).toEqual(leftOut);
    const [one, other] = [merge(partials.slice(0, 7)), merge(partials.slice(7))];
    expect(mergeStatusPartials(rules, other, one).leftOut).toEqual(leftOut);
    expect(readStatusPartial({ body: encodeStatusPartial(merge(partials)) }).leftOut).toEqual(leftOut);
  });
});
