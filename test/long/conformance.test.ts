/**
 * The conformance tests of Kubernetes that run no pod, as they come, against a workload space and an embedded cluster. The suite wants one ready node, which an
 * embedded cluster has. In a workload space, the test creates the object, as any client can.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { LocalTree } from '../e2e/local-tree.ts';
import { runConformance, withoutConformance, withoutPods } from '../support/conformance.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const missing = withoutKubectl ?? withoutConformance;
const why = missing ? ` [not run: ${missing}]` : '';

describe.skipIf(missing)(`conformance${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-conformance-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));

  beforeAll(async () => {
    const spec = {
      center: { spaces: [{ name: 'work', type: 'Workload' }] },
      clusters: [{ name: 'shop', provider: { embedded: {} } }],
    };
    const topology = { apiVersion: 'banyan.io/v1alpha1', kind: 'Topology', metadata: { name: 'conformance' }, spec };
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up();
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' } };
    tree.apply('space/center/work', node);
    const status = { conditions: [{ type: 'Ready', status: 'True' }] };
    tree.ok(
      'space/center/work',
      'patch',
      'node',
      'node-1',
      '--subresource=status',
      '--type=merge',
      '-p',
      JSON.stringify({ status }),
    );
  }, 180_000);

  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  // The two run at the same time, because the suite mostly waits: one of its tests waits five minutes until a list is too old.
  it.concurrent.each(['space/center/work', 'cluster/shop'])(
    'of %s',
    async (context) => {
      const own = tree.kubeconfigOf(context);
      const { passed, failed } = await runConformance(own, withoutPods, `${own}.json`);
      expect(Object.fromEntries(failed)).toEqual({});
      expect(passed.length).toBe(withoutPods.length);
    },
    30 * 60_000,
  );
});
