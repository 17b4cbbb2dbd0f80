/** A relay and an agent that are killed again and again during their work: everything that each has acknowledged is there when it is back. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NodeApiClient } from '../../center/cli/api-client.ts';
import { Counter } from '../e2e/counter.ts';
import { LocalTree, until, untilAnswered } from '../e2e/local-tree.ts';
import { Till, tillAtFirst } from '../e2e/till.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
/** An inventory space of the relay, so that no other node acknowledges its objects. */
const space = 'space/eu/ops';
const cluster = 'cluster/eu:shop';
const [relayKills, agentKills] = [5, 5];
const writers = 4;
/** A child whose sessions end again and again within two minutes waits up to 60 s before it dials (core/session/backoff.ts). */
const backWithinSeconds = 90;

const topology = `apiVersion: banyan.io/v1alpha1
kind: Topology
metadata: {name: kills}
spec:
  center: {}
  relays: [{name: eu, spaces: [{name: ops}]}]
  clusters: [{name: shop, parent: eu, labels: {env: prod}}]
`;

interface Mailbox {
  readonly status?: { readonly head: number; readonly acknowledged: number };
}

describe.skipIf(withoutKubectl)(`a relay and an agent that are killed${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-kills-'));
  let tree: LocalTree;
  let api: NodeApiClient;
  let till: Till;
  const counters = Array.from(
    { length: writers },
    (_, i) => new Counter((value) => till.write(`c${i}`, String(value))),
  );

  beforeAll(async () => {
    const file = join(directory, 'topology.yaml');
    writeFileSync(file, topology);
    tree = new LocalTree(file);
    await tree.up();
    api = new NodeApiClient(join(tree.data, 'kubeconfig'));
    till = new Till(api, space);
    expect(tree.apply(space, tillAtFirst()).code).toBe(0);
    await untilAnswered('it is there', async () => (await text(cluster, 'word')) === 'first');
  });
  afterAll(async () => {
    api?.close();
    await tree?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const text = (context: string, name: string) => till.text(context, name);
  const all = (context: string) =>
    Promise.all(counters.map(async (_, i) => Number((await text(context, `c${i}`)) ?? 0)));
  const uid = () => till.uid(cluster, 'word');
  const mailbox = () => tree.json<Mailbox>('node/eu', 'mailbox', 'shop')?.status;

  /** Writes for a while, until the process is killed at any moment of a write or of its consequences. */
  async function writeOn(): Promise<void> {
    for (const counter of counters) counter.start();
    const enough = counters[0]!.acknowledged + 3;
    await untilAnswered('writes go on', async () => counters[0]!.acknowledged >= enough);
    await new Promise((done) => setTimeout(done, Math.random() * 50));
  }

  it('a relay has everything that its API has acknowledged, and its agent gets it', async () => {
    const before = await uid();
    for (let round = 0; round < relayKills; round++) {
      await writeOn();
      const pid = tree.pid('eu');
      tree.kill('eu');
      await Promise.all(counters.map((counter) => counter.end()));
      await until('the relay is started again', () => tree.pid('eu') !== pid);
      await untilAnswered('it answers', async () => (await text(space, 'c0')) !== undefined);
      const stored = await all(space);
      for (const [i, { acknowledged, tried }] of counters.entries()) {
        expect(stored[i], `c${i} after kill ${round}`).toBeGreaterThanOrEqual(acknowledged);
        expect(stored[i], `c${i} after kill ${round}`).toBeLessThanOrEqual(tried);
      }
    }
    expect(counters.reduce((sum, { acknowledged }) => sum + acknowledged, 0)).toBeGreaterThan(relayKills * writers);
    const last = await all(space);
    // Objects from before the last kill do not prove a new session: objects that are written now arrive in the next one.
    await till.write('word', 'after all');
    await untilAnswered(
      'the agent is back, and has the same',
      async () => (await text(cluster, 'word')) === 'after all' && String(await all(cluster)) === String(last),
      backWithinSeconds,
    );
    expect(await uid()).toBe(before);
  }, 240_000);

  it('an agent applies everything that it has acknowledged, even if its parent is silent from that moment on', async () => {
    const before = await uid();
    for (let round = 0; round < agentKills; round++) {
      const { acknowledged = 0 } = mailbox() ?? {};
      await writeOn();
      await Promise.all(counters.map((counter) => counter.end()));
      const last = await all(space);
      const isAcknowledged = () => {
        const now = mailbox();
        return now !== undefined && now.acknowledged > acknowledged && now.acknowledged === now.head;
      };
      await until('the agent has acknowledged all', isAcknowledged);
      // The view changes within a second, so it may show a moment during the writes.
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      await until('also what came last', isAcknowledged);
      const [relay, agent] = [tree.pid('eu'), tree.pid('eu:shop')];
      process.kill(relay, 'SIGSTOP');
      try {
        tree.kill('eu:shop');
        await until('the agent is started again', () => tree.pid('eu:shop') !== agent);
        await untilAnswered(
          'it has brought it to its cluster',
          async () => String(await all(cluster)) === String(last),
        );
      } finally {
        process.kill(relay, 'SIGCONT');
      }
    }
    expect(await uid()).toBe(before);
  }, 240_000);
});
