/** Defaults that a space shows and does not send, and the requests of kubectl about pods that are no writes of an object. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutKubectl } from '../support/kubectl.ts';
import { LocalTree, until } from './local-tree.ts';
import { placedInProduction } from './placements.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const space = 'space/center/work';
const cluster = 'cluster/shop';

describe.skipIf(withoutKubectl)(`a space beside a cluster${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-defaults-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const labels = { app: 'till' };
  const file = join(directory, 'till.json');
  const deployment = (spec: object = {}) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'till', namespace: 'shop' },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'till:1' }] } },
      ...spec,
    },
  });
  const read = (context: string, path: string, ...args: string[]) =>
    tree.kubectl(context, ['get', '-n', 'shop', ...args, '-o', `jsonpath={${path}}`]).stdout;

  beforeAll(async () => {
    const clusters = [{ name: 'shop', labels: { env: 'prod' }, provider: { embedded: {} } }];
    const spec = { center: { spaces: [{ name: 'work', type: 'Workload' }] }, clusters };
    const topology = { apiVersion: 'banyan.io/v1alpha1', kind: 'Topology', metadata: { name: 'defaults' }, spec };
    writeFileSync(join(directory, 'topology.yaml'), JSON.stringify(topology));
    await tree.up();
    tree.ok(space, 'create', 'namespace', 'shop');
    writeFileSync(file, JSON.stringify(deployment()));
    tree.ok(space, 'apply', '-f', file);
    tree.apply(space, placedInProduction('shop'));
    await until('the copy is available', () => read(cluster, '.status.availableReplicas', 'deploy/till') === '1');
  }, 180_000);
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('shows defaults, and sees no difference to what was applied', () => {
    const paths = '.spec.replicas}|{.spec.strategy.rollingUpdate.maxSurge}|{.spec.template.spec.schedulerName';
    expect(read(space, paths, 'deploy/till')).toBe('1|25%|default-scheduler');
    expect(tree.kubectl(space, ['diff', '-f', file])).toMatchObject({ code: 0, out: '' });
    // With its own name as manager, kubectl would also write its annotation anew, as at a Kubernetes API server.
    const applied = ['diff', '--server-side', '--force-conflicts', '--field-manager=gitops', '-f', file];
    expect(tree.kubectl(space, applied)).toMatchObject({ code: 0, out: '' });
    expect(tree.ok(space, 'get', 'deploy/till', '-n', 'shop', '-o', 'yaml')).not.toContain('illedIn');
  });

  it('sends no default: what a site chooses stays, until somebody above writes the field', async () => {
    tree.ok(cluster, 'scale', 'deploy/till', '-n', 'shop', '--replicas=3');
    tree.ok(space, 'annotate', 'deploy/till', '-n', 'shop', 'note=changed');
    await until('the change arrives', () => read(cluster, '.metadata.annotations.note', 'deploy/till') === 'changed');
    expect(read(cluster, '.spec.replicas', 'deploy/till')).toBe('3');
    writeFileSync(file, JSON.stringify(deployment({ replicas: 1 })));
    tree.ok(space, 'apply', '-f', file);
    await until('the value above counts', () => read(cluster, '.spec.replicas', 'deploy/till') === '1');
  });

  it('evicts at a cluster as the disruption budget allows', async () => {
    const budget = ['poddisruptionbudget', 'keep', '-n', 'shop'];
    tree.ok(cluster, 'create', ...budget, '--selector=app=till', '--min-available=1');
    await until('the budget is counted', () => read(cluster, '.status.currentHealthy', 'pdb/keep') === '1');
    const drain = () => tree.kubectl(cluster, ['drain', 'node-1', '--ignore-daemonsets', '--force', '--timeout=2s']);
    expect(drain().out).toContain("Cannot evict pod as it would violate the pod's disruption budget.");
    tree.ok(cluster, 'delete', ...budget);
    const before = read(cluster, '.items[*].metadata.name', 'pods');
    expect(drain().out).toContain(`pod/${before} evicted`);
    tree.ok(cluster, 'uncordon', 'node-1');
  });

  it.each([space, cluster])('takes a binding and an ephemeral container: %s', (context) => {
    const spec = { schedulerName: 'nobody', containers: [{ name: 'main', image: 'till:1' }] };
    tree.apply(context, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'alone', namespace: 'default' }, spec });
    const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'alone' }, target: { name: 'node-1' } };
    const bind = () => tree.kubectl(context, ['create', '-n', 'default', '-f', '-'], JSON.stringify(binding));
    expect(bind().code).toBe(0);
    expect(bind().out).toContain('pod alone is already assigned to node "node-1"');
    tree.ok(
      context,
      'debug',
      'alone',
      '-n',
      'default',
      '--image=shell:1',
      '-c',
      'shell',
      '--attach=false',
      '--profile=general',
    );
    const names = '.spec.nodeName} {.spec.ephemeralContainers[*].name';
    const shown = tree.ok(context, 'get', 'pod/alone', '-n', 'default', '-o', `jsonpath={${names}}`);
    expect(shown).toBe('node-1 shell');
  });
});
