import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { AwaitedKinds } from '../../../../../edge-agent/cluster/kubernetes/awaited-kinds.ts';

const key = {
  group: 'apiextensions.k8s.io',
  resource: 'customresourcedefinitions',
  namespace: '',
  name: 'signs.shop.example.com',
};
const definition = (established: boolean) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: key.name },
  status: { conditions: [{ type: 'Established', status: established ? 'True' : 'False' }] },
});

describe('a kind whose definition has changed', () => {
  let clock: VirtualClock;
  let served: Set<string>;
  let known: Set<string>;
  let asked: number;
  let told: number;
  let fails: boolean;
  let kinds: AwaitedKinds;

  beforeEach(() => {
    clock = new VirtualClock();
    [served, known] = [new Set(), new Set()];
    [asked, told, fails] = [0, 0, false];
    kinds = new AwaitedKinds({
      clock,
      logger: silentLogger,
      forget: () => {
        known = new Set(served);
      },
      async isServed({ group, resource }) {
        asked++;
        if (fails) throw new Error('away');
        return known.has(`${resource}.${group}`);
      },
    });
  });

  const changed = async (type: 'ADDED' | 'MODIFIED' | 'DELETED', established = true) => {
    kinds.changed({ type, key, object: definition(established) }, () => told++);
    await advance(0);
  };
  const advance = async (ms: number) => {
    clock.advance(ms);
    for (let i = 0; i < 5; i++) await Promise.resolve();
  };

  it('is told of once more when discovery follows, and not again', async () => {
    await changed('MODIFIED');
    await advance(250);
    expect(told).toBe(0);
    served.add(key.name);
    await advance(500);
    expect(told).toBe(1);
    const before = asked;
    await advance(60_000);
    expect([told, asked]).toEqual([1, before]);
  });

  it('is not told of again where discovery has followed already, or the definition is not established', async () => {
    known.add(key.name);
    await changed('ADDED');
    known.clear();
    await changed('MODIFIED', false);
    await advance(60_000);
    expect([told, asked]).toEqual([0, 1]);
  });

  it('is told of when it is served no more, too', async () => {
    served.add(key.name);
    known.add(key.name);
    await changed('DELETED');
    await advance(250);
    served.delete(key.name);
    await advance(500);
    expect(told).toBe(1);
  });

  it('is asked for a few times, also of a cluster that is away, and only as its newest event has it', async () => {
    fails = true;
    await changed('ADDED');
    fails = false;
    await advance(250);
    await changed('DELETED');
    served.add(key.name);
    for (let second = 0; second < 120; second++) await advance(1_000);
    expect(told).toBe(0);
    expect(asked).toBeLessThan(12);
    await changed('ADDED');
    kinds.stop();
    const before = asked;
    await advance(60_000);
    expect([told, asked]).toEqual([0, before]);
  });
});
