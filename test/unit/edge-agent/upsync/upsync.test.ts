import { expect, test } from 'vitest';
import { parseKey } from '../../../../core/object/key.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { Upsync, upsyncObjectsMax } from '../../../../edge-agent/upsync/upsync.ts';
import { FakeCluster } from '../support/fake-cluster.ts';

const placement = 'center.retail/shop';
const rules = new Map([[placement, [{ apiGroup: '', resources: ['configmaps'], namespaces: ['shop'] }]]]);
const keyOf = (i: number) => `/configmaps/shop/m${String(i).padStart(5, '0')}`;

const silent = { changed() {}, taken() {}, counted() {}, synced() {}, readFailed() {} };

test('objects of a server without uids are reported each with its own body', async () => {
  const cluster = new FakeCluster();
  const upsync = new Upsync(cluster, new VirtualClock(), silent);
  for (const i of [1, 2])
    cluster.write(keyOf(i), (object) => {
      const { namespace, name } = parseKey(keyOf(i));
      object.metadata = { namespace, name };
      object.data = { i: String(i) };
    });
  await upsync.setRules(rules);
  for (const i of [1, 2])
    expect(Buffer.from(upsync.reportOf('center.retail', keyOf(i))!.body).toString()).toContain(`"i":"${i}"`);
  cluster.erase(keyOf(1));
  expect([upsync.bodies, upsync.reportOf('center.retail', keyOf(1))]).toEqual([1, undefined]);
  upsync.stop();
});

test('objects beyond the bound have no body in memory, and it is read when the object comes within the bound', async () => {
  const cluster = new FakeCluster();
  const changed: string[] = [];
  const upsync = new Upsync(cluster, new VirtualClock(), { ...silent, changed: (key) => void changed.push(key) });
  const write = (i: number) =>
    cluster.write(keyOf(i), (object) => {
      const { namespace, name } = parseKey(keyOf(i));
      Object.assign(object.metadata, { namespace, name });
      object.data = { i: String(i) };
    });
  // The last ones first, so that they are within the bound at the start.
  for (let i = upsyncObjectsMax + 4; i >= 0; i--) write(i);
  await upsync.setRules(rules);
  expect([upsync.count(placement), upsync.bodies]).toEqual([upsyncObjectsMax + 5, upsyncObjectsMax]);
  write(upsyncObjectsMax + 1);
  expect(upsync.bodies).toBe(upsyncObjectsMax);
  const next = keyOf(upsyncObjectsMax);
  expect([upsync.reportOf('center.retail', next), upsync.isComplete(next)]).toEqual([undefined, true]);
  cluster.erase(keyOf(0));
  expect([upsync.reportOf('center.retail', next), upsync.isComplete(next)]).toEqual([undefined, false]);
  changed.length = 0;
  await new Promise((resolve) => setImmediate(resolve));
  expect(changed).toEqual([next]);
  const { body } = upsync.reportOf('center.retail', next)!;
  expect(JSON.parse(Buffer.from(body).toString('utf8')).data).toEqual({ i: String(upsyncObjectsMax) });
  expect(upsync.bodies).toBe(upsyncObjectsMax);
  upsync.stop();
});

test('an object that comes within the bound is read also from a server without uids', async () => {
  const cluster = new FakeCluster();
  const upsync = new Upsync(cluster, new VirtualClock(), silent);
  for (let i = upsyncObjectsMax; i >= 0; i--)
    cluster.write(keyOf(i), (object) => {
      const { namespace, name } = parseKey(keyOf(i));
      object.metadata = { namespace, name };
    });
  await upsync.setRules(rules);
  cluster.erase(keyOf(0));
  await new Promise((resolve) => setImmediate(resolve));
  expect(upsync.isComplete(keyOf(upsyncObjectsMax))).toBe(true);
  expect(upsync.reportOf('center.retail', keyOf(upsyncObjectsMax))).toBeDefined();
  upsync.stop();
});
