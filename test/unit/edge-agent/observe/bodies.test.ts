import { beforeEach, describe, expect, it } from 'vitest';
import { parseKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { asText } from '../../../../core/store/bytes.ts';
import { Associated } from '../../../../edge-agent/associated/associated.ts';
import { Bodies } from '../../../../edge-agent/observe/bodies.ts';
import { FakeCluster } from '../support/fake-cluster.ts';

const placement = 'center.retail/all';
const web = 'apps/deployments/shop/web';
const key = (name: string) => `/pods/shop/${name}`;

function pod(name: string, more: object = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'shop', uid: name }, ...more };
}

async function turn() {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
}

describe('bodies of associated objects', () => {
  it('are kept only for objects below placed ones, and read for an object that turns out to be one', async () => {
    const cluster = new FakeCluster();
    const changed: string[] = [];
    const of = new Associated(
      { cluster, clock: new VirtualClock(), deliveryOf: () => ({ source: 'center.retail', placements: [placement] }) },
      { changed: (_source, one) => changed.push(one), synced: () => {}, failed: () => {}, readFailed: () => {} },
    );
    const owned = (name: string, owner: string) =>
      cluster.write(key(name), (object) => {
        const owners = [{ apiVersion: 'v1', kind: 'ConfigMap', name: owner, uid: owner }];
        Object.assign(object, pod(name, { spec: { text: 'x'.repeat(1_000) } }));
        object.metadata.ownerReferences = owners;
      });
    for (let i = 0; i < 500; i++) owned(`foreign-${i}`, `other-${i % 10}`);
    owned('first', 'root');
    await of.setRules(new Map([[placement, [{ apiGroup: '', resources: ['pods'], limit: 9 }]]]));
    await turn();
    expect(of.bodies).toBe(0);
    of.place(web, 'root');
    expect(of.isComplete(key('first'))).toBe(false);
    await turn();
    owned('second', 'root');
    await turn();
    expect(of.bodies).toBe(2);
    expect(changed).toContain(key('first'));
    for (const name of ['first', 'second']) {
      const report = of.reportOf('center.retail', key(name));
      expect(asText(report!.body)).toContain('xxx');
    }
    of.place(web, undefined);
    await turn();
    expect(of.bodies).toBe(0);
  });

  it('are reported each with its own object if the server gives no uids', async () => {
    const cluster = new FakeCluster();
    const of = new Associated(
      { cluster, clock: new VirtualClock(), deliveryOf: () => ({ source: 'center.retail', placements: [placement] }) },
      { changed: () => {}, synced: () => {}, failed: () => {}, readFailed: () => {} },
    );
    const owners = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'root', uid: 'root' }];
    for (const name of ['a', 'b'])
      cluster.write(key(name), (object) => {
        Object.assign(object, pod(name, { spec: { of: name } }));
        object.metadata = { name, namespace: 'shop', ownerReferences: owners };
      });
    of.place(web, 'root');
    await of.setRules(new Map([[placement, [{ apiGroup: '', resources: ['pods'], limit: 9 }]]]));
    of.place(web, 'root');
    await turn();
    for (const name of ['a', 'b']) {
      const report = of.reportOf('center.retail', key(name));
      expect(report && asText(report.body)).toContain(`"of":"${name}"`);
    }
  });

  describe('that must be read', () => {
    const asked: { name: string; answer: (object: KubeObject | undefined) => void; fail: (error: Error) => void }[] =
      [];
    const log: string[] = [];
    let clock: VirtualClock;
    let bodies: Bodies;
    const want = (name: string) => bodies.want(name, parseKey(key(name)));

    beforeEach(() => {
      asked.length = 0;
      log.length = 0;
      clock = new VirtualClock();
      bodies = new Bodies({
        clock,
        get: ({ name }) => new Promise((answer, fail) => asked.push({ name, answer, fail })),
        read: (uid) => log.push(`read ${uid}`),
        failed: (of, error) => log.push(`failed ${of} ${(error as Error).message}`),
      });
    });

    it('are requested a few at a time, each once', async () => {
      for (let i = 0; i < 10; i++) want(`p${i}`);
      want('p0');
      expect(asked.map(({ name }) => name)).toEqual(['p0', 'p1', 'p2', 'p3']);
      for (let i = 0; i < 10; i++) {
        asked[i]!.answer(pod(`p${i}`));
        await turn();
      }
      expect(asked).toHaveLength(10);
      expect(bodies.size).toBe(10);
      expect(log).toHaveLength(10);
    });

    it('are not taken from an answer that is older than the watch, or of another object', async () => {
      want('a');
      want('b');
      want('c');
      bodies.set('a', pod('a', { spec: { now: 1 } }));
      bodies.delete('b');
      asked[0]!.answer(pod('a', { spec: { now: 0 } }));
      asked[1]!.answer(pod('b'));
      asked[2]!.answer({ ...pod('c'), metadata: { name: 'c', uid: 'another' } });
      await turn();
      expect(asText(bodies.of('a')!)).toContain('"now":1');
      expect(bodies.size).toBe(1);
      expect(log).toEqual([]);
    });

    it('are requested again if the cluster did not answer; of forbidden ones nothing is reported', async () => {
      want('a');
      want('b');
      asked[0]!.fail(new Error('away'));
      asked[1]!.fail(new BanyanError('Forbidden', 'no'));
      await turn();
      expect(log).toEqual(['failed /pods/shop/a away']);
      clock.advance(5_000);
      expect(asked.map(({ name }) => name)).toEqual(['a', 'b', 'a']);
      asked[2]!.answer(pod('a'));
      await turn();
      expect([bodies.size, log.at(-1)]).toEqual([1, 'read a']);
    });

    it('are requested less and less often while they fail, each separately, and reported once', async () => {
      want('a');
      for (let minute = 0; minute < 60; minute++) {
        for (let second = 0; second < 60; second += 5) {
          asked.at(-1)!.fail(new BanyanError('TooLarge', 'larger than may be held'));
          await turn();
          clock.advance(5_000);
        }
      }
      expect(asked.length).toBeLessThan(70);
      expect(log).toHaveLength(1);
      want('b');
      expect(asked.at(-1)!.name).toBe('b');
      bodies.stop();
      const before = asked.length;
      clock.advance(600_000);
      expect(asked).toHaveLength(before);
    });
  });
});
