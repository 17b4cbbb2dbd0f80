import { expect, test } from 'vitest';
import { MemoryStore } from '../../../../../core/store/memory/memory-store.ts';
import { ClusterIdentity } from '../../../../../edge-agent/cluster/kubernetes/cluster-identity.ts';

const server = 'https://10.0.0.1:443';

function identity(store: MemoryStore, uid: { now: string }, expected?: string) {
  let asked = 0;
  const checked = new ClusterIdentity({
    store,
    server,
    expected,
    ask: async () => {
      asked++;
      return uid.now;
    },
  });
  return { checked, asked: () => asked };
}

test('the first cluster that answers is the agent’s cluster, and is asked once until it was away', async () => {
  const uid = { now: 'one' };
  const { checked, asked } = identity(new MemoryStore(), uid);
  await checked.check();
  await checked.check();
  expect(asked()).toBe(1);
  checked.unsure();
  await checked.check();
  expect(asked()).toBe(2);
});

test('another cluster behind the same kubeconfig is refused, also by the next process, until the first is back', async () => {
  const store = new MemoryStore();
  const uid = { now: 'one' };
  await identity(store, uid).checked.check();
  uid.now = 'two';
  const { checked } = identity(store, uid);
  const message =
    /is another cluster .* is two\) than the one that joined \(one\): nothing is applied .* cluster\.kubernetes\.uid: two$/;
  await expect(checked.check()).rejects.toMatchObject({ code: 'Conflict', message: expect.stringMatching(message) });
  await expect(checked.check()).rejects.toMatchObject({ code: 'Conflict' });
  uid.now = 'one';
  await expect(checked.check()).resolves.toBeUndefined();
});

test('a person may name the cluster, and any other is refused', async () => {
  const store = new MemoryStore();
  await identity(store, { now: 'one' }).checked.check();
  await identity(store, { now: 'two' }, 'two').checked.check();
  await identity(store, { now: 'two' }).checked.check();
  await expect(identity(store, { now: 'three' }, 'four').checked.check()).rejects.toThrow(
    'cluster.kubernetes.uid (four)',
  );
});

test('a cluster that does not answer is asked again', async () => {
  const store = new MemoryStore();
  let fails = true;
  const ask = async () => {
    if (fails) throw new Error('no answer');
    return 'one';
  };
  const checked = new ClusterIdentity({ store, server, ask });
  await expect(checked.check()).rejects.toThrow('no answer');
  fails = false;
  await expect(checked.check()).resolves.toBeUndefined();
});
