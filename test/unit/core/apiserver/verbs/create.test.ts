import { describe, expect, it } from 'vitest';
import type { WriteAdmission } from '../../../../../core/apiserver/space.ts';
import { configMap, deployment, errorOf, fakeSpace, namespace } from './fake-space.ts';

describe('create', () => {
  it('adds the fields that only the server sets', () => {
    const { space } = fakeSpace();
    const made = space.create(deployment('till', { replicas: 2 }));
    expect(made.metadata).toMatchObject({
      name: 'till',
      namespace: 'shop',
      generation: 1,
      creationTimestamp: '2030-01-02T03:04:05Z',
      uid: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      resourceVersion: String(space.storage.revision()),
    });
    expect(space.get(space.keyOf(made))).toEqual(made);
  });

  it('does not change the object that it gets', () => {
    const { space } = fakeSpace();
    const object = Object.freeze(deployment('till'));
    Object.freeze(object.metadata);
    Object.freeze(object.spec);
    space.create(object);
    expect(object).toEqual(deployment('till'));
  });

  it('overwrites uid, generation and timestamps that a client sends', () => {
    const { space } = fakeSpace();
    const object = configMap('a');
    Object.assign(object.metadata, {
      uid: 'mine',
      generation: 9,
      creationTimestamp: null,
      deletionTimestamp: '2001-01-01T00:00:00Z',
      labels: {},
    });
    const { metadata } = space.create(object);
    expect(metadata).toMatchObject({ generation: 1, creationTimestamp: '2030-01-02T03:04:05Z' });
    expect(metadata.uid).not.toBe('mine');
    expect(metadata).not.toHaveProperty('deletionTimestamp');
    expect(metadata).not.toHaveProperty('labels');
  });

  it('drops the status of kinds that have the subresource', () => {
    const { space } = fakeSpace();
    const made = space.create({ ...deployment('till'), status: { replicas: 7 } });
    expect(made).not.toHaveProperty('status');
  });

  it('makes a name of generateName and five characters', () => {
    const { space } = fakeSpace();
    const object = configMap('');
    object.metadata = { generateName: 'run-', namespace: 'shop' };
    const names = [1, 2, 3].map(() => space.create(object).metadata.name);
    expect(new Set(names).size).toBe(3);
    for (const name of names) expect(name).toMatch(/^run-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  });

  it('requires a name', () => {
    const { space } = fakeSpace();
    expect(errorOf(() => space.create(configMap('')))).toMatchObject({
      code: 'Invalid',
      message: 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
    });
  });

  it('refuses a second object of the same name', () => {
    const { space } = fakeSpace();
    space.create(deployment('till'));
    expect(errorOf(() => space.create(deployment('till')))).toMatchObject({
      code: 'AlreadyExists',
      message: 'deployments.apps "till" already exists',
      details: { group: 'apps', kind: 'deployments', name: 'till' },
    });
  });

  it('drops an owner that is there twice, and warns, also at an update', () => {
    const { space } = fakeSpace();
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: 'u1' };
    const other = { ...owner, blockOwnerDeletion: true };
    const object = configMap('b');
    object.metadata.ownerReferences = [owner, other, { ...owner }];
    const warnings: string[] = [];
    const warn = (text: string) => warnings.push(text);
    const made = space.create(object, { warn });
    expect(made.metadata.ownerReferences).toEqual([owner, other]);
    const patch = { metadata: { ownerReferences: [other, other] } };
    const patched = space.patch(space.keyOf(made), { type: 'merge', patch }, { warn });
    expect(patched.metadata.ownerReferences).toEqual([other]);
    expect(warnings).toEqual([
      expect.stringMatching(/^\.metadata\.ownerReferences contains duplicate entries; .*observed: u1$/),
      expect.stringMatching(/^\.metadata\.ownerReferences contains duplicate entries after mutating admission .*: u1$/),
    ]);
  });

  it('refuses a resourceVersion', () => {
    const { space } = fakeSpace();
    const object = configMap('a');
    object.metadata.resourceVersion = '5';
    expect(errorOf(() => space.create(object))).toMatchObject({
      code: 'BadRequest',
      message: 'resourceVersion should not be set on objects to be created',
    });
  });

  it('requires an existing namespace', () => {
    const { space } = fakeSpace({ namespaces: [] });
    expect(errorOf(() => space.create(configMap('a')))).toMatchObject({
      code: 'NotFound',
      message: 'namespaces "shop" not found',
    });
  });

  it('refuses new content in a terminating namespace', () => {
    const { space } = fakeSpace();
    space.delete(space.keyOf(namespace('shop')));
    expect(errorOf(() => space.create(configMap('a')))).toMatchObject({
      code: 'Forbidden',
      message:
        'configmaps "a" is forbidden: unable to create new content in namespace shop because it is being terminated',
      details: { causes: [{ reason: 'NamespaceTerminating', field: 'metadata.namespace' }] },
    });
  });

  it('recognises a terminating object by its fields: the same word in an annotation means nothing', () => {
    const { space } = fakeSpace();
    const object = namespace('quote');
    object.metadata.annotations = { note: '"deletionTimestamp"' };
    space.create(object);
    const map = configMap('a');
    map.metadata.namespace = 'quote';
    expect(space.create(map).metadata.namespace).toBe('quote');
  });

  it('lists every invalid field of metadata and of the kind', () => {
    const { space } = fakeSpace();
    const object = deployment('Till_1', { replicas: -1 });
    object.metadata.labels = { 'a b': 'x' };
    const error = errorOf(() => space.create(object));
    expect(error.code).toBe('Invalid');
    expect(error.message).toMatch(
      /^Deployment\.apps "Till_1" is invalid: \[metadata\.name: Invalid value: "Till_1": a lowercase RFC 1123 subdomain .*, metadata\.labels: Invalid value: "a b": .*, spec\.replicas: Invalid value: -1: must be greater than or equal to 0\]$/,
    );
    expect(error.details).toMatchObject({ group: 'apps', kind: 'Deployment', name: 'Till_1' });
    expect(error.details.causes?.map((cause) => cause.field)).toEqual([
      'metadata.name',
      'metadata.labels',
      'spec.replicas',
    ]);
  });

  it('accepts names of roles that are no DNS names', () => {
    const { space } = fakeSpace();
    const role = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'system:Admin' },
    };
    expect(space.create(role).metadata.name).toBe('system:Admin');
    const bad = { ...role, metadata: { name: 'a/b' } };
    expect(errorOf(() => space.create(bad)).message).toContain(`Invalid value: "a/b": may not contain '/'`);
  });

  it('refuses kinds that are not served', () => {
    const { space } = fakeSpace();
    const object = { apiVersion: 'nope/v1', kind: 'Nope', metadata: { name: 'a' } };
    expect(errorOf(() => space.create(object))).toMatchObject({ code: 'NotFound' });
    expect(errorOf(() => space.create(object)).message).toContain('no matches for kind "Nope" in version "nope/v1"');
  });

  it('refuses metadata of the wrong types', () => {
    const { space } = fakeSpace();
    const object = { ...configMap('a'), metadata: { name: 'a', namespace: 'shop', labels: { tier: 5 } } };
    const sent = JSON.parse(JSON.stringify(object));
    expect(errorOf(() => space.create(sent))).toMatchObject({
      code: 'BadRequest',
      message: expect.stringMatching(
        /^ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into .*\.metadata\.labels of type string$/,
      ),
    });
  });

  it('does everything except the write in a dry run', () => {
    const { space } = fakeSpace();
    const before = space.storage.revision();
    const made = space.create(deployment('till'), { dryRun: true });
    expect(made.metadata.uid).toBeDefined();
    expect(made.metadata).not.toHaveProperty('resourceVersion');
    expect(space.storage.revision()).toBe(before);
    expect(space.get(space.keyOf(made))).toBeUndefined();
  });

  it('refuses an object over 1.5 MiB with its size, and accepts the next object', () => {
    const { space } = fakeSpace();
    const error = errorOf(() => space.create(configMap('big', { data: 'x'.repeat(1_600_000) })));
    expect(error.code).toBe('TooLarge');
    expect(error.message).toMatch(
      /^Request entity too large: configmaps "big" has 1600\d{3} bytes, the limit is 1572864 bytes \(1\.5 MiB\)$/,
    );
    expect(space.create(configMap('small')).metadata.name).toBe('small');
  });

  it('ignores, warns of or refuses unknown fields, as requested', () => {
    const { space } = fakeSpace();
    const object = { ...configMap('a'), dta: 1 };
    const warnings: string[] = [];
    const warn = (warning: string) => warnings.push(warning);
    space.create(object, { dryRun: true, warn, fieldValidation: 'Ignore' });
    expect(warnings).toEqual([]);
    space.create(object, { dryRun: true, warn });
    expect(warnings).toEqual(['unknown field "dta"']);
    expect(errorOf(() => space.create(object, { fieldValidation: 'Strict' }))).toMatchObject({
      code: 'BadRequest',
      message: 'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dta"',
    });
  });

  it('runs admission after defaults and before validation, and stores the object that admission returns', () => {
    const seen: unknown[] = [];
    const admission: WriteAdmission = ({ operation, object, user }) => {
      if (object?.kind !== 'Deployment') return;
      seen.push([operation, structuredClone(object.spec), user?.name]);
      (object.spec as { replicas: number }).replicas = -3;
    };
    const { space } = fakeSpace({ admissions: [admission] });
    const user = { name: 'ann', groups: [] };
    const error = errorOf(() => space.create(deployment('till'), { user }));
    expect(seen).toEqual([['create', { replicas: 1 }, 'ann']]);
    expect(error.message).toContain('spec.replicas: Invalid value: -3');
  });

  it('treats a null of a built-in kind as absent, and keeps a null of a custom kind', () => {
    const { space } = fakeSpace();
    const spec = { template: { metadata: { creationTimestamp: null } }, list: [null] };
    expect(space.create(deployment('till', spec)).spec).toEqual({
      template: { metadata: {} },
      list: [null],
      replicas: 1,
    });
    const custom = { apiVersion: 'shop.example/v1', kind: 'Till', metadata: { name: 't', namespace: 'shop' }, spec };
    expect(space.create(custom).spec).toEqual(spec);
  });

  it('keeps a __proto__ field of a body as a normal field', () => {
    const { space } = fakeSpace();
    const object = configMap('a');
    object.data = JSON.parse('{"__proto__": "x"}');
    const made = space.create(object);
    expect(Object.keys(made.data as object)).toEqual(['__proto__']);
  });
});

describe('kinds with special rules', () => {
  it('puts stringData of a Secret into data', () => {
    const { space } = fakeSpace();
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's', namespace: 'shop' },
      data: { a: 'QQ==', b: 'Qg==' },
      stringData: { b: 'new', c: 'ü' },
    };
    const made = space.create(secret);
    expect(made.data).toEqual({ a: 'QQ==', b: 'bmV3', c: 'w7w=' });
    expect(made).not.toHaveProperty('stringData');
  });

  it('makes a Namespace Active, with a finalizer and its name as a label', () => {
    const { space } = fakeSpace();
    expect(space.get({ group: '', resource: 'namespaces', namespace: '', name: 'shop' })).toMatchObject({
      metadata: { labels: { 'kubernetes.io/metadata.name': 'shop' } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    });
  });

  it('removes the namespace from cluster-scoped objects, and puts the others into default', () => {
    const { space } = fakeSpace();
    const region = { apiVersion: 'shop.example/v1', kind: 'Region', metadata: { name: 'eu', namespace: 'shop' } };
    expect(space.create(region).metadata).not.toHaveProperty('namespace');
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };
    expect(space.create(map).metadata.namespace).toBe('default');
  });
});
