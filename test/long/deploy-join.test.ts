/** The chart with a join token: the pods of one cluster join once, share their certificate, and need no more rights than the chart gives for it. */
import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { readJoinToken } from '../../core/identity/join-token.ts';
import { startInstalled } from '../e2e/installed-agent.ts';
import { banyan, fixture, kubectlBy, LocalTree, until } from '../e2e/local-tree.ts';
import { placedInProduction } from '../e2e/placements.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { furnish } from '../support/control-plane/furniture.ts';
import { Helm, withoutHelm } from '../support/helm.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const missing = withoutKubectl ?? withoutControlPlane() ?? withoutHelm;
const why = missing ? ` [not run: ${missing}]` : '';
/** The programs may have to be built first. */
const buildMsMax = 3_600_000;
const chart = fixture('deploy/chart');
const [release, namespace] = ['banyan-agent', 'banyan'];
const path = 'eu:rivoli';

describe.skipIf(missing)(`the chart with a join token${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-chart-join-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const agents: ChildProcess[] = [];
  let helm: Helm;
  let plane: ControlPlane;
  let token: string;

  const site = (...args: string[]): string => {
    const { code, out } = kubectlBy(plane.kubeconfig, args);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${out}`);
    return out;
  };
  const tokenFor = (place: string): string => {
    const { code, out } = banyan('join-token', place, '--label', 'env=prod', '--data', tree.data);
    if (code !== 0) throw new Error(out);
    return out.trim();
  };
  const toCluster = (...args: string[]) => {
    const ran = helm.run(...args, '-n', namespace, '--kubeconfig', plane.kubeconfig);
    if (ran.code !== 0) throw new Error(ran.out);
    return ran.out;
  };
  const joined = () =>
    (
      JSON.parse(site('get', 'secret', `${release}-joined`, '-n', namespace, '-o', 'json')) as {
        data?: Record<string, string>;
      }
    ).data ?? {};
  /** As a pod; without a token if its Secret was deleted. */
  const start = (identity: string, mounted?: string) => {
    const files = { tree, plane, namespace, release, directory: join(directory, identity), identity };
    const process = startInstalled({ ...files, pki: mounted === undefined ? {} : { joinToken: mounted } });
    agents.push(process);
    return process;
  };
  const log = (identity: string) => {
    const file = join(directory, identity, 'log');
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  };
  const isConnected = (parent = 'eu') =>
    tree.json<{ status?: { session?: { state?: string } } }>(
      `node/${parent}`,
      'nodes.mesh.banyan.io',
      `${parent}.rivoli`,
    )?.status?.session?.state === 'Connected';
  const holder = () => site('get', 'lease', release, '-n', namespace, '-o', 'jsonpath={.spec.holderIdentity}');

  beforeAll(async () => {
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    helm = await Helm.find(join(directory, 'helm'));
    [plane] = await Promise.all([ControlPlane.start({ directory: join(directory, 'plane'), audit: true }), tree.up()]);
    furnish(plane, { nodes: 2, volumes: 0 });
    site('create', 'namespace', namespace);
    token = tokenFor(path);
  }, buildMsMax);
  afterAll(async () => {
    for (const agent of agents) agent.kill('SIGKILL');
    await tree[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const values = () => [
    ...['--set', `agent.path=${path}`, '--set', 'agent.parent.address=relay.example.com:7443'],
    ...['--set', `agent.identity.joinToken=${token}`],
  ];

  it('installs with the token alone, and an empty Secret for the certificate', () => {
    expect(toCluster('install', release, chart, ...values(), '--wait', '--timeout', '60s')).toContain(
      `The agent of ${path}`,
    );
    expect(joined()).toEqual({});
    expect(site('get', 'secret', `${release}-join-token`, '-n', namespace, '-o', 'jsonpath={.data.token}')).toBe(
      Buffer.from(token).toString('base64'),
    );
  });

  it('lets pods that start together join once, with one key that they share', async () => {
    start('one', token);
    start('two', token);
    await until('one of them is attached', isConnected);
    await until('both have an identity', () =>
      ['one', 'two'].every((pod) => log(pod).includes('the agent is running')),
    );
    const { status } = tree.json<{ status?: { state?: string } }>(
      'node/eu',
      'jointokens',
      readJoinToken(token, 'test').name,
    )!;
    expect(status?.state).toBe('Used');
    expect(Object.keys(joined()).sort()).toEqual(['ca.crt', 'tls.crt', 'tls.key']);
    for (const pod of ['one', 'two']) expect(log(pod)).not.toMatch(/was used by another key|not joined yet/);
  });

  it('lets another pod take over, and later pods start, without the token', async () => {
    site('delete', 'secret', `${release}-join-token`, '-n', namespace);
    const active = holder().startsWith('one') ? 0 : 1;
    agents[active]?.kill('SIGKILL');
    start('three');
    await until('the third one has its identity', () => log('three').includes('the agent is running'));
    agents[1 - active]?.kill('SIGKILL');
    await until('the third one is active', () => holder().startsWith('three_'));
    await until('it is attached', () => log('three').includes('attached'));
    expect(log('three')).not.toContain('joined: a certificate is kept');
  });

  it('keeps the certificate and the Lease of the pods over an upgrade', () => {
    const before = joined();
    // The holder writes renewTime all the time.
    const lease = () => {
      const { metadata, spec } = JSON.parse(site('get', 'lease', release, '-n', namespace, '-o', 'json')) as Lease;
      return { annotations: metadata.annotations, holder: spec.holderIdentity, transitions: spec.leaseTransitions };
    };
    const leaseBefore = lease();
    expect(leaseBefore.annotations['banyan.io/path']).toBe('eu:rivoli');
    expect(toCluster('upgrade', release, chart, ...values(), '--set', 'agent.logLevel=debug')).toContain(
      'has been upgraded',
    );
    expect(joined()).toEqual(before);
    expect(lease()).toEqual(leaseBefore);
  });

  it('moves with the path of the release: pods take over the Lease of the former path, and every store knows the objects', async () => {
    const space = 'space/center/retail';
    tree.apply(space, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
    tree.apply(space, prices('1'));
    tree.apply(space, placedInProduction('shop'));
    const at = (field: string) =>
      kubectlBy(plane.kubeconfig, ['get', 'cm', 'prices', '-n', 'shop', '-o', `jsonpath={${field}}`]).out;
    await until('the object is at the cluster', () => at('.data.bread') === '1');
    const uid = at('.metadata.uid');
    const moved = tokenFor('us:rivoli');
    const place = ['--set', 'agent.path=us:rivoli', '--set', `agent.identity.joinToken=${moved}`];
    toCluster('upgrade', release, chart, '--reuse-values', ...place);
    agents.at(-1)!.kill('SIGTERM');
    start('four', moved);
    await until('the fourth one is active', () => holder().startsWith('four_'));
    await until('it is attached', () => isConnected('us'));
    expect(banyan('remove', path, '--orphan', '--data', tree.data).code).toBe(0);
    expect(Object.keys(joined()).sort()).toEqual(['ca.crt', 'tls.crt', 'tls.key']);
    const arrives = async (bread: string) => {
      tree.apply(space, prices(bread));
      await until(`${bread} arrives`, () => at('.data.bread') === bread);
      await until(
        'it is exact',
        () => tree.json<Placed>(space, 'edgeplacement', 'shop')?.status?.display === 'available 1/1',
      );
    };
    await arrives('2');
    agents.at(-1)!.kill('SIGTERM');
    start('five');
    await until('the fifth one is active', () => holder().startsWith('five_'));
    await arrives('3');
    expect(at('.metadata.uid')).toBe(uid);
    expect(log('five')).not.toContain('joined: a certificate is kept');
  });

  it('gives no right to any other Secret, and no right to create Secrets', () => {
    const user = `system:serviceaccount:${namespace}:${release}`;
    const own = plane.audited().filter((one) => one.user.username === user && one.objectRef?.resource === 'secrets');
    // All its requests about Secrets were allowed, and were about this one alone.
    const touched = own.filter(({ objectRef }) => objectRef?.namespace === namespace);
    expect([...new Set(touched.map(({ objectRef }) => objectRef?.name))]).toEqual([`${release}-joined`]);
    const can = (...args: string[]) =>
      kubectlBy(plane.kubeconfig, ['auth', 'can-i', ...args, '-n', namespace, '--as', user]).out.trim();
    const role = JSON.parse(site('get', 'role', `${release}-joined`, '-n', namespace, '-o', 'json')) as {
      rules: unknown;
    };
    expect(role.rules).toEqual([
      { apiGroups: [''], resources: ['secrets'], resourceNames: [`${release}-joined`], verbs: ['get', 'update'] },
    ]);
    expect([can('update', `secrets/${release}-joined`), can('update', 'secrets/other')]).toEqual(['yes', 'no']);
  });
});

interface Placed {
  readonly status?: { readonly display?: string };
}

interface Lease {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly spec: { readonly holderIdentity: string; readonly leaseTransitions: number };
}

function prices(bread: string): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'prices', namespace: 'shop' }, data: { bread } };
}

const topology = {
  apiVersion: 'banyan.io/v1alpha1',
  kind: 'Topology',
  metadata: { name: 'joining' },
  spec: {
    center: { spaces: [{ name: 'retail', type: 'Workload' }] },
    relays: [{ name: 'eu' }, { name: 'us' }],
    clusters: [],
  },
};
