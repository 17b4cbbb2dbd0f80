/** The verbs with the real built-in kinds and the real field manager: the parts fit together. */
import { describe, expect, it } from 'vitest';
import { builtinKinds } from '../../../../../core/apiserver/builtin/builtin-kinds.ts';
import { fillingOf } from '../../../../../core/apiserver/kinds/fillings.ts';
import { SpaceKinds } from '../../../../../core/apiserver/kinds/space-kinds.ts';
import { fieldManager } from '../../../../../core/apiserver/managed-fields/field-manager.ts';
import { EmbeddedStorage } from '../../../../../core/apiserver/storage/embedded.ts';
import { EmbeddedSpace } from '../../../../../core/apiserver/verbs/embedded-space.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../../core/store/memory/memory-store.ts';
import { errorOf, namespace } from './fake-space.ts';

const key = { group: 'apps', resource: 'deployments', namespace: 'shop', name: 'till' };

function setup() {
  const storage = new EmbeddedStorage({ store: new MemoryStore(), name: 'test', logger: silentLogger });
  const clock = new VirtualClock();
  const space = new EmbeddedSpace({
    name: 'test',
    storage,
    kinds: new SpaceKinds(storage, builtinKinds()),
    clock,
    random: new SeededRandom(3),
    fields: fieldManager,
    admissions: [],
    ...fillingOf('Workload'),
  });
  space.create(namespace('shop'));
  return { space, clock };
}

function deployment(image = 'till:1'): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'till', namespace: 'shop' },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'till' } },
      template: {
        metadata: { labels: { app: 'till' } },
        spec: { containers: [{ name: 'till', image, ports: [{ containerPort: 80 }] }] },
      },
    },
  };
}

function containersOf(object: KubeObject): unknown {
  return (object.spec as { template: { spec: { containers: unknown } } }).template.spec.containers;
}

describe('a Deployment', () => {
  it('is patched by the merge keys of its type', () => {
    const { space } = setup();
    space.create(deployment());
    const patch = { spec: { template: { spec: { containers: [{ name: 'till', image: 'till:2' }] } } } };
    const patched = space.patch(key, { type: 'strategic', patch });
    expect(containersOf(patched)).toMatchObject([{ name: 'till', image: 'till:2', ports: [{ containerPort: 80 }] }]);
    expect(patched.metadata.generation).toBe(2);
  });

  it('is applied by managers who own the fields that they set', () => {
    const { space, clock } = setup();
    const made = space.apply(deployment(), { fieldManager: 'ann' });
    expect(made.metadata.managedFields).toMatchObject([{ manager: 'ann', operation: 'Apply', apiVersion: 'apps/v1' }]);
    clock.advance(60_000);
    expect(space.apply(deployment(), { fieldManager: 'ann' })).toEqual(made);
    const error = errorOf(() => space.apply(deployment('till:9'), { fieldManager: 'bob' }));
    expect(error.code).toBe('Conflict');
    expect(error.message).toMatch(/^Apply failed with 1 conflict: conflict with "ann"/);
    const forced = space.apply(deployment('till:9'), { fieldManager: 'bob', force: true });
    expect(containersOf(forced)).toMatchObject([{ image: 'till:9' }]);
    expect(forced.metadata.generation).toBe(2);
  });

  it('has a scale with its selector as text', () => {
    const { space } = setup();
    space.create(deployment());
    expect(space.getScale(key)).toMatchObject({ spec: { replicas: 2 }, status: { replicas: 0, selector: 'app=till' } });
    space.patch(
      key,
      { type: 'merge', patch: { spec: { replicas: 5 } } },
      { subresource: 'scale', fieldManager: 'kubectl' },
    );
    expect(space.get(key)).toMatchObject({ spec: { replicas: 5 }, metadata: { generation: 2 } });
    space.patch(key, { type: 'merge', patch: { spec: { replicas: null } } }, { fieldManager: 'kubectl' });
    expect(space.getScale(key)?.spec).toEqual({ replicas: 1 });
  });

  it('has its unknown fields named with their path', () => {
    const { space } = setup();
    const object = { ...deployment(), spec: { ...(deployment().spec as object), templte: {} } };
    const error = errorOf(() => space.create(object, { fieldValidation: 'Strict' }));
    expect(error.message).toBe(
      'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: unknown field "spec.templte"',
    );
  });

  it('records nothing for an update that changes nothing', () => {
    const { space, clock } = setup();
    const made = space.create(deployment(), { fieldManager: 'ann' });
    clock.advance(60_000);
    expect(space.update(deployment(), { fieldManager: 'bob' })).toEqual(made);
  });
});

describe('an immutable ConfigMap or Secret', () => {
  it('refuses each change of its data and of the flag, with one cause for each field', () => {
    const { space } = setup();
    const metadata = { name: 'a', namespace: 'shop' };
    const made = space.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { x: '1' }, immutable: true });
    const why = 'Forbidden: field is immutable when `immutable` is set';
    const error = errorOf(() => space.update({ ...made, data: { x: '2' }, immutable: false }));
    expect(error.message).toBe(`ConfigMap "a" is invalid: [immutable: ${why}, data: ${why}]`);
    expect(error.details.causes).toHaveLength(2);
    expect(space.update({ ...made, metadata: { ...made.metadata, labels: { a: 'b' } } }).metadata.labels).toEqual({
      a: 'b',
    });
  });

  it('refuses another type of a Secret', () => {
    const { space } = setup();
    const made = space.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'shop' } });
    expect(errorOf(() => space.update({ ...made, type: 'other' })).message).toBe(
      'Secret "s" is invalid: type: Invalid value: "other": field is immutable',
    );
  });
});

describe('a Namespace', () => {
  it('has a phase and a finalizer that nobody owns', () => {
    const made = setup().space.create(namespace('market'), { fieldManager: 'helm' });
    expect(made).toMatchObject({ spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active' } });
    const labels = { '.': {}, 'f:kubernetes.io/metadata.name': {} };
    expect(made.metadata.managedFields).toMatchObject([{ fieldsV1: { 'f:metadata': { 'f:labels': labels } } }]);
    expect(made.metadata.managedFields![0]!.fieldsV1).not.toHaveProperty(['f:spec']);
    expect(made.metadata.managedFields![0]!.fieldsV1).not.toHaveProperty(['f:status']);
  });
});

describe('a Service', () => {
  const given = ['f:clusterIP', 'f:clusterIPs', 'f:ipFamilies', 'f:ipFamilyPolicy'];
  const service = (spec: object): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'till', namespace: 'shop' },
    spec: { ports: [{ port: 80 }], ...spec },
  });
  const owned = ({ metadata }: KubeObject) =>
    (metadata.managedFields ?? []).flatMap(({ manager, fieldsV1 }) =>
      Object.keys((fieldsV1 as { 'f:spec'?: object })['f:spec'] ?? {}).map((name) => `${manager} ${name}`),
    );

  it('has addresses that nobody owns, as Kubernetes gives them after it has computed the managed fields', () => {
    const { space } = setup();
    const made = space.create(service({ type: 'ClusterIP' }), { fieldManager: 'helm' });
    expect(made.spec).toMatchObject({ clusterIP: expect.any(String), ipFamilies: ['IPv4'] });
    expect(owned(made)).toContain('helm f:type');
    for (const name of given) expect(owned(made)).not.toContain(`helm ${name}`);
    const external = space.update(service({ type: 'ExternalName', externalName: 'a.example' }), { fieldManager: 'b' });
    expect(external.spec).not.toHaveProperty('clusterIP');
    const again = space.update(service({ type: 'ClusterIP' }), { fieldManager: 'b' });
    expect(again.spec).toHaveProperty('clusterIP');
    for (const name of given) expect(owned(again)).not.toContain(`b ${name}`);
  });

  it('has addresses that belong to the writer who has sent them', () => {
    const made = setup().space.create(service({ clusterIP: 'None' }), { fieldManager: 'helm' });
    expect(owned(made)).toContain('helm f:clusterIP');
    expect(owned(made)).not.toContain('helm f:clusterIPs');
  });
});
