import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NodeApiClient } from '../../center/cli/api-client.ts';
import { LocalTree, until } from '../e2e/local-tree.ts';
import { kubectlProgram, withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const retail = 'space/center/retail';
/** By last hop. */
const hops = [['eu:paris:rivoli', 'eu:paris:bastille'], ['eu:berlin:mitte', 'eu:berlin:lab'], ['us:market'], ['hq']];
const clusters = hops.flat();
const apiVersion = 'edge.banyan.io/v1alpha1';

interface Placement {
  status?: { rollout?: { phase: string; message: string }; conditions?: { type: string; reason: string }[] };
}
/** Every text that one cluster's ConfigMap has had, from a watch. */
class Seen {
  readonly texts: string[] = [];
  readonly #watch: ChildProcess;

  constructor(tree: LocalTree, cluster: string) {
    const command = ['--kubeconfig', join(tree.data, 'kubeconfig'), '--context', `cluster/${cluster}`];
    const what = ['get', 'configmap', 'price', '-n', 'shop', '--watch', '-o', 'jsonpath={.data.text}{"\\n"}'];
    this.#watch = spawn(kubectlProgram, [...command, ...what], { stdio: ['ignore', 'pipe', 'ignore'] });
    this.#watch.stdout?.on('data', (chunk: Buffer) =>
      this.texts.push(
        ...chunk
          .toString()
          .split('\n')
          .filter((text) => text !== ''),
      ),
    );
  }

  end(): void {
    this.#watch.kill();
  }
}

describe.skipIf(withoutKubectl)(`the limits of a release${why}`, () => {
  const tree = new LocalTree('deploy/topologies/shop.yaml');
  let api: NodeApiClient;

  const rollout = () => tree.json<Placement>(retail, 'epl', 'shop')?.status?.rollout;
  const apply = (...items: object[]) => {
    const { code, out } = tree.apply(retail, { apiVersion: 'v1', kind: 'List', items });
    expect(code, out).toBe(0);
  };
  const price = (text: string) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'price', namespace: 'shop' },
    data: { text },
  });
  /** Its image can't be pulled: it is not available before somebody repairs its pod. */
  const till = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'till', namespace: 'shop' },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: 'till' } },
      template: {
        metadata: { labels: { app: 'till' } },
        spec: { containers: [{ name: 'till', image: 'shop/till:broken' }] },
      },
    },
  };
  const place = (rollout: object) =>
    apply({
      apiVersion,
      kind: 'EdgePlacement',
      metadata: { name: 'shop' },
      spec: {
        locationSelectors: [{}],
        downsync: [
          { apiGroup: '', resources: ['configmaps'], namespaces: ['shop'] },
          { apiGroup: 'apps', resources: ['deployments'], namespaces: ['shop'] },
        ],
        rollout: { strategy: 'Progressive', ...rollout },
      },
    });
  const which = async (path: string, holds: (object: object | undefined) => boolean) => {
    const all = await Promise.all(clusters.map((cluster) => api.get(`cluster/${cluster}`, path)));
    return clusters.filter((_, i) => holds(all[i]));
  };
  const sold = () => which('/apis/apps/v1/namespaces/shop/deployments/till', (object) => object !== undefined);
  const priced = (text: string) =>
    which(
      '/api/v1/namespaces/shop/configmaps/price',
      (object) => (object as { data?: { text: string } } | undefined)?.data?.text === text,
    );
  const untilAt = async (what: string, look: () => Promise<string[]>, holds: (at: string[]) => boolean) => {
    const deadline = performance.now() + 60_000;
    for (let at = await look(); ; at = await look()) {
      if (holds(at)) return at;
      if (performance.now() > deadline) throw new Error(`not within 60 s: ${what}; ${at.join()}`);
      await new Promise((done) => setTimeout(done, 50));
    }
  };
  const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

  beforeAll(async () => {
    await tree.up();
    api = new NodeApiClient(join(tree.data, 'kubeconfig'));
    apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }, price('1'));
    place({ strategy: 'All' });
    tree.ok(retail, 'wait', 'epl/shop', '--for=condition=Ready', '--timeout=60s');
  });
  afterAll(async () => {
    api?.close();
    await tree[Symbol.asyncDispose]();
  });

  it('are the unavailable destinations at each last hop, and the time without progress', async () => {
    place({ maxUnavailable: 1, errorBudget: '100%', progressDeadlineSeconds: 15 });
    await until('it is staged', () => rollout()?.phase === 'Promoted');
    apply(till);
    await until('it has got no further for too long', () => rollout()?.phase === 'Paused');
    expect(rollout()?.message).toContain('no progress for 15 s; handed to 4');
    // One of the two at each of two last hops, and the only one at the others.
    const first = await sold();
    expect(hops.map((hop) => hop.filter((cluster) => first.includes(cluster)).length)).toEqual([1, 1, 1, 1]);
    const image = [{ op: 'replace', path: '/spec/containers/0/image', value: 'shop/till:mended' }];
    const mend = async (cluster: string) => {
      const pods = () => tree.ok(`cluster/${cluster}`, 'get', 'pods', '-n', 'shop', '-o', 'name').trim().split('\n');
      await until('it has its pod', () => pods()[0] !== '');
      for (const pod of pods()) {
        tree.ok(`cluster/${cluster}`, 'patch', pod, '-n', 'shop', '--type=json', '-p', JSON.stringify(image));
      }
    };
    for (const cluster of first) await mend(cluster);
    // A person tries again.
    place({ maxUnavailable: 1, errorBudget: '100%', progressDeadlineSeconds: 60 });
    await untilAt('the others have it too', sold, (at) => at.length === clusters.length);
    for (const cluster of clusters) if (!first.includes(cluster)) await mend(cluster);
    await until('it is promoted', () => rollout()?.phase === 'Promoted');
  });

  it('are the rate per minute, and the age of the authorisation: a subtree that is cut off gets nothing new, and later the promoted objects', async () => {
    // Of the six in a minute's 18, two are at each of two last hops: the second of them is due ten seconds after the first.
    place({ ratePerMinute: 18, authorizationSeconds: 3 });
    await until('it is staged', () => rollout()?.phase === 'Promoted');
    apply(price('2'));
    const isHalf = (at: string[]) => hops.slice(0, 2).every((hop) => hop.some((cluster) => at.includes(cluster)));
    const first = await untilAt('each last hop has given it to one', () => priced('2'), isHalf);
    process.kill(tree.pid('eu'), 'SIGSTOP');
    const cutOff = hops.slice(0, 2).flat();
    const others = cutOff.filter((cluster) => !first.includes(cluster));
    expect(others).toHaveLength(2);
    const watches = others.map((cluster) => new Seen(tree, cluster));
    try {
      await pause(12_000);
      expect((await priced('2')).filter((cluster) => cutOff.includes(cluster))).toEqual(
        cutOff.filter((cluster) => first.includes(cluster)),
      );
      apply(price('3'));
      place({ strategy: 'All' });
      process.kill(tree.pid('eu'), 'SIGCONT');
      await untilAt(
        'all have what is promoted',
        () => priced('3'),
        (at) => at.length === clusters.length,
      );
      await until('the watches have seen it', () => watches.every(({ texts }) => texts.at(-1) === '3'));
      expect(watches.map(({ texts }) => texts)).toEqual([
        ['1', '3'],
        ['1', '3'],
      ]);
    } finally {
      for (const watch of watches) watch.end();
    }
  });
});
