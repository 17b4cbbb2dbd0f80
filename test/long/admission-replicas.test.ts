/**
 * Agents that are admitted below a relay of two replicas, by `banyan enroll` and by a join token. Both replicas know each agent, and each agent can go to the
 * other replica.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { AgentProcess, enroll } from '../e2e/agent-process.ts';
import { banyan, LocalTree, until } from '../e2e/local-tree.ts';
import { placedInProduction } from '../e2e/placements.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const retail = 'space/center/retail';
const replicas = ['eu', 'eu~1'] as const;
const agents = ['rivoli', 'nation'] as const;
type Name = (typeof agents)[number];

describe.skipIf(withoutKubectl)(`agents admitted at replicas${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-admission-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const running: AgentProcess[] = [];

  const start = (name: Name, pki: object) => {
    const own = join(directory, name);
    const agent = new AgentProcess({ tree, directory: own, name, pki, cluster: { embedded: {} }, replicas: ['eu~1'] });
    running.push(agent);
    agent.start();
  };
  const ok = (...args: string[]): string => {
    const { code, out } = banyan(...args, '--data', tree.data);
    expect([code, out]).toEqual([0, expect.anything()]);
    return out;
  };
  const summary = () =>
    tree.json<{ status?: { summary?: Record<string, number> } }>(retail, 'epl', 'shop')?.status?.summary ?? {};
  const isWhole = () => summary().expected === agents.length && summary().applied === agents.length;
  const isStale = () => (summary().outdated ?? 0) + (summary().stale ?? 0) + (summary().never ?? 0) > 0;
  /** The replica of the relay to which an agent is attached. */
  const parentOf = (name: Name) =>
    replicas.find((node) => {
      const shown = tree.json<{ status?: { session?: { state: string } } }>(`node/${node}`, 'mn', `eu.${name}`);
      return shown?.status?.session?.state === 'Connected';
    });

  beforeAll(async () => {
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up('--no-restart');
    tree.ok(retail, 'create', 'namespace', 'shop');
    tree.ok(retail, 'create', 'configmap', 'prices', '-n', 'shop', '--from-literal=bread=1');
    expect(tree.apply(retail, placedInProduction('shop')).code).toBe(0);
  });
  afterAll(async () => {
    for (const agent of running) await agent.stop();
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('are known to both replicas before they dial, and counted once', async () => {
    const files = enroll(tree, 'rivoli', join(directory, 'rivoli'));
    const token = ok('join-token', 'eu:nation', '--label', 'env=prod').match(/banyan-join-1\.\S+/)?.[0] ?? '';
    for (const node of replicas) {
      const { out } = tree.kubectl(`node/${node}`, ['get', 'synctargets', '-o', 'name']);
      for (const name of agents) expect(out).toContain(`/${name}`);
    }
    start('rivoli', files);
    const joinToken = join(directory, 'token');
    writeFileSync(joinToken, token, { mode: 0o600 });
    start('nation', { joinToken });
    await until('both have it, and are counted once', isWhole);
  });

  it('fail over to the other replica when theirs is killed, and get new objects there', async () => {
    // A relay shows changes of its children within a second.
    await until('one shows it', () => parentOf('rivoli') !== undefined);
    const first = parentOf('rivoli')!;
    tree.kill(first);
    tree.ok(retail, 'patch', 'configmap', 'prices', '-n', 'shop', '-p', '{"data":{"bread":"2"}}');
    const other = replicas.find((node) => node !== first)!;
    await until('both are at the other one', () => agents.every((name) => parentOf(name) === other));
    await until('all is new and counted once', () => isWhole() && !isStale());
    expect(ok('why', 'configmap/prices', '-n', 'shop', '--at', 'eu:rivoli', '--space', retail)).toContain('rivoli');
  });

  it('are refused a second admission at either replica', () => {
    for (const command of ['enroll', 'join-token'])
      for (const name of agents) expect(banyan(command, `eu:${name}`, '--data', tree.data)).toMatchObject({ code: 1 });
  });
});

const topology = {
  apiVersion: 'banyan.io/v1alpha1',
  kind: 'Topology',
  metadata: { name: 'admission' },
  spec: {
    center: { spaces: [{ name: 'retail', type: 'Workload' }] },
    relays: [{ name: 'eu', replicas: 2 }],
    clusters: [],
  },
};
