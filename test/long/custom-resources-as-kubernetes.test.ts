/** Custom resources in a space and at a real API server: the same commands give the same answers, also while the definition becomes stricter. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { kubectlBy, LocalTree } from '../e2e/local-tree.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const crd = 'widgets.lead.example.com';

interface Changes {
  readonly colours?: string[];
  readonly replicasMax?: number;
  readonly more?: object;
}

/** A definition with every kind of check that the two servers could make in different ways. */
function definition({ colours = ['red', 'green', 'blue'], replicasMax = 10, more = {} }: Changes = {}): object {
  const item = {
    type: 'object',
    required: ['b'],
    properties: { a: { type: 'integer', default: 1 }, b: { type: 'string' } },
  };
  const spec = {
    type: 'object',
    default: {},
    properties: {
      colour: { type: 'string', default: colours[0], enum: colours },
      replicas: { type: 'integer', minimum: 0, maximum: replicasMax },
      note: { type: 'string', nullable: true },
      size: { type: 'string', default: 'M' },
      items: { type: 'array', items: item, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['b'] },
      tags: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set', maxItems: 3 },
      any: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      port: { 'x-kubernetes-int-or-string': true },
      when: { type: 'string', format: 'date-time' },
      m: { type: 'object', additionalProperties: { type: 'integer' } },
      fixed: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'is immutable' }] },
      ...more,
    },
    'x-kubernetes-validations': [
      { rule: '!has(self.replicas) || self.replicas != 7', message: 'not 7', reason: 'FieldValueForbidden' },
    ],
  };
  const status = { type: 'object', properties: { replicas: { type: 'integer' } } };
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    selectableFields: [{ jsonPath: '.spec.colour' }],
    additionalPrinterColumns: [{ name: 'Colour', type: 'string', jsonPath: '.spec.colour' }],
    subresources: {
      status: {},
      scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
    },
    schema: { openAPIV3Schema: { type: 'object', properties: { spec, status } } },
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: crd },
    spec: {
      group: 'lead.example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList', shortNames: ['wd'] },
      versions: [version],
    },
  };
}

/** `spec` of the objects that both servers get, by name. */
const specs: Readonly<Record<string, unknown>> = {
  a: {},
  b: { note: null, colour: null },
  c: { colour: 'pink' },
  d: { replicas: 7 },
  e: { size: null, tags: ['a', 'a'] },
  f: { items: [{ b: 'x' }, { b: 'x' }] },
  g: { items: [{ a: 2 }] },
  h: { tags: ['a', 'b', 'c', 'd'] },
  i: { unknown: 1 },
  j: { any: { x: 1, y: null } },
  k: { port: 1.5 },
  l: { when: 'yesterday' },
  m: { m: { a: 'x' } },
  n: { fixed: 'one' },
  o: { replicas: '3' },
  p: { replicas: 3.5 },
  q: { port: 'http' },
  r: { items: null, m: null, any: null },
  s: { items: [null] },
  t: null,
  u: 'text',
  v: { m: { a: null } },
  w: { replicas: 11 },
  x: { replicas: -1 },
  y: { tags: ['a', 'a', 'a'], items: [{ b: 'x' }, { b: 'y' }] },
};

describe.skipIf(missing)(`custom resources as in Kubernetes${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-custom-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  let plane: ControlPlane;
  const servers = () => [
    (args: readonly string[], input?: string) => tree.kubectl('space/center/retail', args, input),
    (args: readonly string[], input?: string) => kubectlBy(plane.kubeconfig, args, input),
  ];
  const same = (args: readonly string[], input?: string): void => {
    const [ours, theirs] = servers().map((ask) => {
      const { code, out } = ask(args, input);
      return { code, out };
    });
    expect(ours, `${args.join(' ')} ${input ?? ''}`).toEqual(theirs);
  };
  const define = (changes?: Changes) => same(['apply', '-f', '-'], JSON.stringify(definition(changes)));
  const patch = (name: string, content: object, ...more: string[]) =>
    same(['patch', 'wd', name, '--type=merge', '-p', JSON.stringify(content), '-o', 'jsonpath={.spec}', ...more]);

  beforeAll(async () => {
    plane = await ControlPlane.start({ directory: join(directory, 'plane') });
    const topology = {
      apiVersion: 'banyan.io/v1alpha1',
      kind: 'Topology',
      metadata: { name: 'custom' },
      spec: { center: { spaces: [{ name: 'retail' }] } },
    };
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up();
  });
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('objects are completed, and refused, with the same words', async () => {
    define();
    same(['wait', `crd/${crd}`, '--for=condition=Established']);
    // A real API server serves a new kind some time after the definition is established.
    await expect.poll(() => kubectlBy(plane.kubeconfig, ['get', 'wd']).code).toBe(0);
    for (const [name, spec] of Object.entries(specs)) {
      const object = { apiVersion: 'lead.example.com/v1', kind: 'Widget', metadata: { name }, spec };
      same(['create', '-f', '-', '-o', 'jsonpath={.spec}'], JSON.stringify(object));
    }
  });

  it('fields, scale and status are read and changed in the same way', () => {
    patch('n', { spec: { fixed: 'two' } });
    patch('n', { spec: { colour: null } });
    same(['get', 'wd', '--field-selector', 'spec.colour=red', '-o', 'name']);
    same(['scale', 'wd', 'a', '--replicas=5']);
    same(['get', 'wd', 'a', '-o', 'jsonpath={.metadata.generation}']);
    patch('a', { status: { replicas: 2 }, metadata: { labels: { x: 'y' } } }, '--subresource=status');
    same(['explain', 'wd.spec']);
  });

  it('what a stricter definition does not allow stays while it does not change', async () => {
    define({ colours: ['green', 'blue'], replicasMax: 4 });
    // The real API server uses the new schema some time after the answer. Then it refuses this object.
    const refused = JSON.stringify({
      apiVersion: 'lead.example.com/v1',
      kind: 'Widget',
      metadata: { name: 'z' },
      spec: { colour: 'red' },
    });
    await expect
      .poll(() => kubectlBy(plane.kubeconfig, ['create', '--dry-run=server', '-f', '-'], refused).code)
      .toBe(1);
    patch('a', { metadata: { labels: { z: '1' } } });
    patch('a', { spec: { size: 'L' } });
    patch('a', { spec: { replicas: 6 } });
    patch('a', { spec: { colour: 'red', replicas: 3 } });
    patch('a', { status: { replicas: 1 } }, '--subresource=status');
  });

  it('objects that were stored before show new defaults', async () => {
    define({ colours: ['green', 'blue'], replicasMax: 4, more: { fresh: { type: 'string', default: 'new' } } });
    await expect
      .poll(() => kubectlBy(plane.kubeconfig, ['get', 'wd', 'b', '-o', 'jsonpath={.spec.fresh}']).out)
      .toBe('new');
    same(['get', 'wd', 'b', '-o', 'jsonpath={.spec}']);
    same(['get', 'wd', '-o', 'jsonpath={.items[*].spec}']);
    same(['delete', 'wd', '--all']);
    same(['delete', 'crd', crd]);
  });
});
