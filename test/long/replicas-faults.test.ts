import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { banyan, fixture, LocalTree, until } from '../e2e/local-tree.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const stores = ['store-1', 'store-2', 'store-3', 'store-4'];
const clusters = stores.map((store) => `eu:${store}`);
const space = 'space/center/retail';

interface Shown {
  metadata: { uid: string; annotations?: Record<string, string> };
  status?: {
    summary?: Record<string, number>;
    rollout?: { phase: string };
    session?: { state: string };
    conditions?: { type: string; status: string; message: string }[];
  };
}

describe.skipIf(withoutKubectl)(`a place with two replicas, one of which dies, stops or falls behind${why}`, () => {
  const tree = new LocalTree('test/e2e/replicas-topology.yaml');
  const configMapAt = (cluster: string) =>
    tree.json<Shown>(`cluster/${cluster}`, 'configmap', 'greeting', '-n', 'guestbook');
  const placement = () => tree.json<Shown>(space, 'epl', 'guestbook')?.status;
  const noteOf = (cluster: string) => configMapAt(cluster)?.metadata.annotations?.note;
  const having = (note: string) => clusters.filter((cluster) => noteOf(cluster) === note);
  const uids = () => clusters.map((cluster) => configMapAt(cluster)?.metadata.uid);
  const change = (note: string) =>
    tree.ok(space, 'annotate', '--overwrite', 'cm', 'greeting', '-n', 'guestbook', `note=${note}`);
  const isThere = (replica: string, store: string) =>
    tree.json<Shown>(`node/${replica}`, 'mn', `eu.${store}`)?.status?.session?.state === 'Connected';
  const attachedTo = (replica: string) => stores.filter((store) => isThere(replica, store));
  const stage = (waves: object[]) => {
    const rollout = { strategy: 'Progressive', waves };
    const patch = JSON.stringify({ spec: { rollout } });
    tree.ok(space, 'patch', 'epl', 'guestbook', '--type', 'merge', '-p', patch);
  };
  const untilWhole = () =>
    until('all are counted, each once', () => {
      const { expected = 0, fresh = 0, available = 0 } = placement()?.summary ?? {};
      expect(expected).toBeLessThanOrEqual(4);
      return expected === 4 && fresh === 4 && available === 4;
    });
  let before: (string | undefined)[] = [];

  beforeAll(async () => {
    await tree.up();
    tree.ok(space, 'apply', '-f', fixture('docs/examples/guestbook.yaml'));
    await untilWhole();
    before = uids();
  });
  afterAll(() => tree[Symbol.asyncDispose]());

  it('keeps a release where it is when the replica is killed in the middle of a wave, and gives it to no other destination', async () => {
    stage([{ name: 'first', count: 2, gates: [{ rolloutGate: 'go' }] }]);
    change('two');
    await until('the first wave has it', () => placement()?.rollout?.phase === 'WaitingForGate');
    const has = having('two');
    expect(has).toHaveLength(2);
    const replica = attachedTo('eu').some((store) => has.includes(`eu:${store}`)) ? 'eu' : 'eu~1';
    tree.kill(replica);
    for (let i = 0; i < 8; i++) expect(having('two')).toEqual(has);
    await until('all are counted', () => placement()?.summary?.fresh === 4);
    expect(having('two')).toEqual(has);
    expect(uids()).toEqual(before);
    tree.apply(space, {
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'RolloutGate',
      metadata: { name: 'go' },
      spec: {},
    });
    const passed = JSON.stringify({ status: { phase: 'Passed' } });
    tree.ok(space, 'patch', 'rolloutgate', 'go', '--subresource', 'status', '--type', 'merge', '-p', passed);
    await until('everybody has it', () => having('two').length === 4);
    await untilWhole();
    expect(uids()).toEqual(before);
  });

  it('answers pings of every agent, at any replica', async () => {
    for (const cluster of clusters) {
      await until(`${cluster} answers`, () => banyan('ping', cluster, '--data', tree.data).code === 0);
    }
  });

  it('moves its children when a replica is stopped, after the silence limit', async () => {
    const stopped = attachedTo('eu').length > 0 ? 'eu' : 'eu~1';
    const pid = tree.pid(stopped);
    process.kill(pid, 'SIGSTOP');
    try {
      change('three');
      await until('all have it', () => having('three').length === 4, 110);
      await untilWhole();
      expect(uids()).toEqual(before);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await until('it is back', () => banyan('ping', 'eu', '--data', tree.data).code === 0);
    await untilWhole();
    expect(uids()).toEqual(before);
  });
});
