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
/** A definition as it arrives: without its status. */
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: key.name },
};

describe('a kind whose definition has changed', () => {
  let clock: VirtualClock;
  let served: Set<string>;
  let known: Set<string>;
  let asked: number;
  let forgotten: number;
  let announcements: number;
  let fails: boolean;
  let kinds: AwaitedKinds;

  beforeEach(() => {
    clock = new VirtualClock();
    [served, known] = [new Set(), new Set()];
    [asked, forgotten, announcements, fails] = [0, 0, 0, false];
    kinds = new AwaitedKinds({
      clock,
      logger: silentLogger,
      forget: () => {
        forgotten++;
        known = new Set(served);
      },
      async isServed({ group, resource }) {
        asked++;
        if (fails) throw new Error('away');
        return known.has(`${resource}.${group}`);
      },
    });
  });

  const changed = (type: 'ADDED' | 'MODIFIED' | 'DELETED', name = key.name) =>
    kinds.changed({ type, key: { ...key, name }, object: definition }, () => announcements++);
  const advance = async (ms: number) => {
    clock.advance(ms);
    for (let i = 0; i < 10; i++) await Promise.resolve();
  };

  it('is announced once more when discovery follows, and not again', async () => {
    changed('MODIFIED');
    await advance(100);
    await advance(250);
    expect(announcements).toBe(0);
    served.add(key.name);
    await advance(500);
    expect(announcements).toBe(1);
    const before = asked;
    await advance(60_000);
    expect([announcements, asked]).toEqual([1, before]);
  });

  it('costs only its checks if its definition never is established', async () => {
    changed('ADDED');
    for (let i = 0; i < 60; i++) await advance(1_000);
    expect([announcements, asked]).toEqual([0, 8]);
    served.add(key.name);
    changed('MODIFIED');
    for (let i = 0; i < 10; i++) await advance(1_000);
    expect(announcements).toBe(1);
  });

  it('is announced when it is no longer served, too', async () => {
    served.add(key.name);
    known.add(key.name);
    changed('DELETED');
    await advance(100);
    served.delete(key.name);
    await advance(250);
    expect(announcements).toBe(1);
  });

  it('costs one request per check, and one announcement, however many definitions there are', async () => {
    const names = Array.from({ length: 200 }, (_, i) => `kind${i}.shop.example.com`);
    for (const name of names) changed('ADDED', name);
    await advance(100);
    expect([forgotten, announcements]).toEqual([0, 0]);
    for (const name of names) served.add(name);
    await advance(250);
    expect([forgotten, announcements]).toEqual([1, 1]);
  });

  it('does not wait for another slow one', async () => {
    changed('ADDED', 'slow.shop.example.com');
    for (let i = 0; i < 40; i++) await advance(250);
    served.add(key.name);
    known.add(key.name);
    changed('ADDED');
    await advance(100);
    expect(announcements).toBe(1);
  });

  it('is checked for a few times, also at an absent cluster, and only in its newest form', async () => {
    fails = true;
    changed('ADDED');
    await advance(100);
    fails = false;
    served.add(key.name);
    known.add(key.name);
    changed('DELETED');
    for (let second = 0; second < 120; second++) await advance(1_000);
    expect(announcements).toBe(0);
    expect(asked).toBeLessThan(12);
    changed('ADDED');
    kinds.stop();
    const before = asked;
    await advance(60_000);
    expect([announcements, asked]).toEqual([0, before]);
  });
});
