/** Integers of 64 bits keep their digits on the whole way: into a space, down to an edge cluster through a relay, and up again. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anything, definitionOf } from '../support/definition.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { LocalTree, until } from './local-tree.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const retail = 'space/center/retail';
const shop = 'cluster/eu:shop';
const [max, min] = ['9223372036854775807', '-9223372036854775808'];

const spec = {
  type: 'object',
  properties: {
    id: { type: 'integer', format: 'int64' },
    ids: { type: 'array', items: { type: 'integer' }, 'x-kubernetes-list-type': 'set' },
    free: anything,
    note: { type: 'string' },
  },
  'x-kubernetes-validations': [{ rule: '!has(self.id) || self.id != 9007199254740993', message: 'not this one' }],
};
const definition = definitionOf({ group: 'example.com', kind: 'Meter', properties: { spec, status: anything } });
const placement = {
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name: 'meters' },
  spec: { locationSelectors: [{}], downsync: [{ apiGroup: 'example.com', resources: ['meters'] }] },
};

/** YAML, because JSON.stringify of a test can't write such an integer. */
const meter = (more = '') => `apiVersion: example.com/v1
kind: Meter
metadata: {name: m, namespace: default}
spec: {id: ${max}, ids: [${min}, ${max}], free: {a: [1, ${max}]}${more}}
`;

describe.skipIf(withoutKubectl)(`integers of 64 bits${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-integers-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const shown = (context: string, path: string) =>
    tree.kubectl(context, ['get', 'meters.example.com', 'm', '-n', 'default', '-o', `jsonpath={${path}}`]).stdout;

  beforeAll(async () => {
    const spec = {
      center: { spaces: [{ name: 'retail', type: 'Workload' }] },
      relays: [{ name: 'eu' }],
      clusters: [{ name: 'shop', parent: 'eu', provider: { embedded: {} } }],
    };
    const topology = { apiVersion: 'banyan.io/v1alpha1', kind: 'Topology', metadata: { name: 'integers' }, spec };
    writeFileSync(join(directory, 'topology.yaml'), JSON.stringify(topology));
    await tree.up();
    tree.apply(retail, definition);
    tree.ok(retail, 'wait', 'crd/meters.example.com', '--for=condition=Established');
    tree.apply(retail, placement);
  }, 180_000);
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('are stored, listed, patched around and applied by several managers', () => {
    const run = (args: string[], input?: string) => {
      const { code, out } = tree.kubectl(retail, args, input);
      expect(code, out).toBe(0);
    };
    run(['create', '-f', '-'], meter());
    run(['patch', 'meters.example.com', 'm', '-n', 'default', '--type=merge', '-p', '{"spec":{"note":"x"}}']);
    run(['apply', '--server-side', '--field-manager=other', '-f', '-'], meter(', note: x'));
    expect(shown(retail, '.spec.id')).toBe(max);
    expect(shown(retail, '.spec.ids')).toBe(`[${min},${max}]`);
    expect(shown(retail, '.spec.free')).toBe(`{"a":[1,${max}]}`);
    const list = tree.ok(retail, 'get', 'meters.example.com', '-A', '-o', 'jsonpath={.items[*].spec.id}');
    expect(list).toBe(max);
    expect(shown(retail, '.metadata.managedFields[*].fieldsV1')).toContain(`"v:${max}"`);
    expect(tree.ok(retail, 'get', 'meters.example.com')).toContain('m');
  });

  it('are what a rule calculates with, and beyond 64 bits they are refused', () => {
    const refused = (json: string) => {
      const { code, out } = tree.kubectl(retail, [
        ...['patch', 'meters.example.com', 'm', '-n', 'default', '--type=merge', '-p', `{"spec":${json}}`],
      ]);
      expect(code).toBe(1);
      return out;
    };
    expect(refused('{"id":9007199254740993}')).toContain('not this one');
    expect(refused('{"free":{"b":9223372036854775809}}')).toContain('spec.free.b: the integer 9223372036854775809');
    expect(refused('{"note":9007199254740993}')).toContain('must be of type string: "integer"');
  });

  it('arrive at an edge cluster through a relay, and come up again in a status', async () => {
    await until('the object is at the cluster', () => shown(shop, '.spec.id') !== '', 60);
    expect(shown(shop, '.spec.id')).toBe(max);
    expect(shown(shop, '.spec.free')).toBe(`{"a":[1,${max}]}`);
    const status = `{"status":{"count":${max}}}`;
    const patch = ['patch', 'meters.example.com', 'm', '-n', 'default', '--subresource=status', '--type=merge'];
    const { code, out } = tree.kubectl(shop, [...patch, '-p', status]);
    expect(code, out).toBe(0);
    await until('the status is in the fleet', () => shown('fleet/center/retail', '.status.count') !== '', 60);
    expect(shown('fleet/center/retail', '.status.count')).toBe(max);
    expect(shown('fleet/center/retail', '.spec.id')).toBe(max);
  });
});
