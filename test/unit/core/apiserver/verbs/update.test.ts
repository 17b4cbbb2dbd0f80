import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { HandlerBench } from '../http/handler-bench.ts';
import { configMap, deployment, errorOf, fakeSpace } from './fake-space.ts';

function changed(object: KubeObject, fields: Record<string, unknown>): KubeObject {
  return { ...structuredClone(object), ...fields };
}

describe('update', () => {
  it('increments the generation when the content changes, and only then', () => {
    const { space } = fakeSpace();
    const made = space.create(deployment('till', { replicas: 1 }));
    const scaled = space.update(changed(made, { spec: { replicas: 2 } }));
    expect(scaled.metadata.generation).toBe(2);
    const labelled = changed(scaled, {});
    labelled.metadata.labels = { a: 'b' };
    expect(space.update(labelled).metadata).toMatchObject({ generation: 2, labels: { a: 'b' } });
  });

  it('of the status takes labels and annotations of most kinds, as Kubernetes does, and none of a custom kind', () => {
    const { space: till } = fakeSpace();
    const { space: shop } = new HandlerBench();
    const annotated = (object: KubeObject, status: object) => {
      const space = object.kind === 'Deployment' ? till : shop;
      const sent = changed(space.create(object), { status, spec: { other: 1 } });
      sent.metadata.annotations = { a: 'b' };
      sent.metadata.labels = { c: 'd' };
      return space.update(sent, { subresource: 'status' }).metadata;
    };
    const meta = { annotations: { a: 'b' }, labels: { c: 'd' } };
    const named = (apiVersion: string, kind: string, spec: object) => ({
      apiVersion,
      kind,
      metadata: { name: 'x', namespace: 'shop' },
      spec,
    });
    const service = named('v1', 'Service', { ports: [{ port: 80 }] });
    expect(annotated(service, { loadBalancer: {} })).toMatchObject(meta);
    const deployed = annotated(deployment('till', { replicas: 1 }), { replicas: 1 });
    expect(deployed).toMatchObject({ annotations: meta.annotations });
    expect(deployed.labels).toBeUndefined();
    const attachment = { attacher: 'disks', nodeName: 'n', source: { persistentVolumeName: 'v' } };
    const attached = annotated(named('storage.k8s.io/v1', 'VolumeAttachment', attachment), { attached: true });
    expect([attached.annotations, attached.labels]).toEqual([undefined, undefined]);
  });

  it('writes nothing when nothing changes', () => {
    const { space } = fakeSpace();
    const made = space.create(deployment('till', { replicas: 1 }));
    const before = space.storage.revision();
    const same = space.update(changed(made, { spec: {} }));
    expect(same).toEqual(made);
    expect(space.storage.revision()).toBe(before);
  });

  it('refuses a version that is not the newest', () => {
    const { space } = fakeSpace();
    const made = space.create(deployment('till'));
    space.update(changed(made, { spec: { replicas: 2 } }));
    expect(errorOf(() => space.update(changed(made, { spec: { replicas: 3 } })))).toMatchObject({
      code: 'Conflict',
      message:
        'Operation cannot be fulfilled on deployments.apps "till": the object has been modified; please apply your changes to the latest version and try again',
      details: { group: 'apps', kind: 'deployments', name: 'till' },
    });
  });

  it('requires no version for built-in kinds, and a version for custom kinds', () => {
    const { space } = fakeSpace();
    space.create(deployment('till'));
    expect(space.update(deployment('till', { replicas: 5 })).metadata.generation).toBe(2);
    const custom = { apiVersion: 'shop.example/v1', kind: 'Till', metadata: { name: 't', namespace: 'shop' } };
    space.create(custom);
    expect(errorOf(() => space.update(custom))).toMatchObject({
      code: 'Invalid',
      message:
        'tills.shop.example "t" is invalid: metadata.resourceVersion: Invalid value: 0x0: must be specified for an update',
    });
  });

  it('refuses the uid of another object of the same name', () => {
    const { space } = fakeSpace();
    const made = space.create(deployment('till'));
    const other = changed(made, {});
    other.metadata.uid = 'other';
    expect(errorOf(() => space.update(other)).message).toBe(
      `Operation cannot be fulfilled on deployments.apps "till": Precondition failed: UID in precondition: other, UID in object meta: ${made.metadata.uid}`,
    );
  });

  it('keeps the fields of the server', () => {
    const { space } = fakeSpace();
    const made = space.create(deployment('till'));
    const sent = changed(made, {});
    Object.assign(sent.metadata, {
      generation: 99,
      creationTimestamp: '2001-01-01T00:00:00Z',
      annotations: { a: '1' },
    });
    Object.assign(sent.metadata, { deletionTimestamp: '2001-01-01T00:00:00Z', deletionGracePeriodSeconds: 9 });
    const { metadata } = space.update(sent);
    expect(metadata).toMatchObject({ generation: 1, creationTimestamp: made.metadata.creationTimestamp });
    expect(metadata).not.toHaveProperty('deletionTimestamp');
    expect(metadata).not.toHaveProperty('deletionGracePeriodSeconds');
  });

  it('creates no object', () => {
    const { space } = fakeSpace();
    expect(errorOf(() => space.update(deployment('till')))).toMatchObject({
      code: 'NotFound',
      message: 'deployments.apps "till" not found',
    });
  });

  it('serves and accepts every version of a kind and stores one', () => {
    const { space } = fakeSpace();
    const object = { apiVersion: 'shop.example/v1beta1', kind: 'Till', metadata: { name: 't', namespace: 'shop' } };
    const made = space.create(object);
    expect(made.apiVersion).toBe('shop.example/v1beta1');
    const key = space.keyOf(made);
    expect(space.get(key)?.apiVersion).toBe('shop.example/v1');
    expect(space.get(key, 'v1beta1')).toEqual(made);
    const before = space.storage.revision();
    expect(space.update(changed(made, { apiVersion: 'shop.example/v1' })).metadata.generation).toBe(1);
    expect(space.storage.revision()).toBe(before);
  });

  it('does not write in a dry run', () => {
    const { space } = fakeSpace();
    const made = space.create(deployment('till'));
    const dry = space.update(changed(made, { spec: { replicas: 9 } }), { dryRun: true });
    expect(dry).toMatchObject({ spec: { replicas: 9 }, metadata: { generation: 2 } });
    expect(space.get(space.keyOf(made))).toEqual(made);
  });

  it('keeps the law of generations: a generation grows by one with each change of content, and with nothing else', () => {
    const step = fc.record({
      replicas: fc.integer({ min: 0, max: 2 }),
      label: fc.constantFrom('a', 'b'),
      status: fc.integer({ min: 0, max: 2 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const { space } = fakeSpace();
        let now = space.create(deployment('till', { replicas: 0 }));
        for (const { replicas, label, status } of steps) {
          const sent = changed(now, { spec: { replicas } });
          sent.metadata.labels = { l: label };
          const next = space.update(sent);
          const grows = replicas === (now.spec as { replicas: number }).replicas ? 0 : 1;
          expect(next.metadata.generation).toBe(now.metadata.generation! + grows);
          now = space.update(changed(next, { status: { replicas: status } }), { subresource: 'status' });
          expect(now.metadata.generation).toBe(next.metadata.generation);
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe('the status subresource', () => {
  it('is written separately, and only there', () => {
    const { space } = fakeSpace();
    const made = space.create(deployment('till', { replicas: 1 }));
    const sent = changed(made, { spec: { replicas: 9 }, status: { replicas: 3 } });
    sent.metadata.labels = { a: 'b' };
    const reported = space.update(sent, { subresource: 'status' });
    expect(reported).toMatchObject({ spec: { replicas: 1 }, status: { replicas: 3 }, metadata: { generation: 1 } });
    expect(reported.metadata).not.toHaveProperty('labels');
    const plain = changed(reported, { status: { replicas: 8 } });
    expect(space.update(plain).status).toEqual({ replicas: 3 });
  });

  it('does not exist for kinds without a status', () => {
    const { space } = fakeSpace();
    const made = space.create(configMap('a'));
    for (const subresource of ['status', 'finalize', 'scale'] as const) {
      const error = errorOf(() => space.update(made, { subresource }));
      expect(error).toMatchObject({
        code: 'NotFound',
        message: `the server could not find the requested resource: configmaps/${subresource}`,
      });
    }
  });

  it('still checks the version', () => {
    const { space } = fakeSpace();
    const made = space.create(deployment('till'));
    space.update(changed(made, { status: { replicas: 1 } }), { subresource: 'status' });
    const stale = changed(made, { status: { replicas: 2 } });
    expect(errorOf(() => space.update(stale, { subresource: 'status' })).code).toBe('Conflict');
  });
});

describe('patch', () => {
  const key = { group: 'apps', resource: 'deployments', namespace: 'shop', name: 'till' };

  it('works with each of the three kinds of patch', () => {
    const { space } = fakeSpace();
    space.create(deployment('till', { replicas: 1 }));
    const merged = space.patch(key, { type: 'merge', patch: { spec: { replicas: 2 } } });
    expect(merged).toMatchObject({ spec: { replicas: 2 }, metadata: { generation: 2 } });
    const operations = [{ op: 'replace', path: '/spec/replicas', value: 3 }];
    expect(space.patch(key, { type: 'json', operations }).spec).toEqual({ replicas: 3 });
    const strategic = { metadata: { finalizers: ['a/b'] } };
    space.patch(key, { type: 'strategic', patch: { metadata: { finalizers: ['a/a'] } } });
    const patched = space.patch(key, { type: 'strategic', patch: strategic });
    expect(new Set(patched.metadata.finalizers)).toEqual(new Set(['a/a', 'a/b']));
  });

  it('checks the version that it names', () => {
    const { space } = fakeSpace();
    space.create(deployment('till'));
    const patch = { metadata: { resourceVersion: '1' }, spec: { replicas: 2 } };
    expect(errorOf(() => space.patch(key, { type: 'merge', patch })).code).toBe('Conflict');
  });

  it('cannot change the name or the kind', () => {
    const { space } = fakeSpace();
    space.create(deployment('till'));
    const renamed = { metadata: { name: 'other' } };
    expect(errorOf(() => space.patch(key, { type: 'merge', patch: renamed })).message).toBe(
      'the name of the object (other) does not match the name on the URL (till)',
    );
    expect(errorOf(() => space.patch(key, { type: 'merge', patch: { kind: 'Pod' } })).message).toMatch(
      /^ "" is invalid: patch: .*: no kind "Pod" is registered for version "apps\/v1" in scheme "pkg\/runtime\/scheme.go:110"$/,
    );
    expect(errorOf(() => space.patch(key, { type: 'merge', patch: { metadata: null } })).message).toBe(
      'the name of the object (till based on URL) was undeterminable: name must be provided',
    );
    const moved = { metadata: { namespace: 'other' } };
    expect(errorOf(() => space.patch(key, { type: 'merge', patch: moved })).message).toBe(
      'the namespace of the provided object does not match the namespace sent on the request',
    );
    const replaced = { metadata: { uid: 'other' } };
    expect(errorOf(() => space.patch(key, { type: 'merge', patch: replaced })).details.causes).toEqual(
      Array(2).fill({
        reason: 'FieldValueInvalid',
        field: 'metadata.uid',
        message: 'Invalid value: "other": field is immutable',
      }),
    );
  });

  it('may lose its type, which is that of the request', () => {
    const { space } = fakeSpace();
    space.create(deployment('till'));
    const patch = { apiVersion: null, kind: null, spec: { replicas: 4 } };
    expect(errorOf(() => space.patch(key, { type: 'merge', patch })).message).toContain('name must be provided');
    expect(space.patch(key, { type: 'strategic', patch })).toMatchObject({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      spec: { replicas: 4 },
    });
  });

  it('is not strategic for custom kinds', () => {
    const { space } = fakeSpace();
    space.create({ apiVersion: 'shop.example/v1', kind: 'Till', metadata: { name: 't', namespace: 'shop' } });
    const till = { group: 'shop.example', resource: 'tills', namespace: 'shop', name: 't' };
    expect(errorOf(() => space.patch(till, { type: 'strategic', patch: {} }))).toMatchObject({
      code: 'UnsupportedMediaType',
    });
    expect(space.patch(till, { type: 'merge', patch: { spec: { a: 1 } } }).spec).toEqual({ a: 1 });
  });

  it('answers unknown fields with Invalid when it is strict', () => {
    const { space } = fakeSpace();
    space.create(deployment('till'));
    const error = errorOf(() => space.patch(key, { type: 'merge', patch: { spc: 1 } }, { fieldValidation: 'Strict' }));
    expect(error.code).toBe('Invalid');
    expect(error.message).toContain('strict decoding error: unknown field "spc"');
  });

  it('leaves the object unchanged when it changes nothing', () => {
    const { space } = fakeSpace();
    const made = space.create(deployment('till', { replicas: 1 }));
    expect(space.patch(key, { type: 'merge', patch: { spec: { replicas: 1 } } })).toEqual(made);
  });

  it('must be an object, or a list of operations', () => {
    const { space } = fakeSpace();
    space.create(deployment('till'));
    for (const body of ['[]', 'null', '7', '"x"']) {
      const patch = JSON.parse(body);
      expect(errorOf(() => space.patch(key, { type: 'merge', patch })).code).toBe('BadRequest');
      if (body !== 'null')
        expect(errorOf(() => space.patch(key, { type: 'strategic', patch })).code).toBe('BadRequest');
    }
    expect(errorOf(() => space.patch(key, { type: 'json', operations: {} })).code).toBe('BadRequest');
  });

  it('does not find a missing object', () => {
    const { space } = fakeSpace();
    expect(errorOf(() => space.patch(key, { type: 'merge', patch: {} })).code).toBe('NotFound');
  });
});

describe('server-side apply', () => {
  it('creates what is missing and merges into what is there', () => {
    const { space } = fakeSpace();
    const made = space.apply(deployment('till', { paused: true }), { fieldManager: 'ann' });
    expect(made).toMatchObject({ spec: { paused: true, replicas: 1 }, metadata: { generation: 1 } });
    const next = space.apply(deployment('till', { replicas: 4 }), { fieldManager: 'ann' });
    expect(next).toMatchObject({
      spec: { paused: true, replicas: 4 },
      metadata: { generation: 2, uid: made.metadata.uid },
    });
    const revision = space.storage.revision();
    expect(space.apply(deployment('till', { replicas: 4 }), { fieldManager: 'ann' })).toEqual(next);
    expect(space.storage.revision()).toBe(revision);
  });

  it('passes conflicts on and takes force', () => {
    const { space } = fakeSpace();
    const object = deployment('till');
    object.metadata.labels = { owner: 'ann' };
    space.apply(object, { fieldManager: 'ann' });
    expect(errorOf(() => space.apply(object, { fieldManager: 'bob' })).code).toBe('Conflict');
    expect(space.apply(object, { fieldManager: 'bob', force: true }).metadata.labels).toEqual({ owner: 'ann' });
  });

  it('refuses managedFields, a uid of nothing, and unknown fields of a client whatever it asks', () => {
    const { space } = fakeSpace();
    const owned = configMap('a');
    owned.metadata.managedFields = [{ manager: 'x' }];
    expect(errorOf(() => space.apply(owned, { fieldManager: 'ann' })).message).toBe(
      'metadata.managedFields must be nil',
    );
    const known = configMap('a');
    known.metadata.uid = 'u';
    expect(errorOf(() => space.apply(known, { fieldManager: 'ann' }))).toMatchObject({ code: 'Conflict' });
    const unknown = { ...configMap('a'), dta: 1 };
    for (const fieldValidation of ['Strict', 'Warn', 'Ignore'] as const) {
      const error = errorOf(() => space.apply(unknown, { fieldManager: 'ann', fieldValidation }));
      expect(error.message).toBe(
        'failed to create typed patch object (shop/a; /v1, Kind=ConfigMap): .dta: field not declared in schema',
      );
    }
  });

  it('applies status to existing objects only', () => {
    const { space } = fakeSpace();
    const object = { ...deployment('till'), status: { replicas: 2 } };
    const options = { fieldManager: 'ann', subresource: 'status' as const };
    expect(errorOf(() => space.apply(object, options)).code).toBe('NotFound');
    space.create(deployment('till'));
    expect(space.apply(object, options)).toMatchObject({ status: { replicas: 2 }, metadata: { generation: 1 } });
  });
});

describe('the scale subresource', () => {
  const key = { group: 'apps', resource: 'deployments', namespace: 'shop', name: 'till' };

  it('shows replicas and selector', () => {
    const { space } = fakeSpace();
    const made = space.create(deployment('till', { replicas: 2, selector: { matchLabels: { b: '2', a: '1' } } }));
    const { name, namespace, uid, resourceVersion, creationTimestamp } = made.metadata;
    expect(space.getScale(key)).toEqual({
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
      spec: { replicas: 2 },
      status: { replicas: 0, selector: 'a=1,b=2' },
    });
  });

  it('changes replicas by update and by patch, with a generation each', () => {
    const { space } = fakeSpace();
    space.create(deployment('till'));
    const scale = space.getScale(key)!;
    space.updateScale(key, { ...scale, spec: { replicas: 4 } });
    expect(space.get(key)).toMatchObject({ spec: { replicas: 4 }, metadata: { generation: 2 } });
    const patch = { spec: { replicas: 0 } };
    const patched = space.patch(key, { type: 'merge', patch }, { subresource: 'scale' });
    expect(patched).toMatchObject({ kind: 'Scale', spec: { replicas: 0 } });
    expect(space.get(key)).toMatchObject({ spec: { replicas: 0 }, metadata: { generation: 3 } });
  });

  it('checks version and value', () => {
    const { space } = fakeSpace();
    space.create(deployment('till'));
    const scale = space.getScale(key)!;
    space.update(deployment('till', { replicas: 2 }));
    expect(errorOf(() => space.updateScale(key, scale)).code).toBe('Conflict');
    const { resourceVersion: _old, ...metadata } = scale.metadata;
    expect(errorOf(() => space.updateScale(key, { ...scale, metadata, spec: { replicas: -1 } })).message).toBe(
      'Scale.autoscaling "till" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    );
  });

  it('does not exist for kinds without replicas', () => {
    const { space } = fakeSpace();
    const made = space.create(configMap('a'));
    expect(errorOf(() => space.getScale(space.keyOf(made))).code).toBe('MethodNotAllowed');
  });
});
