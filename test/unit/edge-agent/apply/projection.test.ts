import { describe, expect, it } from 'vitest';
import { type FieldSet, fieldDifference, leaf } from '../../../../core/apiserver/managed-fields/field-set.ts';
import type { JsonObject, KubeObject, ManagedFieldsEntry } from '../../../../core/object/meta.ts';
import { fingerprint, isAsRecorded } from '../../../../edge-agent/apply/projection.ts';

const own: ManagedFieldsEntry = {
  manager: 'banyan',
  operation: 'Apply',
  apiVersion: 'apps/v1',
  fieldsType: 'FieldsV1',
};
const applied: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'till', labels: { app: 'till' } },
  spec: {
    replicas: 2,
    template: { spec: { containers: [{ name: 'till', image: 'till:1', args: ['--once'] }], volumes: [] } },
  },
};

/** The object on the cluster, with the additions of the server and others. */
function live(change: (spec: Spec, object: KubeObject) => void = () => {}): KubeObject {
  const object = structuredClone(applied);
  object.metadata = { ...object.metadata, uid: 'u', generation: 4, managedFields: [], resourceVersion: '9' };
  object.metadata.annotations = { 'deployment.kubernetes.io/revision': '3' };
  const spec = object.spec as Spec;
  spec.paused = false;
  spec.template.spec.containers[0]!.imagePullPolicy = 'Always';
  change(spec, object);
  return object;
}

interface Spec {
  replicas: number;
  paused?: boolean;
  template: { spec: { containers: { name: string; image: string; args: string[]; imagePullPolicy?: string }[] } };
}

const same = (change: (spec: Spec, object: KubeObject) => void) =>
  fingerprint(applied, live(change)) === fingerprint(applied, live());

describe('the fingerprint of an applied object', () => {
  it('does not change with additions by others: defaults, status, annotations, containers', () => {
    expect(same((_, object) => Object.assign(object, { status: { replicas: 2 } }))).toBe(true);
    expect(same((_, object) => Object.assign(object.metadata.annotations!, { other: 'x' }))).toBe(true);
    expect(same((spec) => spec.template.spec.containers.unshift({ name: 'sidecar', image: 's', args: [] }))).toBe(true);
  });

  it('is the same in whatever version the cluster answers', () => {
    expect(same((_, object) => Object.assign(object, { apiVersion: 'apps/v1beta2' }))).toBe(true);
  });

  it('changes with any applied field that changes or goes', () => {
    expect(same((spec) => Object.assign(spec, { replicas: 7 }))).toBe(false);
    expect(same((spec) => Object.assign(spec.template.spec.containers[0]!, { image: 'till:2' }))).toBe(false);
    expect(same((spec) => spec.template.spec.containers[0]!.args.push('--more'))).toBe(false);
    expect(same((spec) => spec.template.spec.containers.pop())).toBe(false);
    expect(same((_, object) => delete object.metadata.labels)).toBe(false);
    expect(same((_, object) => delete object.spec)).toBe(false);
  });

  it('ignores write-only fields', () => {
    const secret: KubeObject = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { a: '1' } };
    const stored: KubeObject = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: { a: 'MQ==' } };
    expect(fingerprint(secret, stored)).toBe(fingerprint(secret, { ...stored, data: { a: 'Mg==' } }));
  });

  it('changes when an applied field is no longer this manager’s, and with nothing else in the list of managers', () => {
    const of = (change: (entries: ManagedFieldsEntry[]) => void, ignored: string[] = []) => {
      const entries: ManagedFieldsEntry[] = [
        {
          ...own,
          fieldsV1: {
            'f:metadata': { 'f:labels': { 'f:app': {} } },
            'f:spec': {
              'f:replicas': {},
              'f:selector': {},
              'f:template': {
                'f:spec': { 'f:containers': { 'k:{"name":"till"}': { '.': {}, 'f:name': {}, 'f:args': {} } } },
              },
            },
          },
        },
      ];
      change(entries);
      return fingerprint(
        applied,
        live((_, object) => Object.assign(object.metadata, { managedFields: entries })),
        ignored,
      );
    };
    const without = (path: readonly string[]) => (entries: ManagedFieldsEntry[]) => {
      const gone = path.reduceRight<FieldSet>((below, element) => ({ [element]: below }), leaf);
      entries[0]!.fieldsV1 = fieldDifference(entries[0]!.fieldsV1 as FieldSet, gone) as JsonObject;
    };
    const as = of(() => {});
    expect(of(without(['f:spec', 'f:selector']))).not.toBe(as);
    expect(of(without(['f:metadata', 'f:labels', 'f:app']))).toBe(as);
    expect(of(([entry]) => Object.assign(entry!, { time: '2026-01-01T00:00:00Z', apiVersion: 'apps/v2' }))).toBe(as);
    expect(of((entries) => entries.unshift({ ...own, manager: 'other', fieldsV1: { 'f:spec': {} } }))).toBe(as);
    expect(of((entries) => entries.unshift({ ...own, operation: 'Update', fieldsV1: { 'f:spec': {} } }))).toBe(as);
    expect(of((entries) => entries.unshift({ ...own, subresource: 'status', fieldsV1: { 'f:status': {} } }))).toBe(as);
    expect(as).toMatch(/^[0-9a-f]{32}$/);

    const args = ['f:spec', 'f:template', 'f:spec', 'f:containers', 'k:{"name":"till"}', 'f:args'];
    for (const [path, element] of [
      ['.spec.replicas', ['f:spec', 'f:replicas']],
      ['.spec.selector.matchLabels.app', ['f:spec', 'f:selector']],
      [".spec.template.spec.containers[?(@.name=='till')].args", args],
    ] as const) {
      expect(of(without(element), [path])).toBe(of(() => {}, [path]));
      expect(of(without(element), ['.spec.paused'])).not.toBe(of(() => {}, ['.spec.paused']));
    }
  });

  it('is compared by the manager’s fields and by metadata alone if the object comes in another version', () => {
    const of = (apiVersion: string, change: (spec: Spec, object: KubeObject) => void = () => {}) => {
      const fieldsV1 = { 'f:spec': { 'f:replicas': {} } };
      const object = live((_, at) => Object.assign(at, { apiVersion }));
      object.metadata.managedFields = [{ ...own, fieldsV1 }];
      change(object.spec as Spec, object);
      return object;
    };
    const recorded = fingerprint(applied, of('apps/v1'));
    const agrees = (object: KubeObject) => isAsRecorded(recorded, applied, object, []);
    const moved = (spec: Spec) => Object.assign(spec, { replicas: undefined, scale: { replicas: 2 } });
    expect([agrees(of('apps/v1')), agrees(of('apps/v1', moved))]).toEqual([true, false]);
    expect([agrees(of('apps/v2')), agrees(of('apps/v2', moved))]).toEqual([true, true]);
    expect(agrees(of('apps/v2', (_, { metadata }) => delete metadata.labels))).toBe(false);
    expect(agrees(of('apps/v2', (_, { metadata }) => delete metadata.managedFields?.[0]?.fieldsV1))).toBe(false);
    expect(agrees(of('apps/v2', (_, { metadata }) => delete metadata.managedFields))).toBe(false);
    expect(isAsRecorded('', applied, of('apps/v2'), [])).toBe(false);
  });

  it('ignores a list of fields that is deeper than any object', () => {
    let fieldsV1: JsonObject = {};
    for (let level = 0; level < 20_000; level++) fieldsV1 = { 'f:a': fieldsV1 };
    const of = (more: object) =>
      fingerprint(
        applied,
        live((_, object) => Object.assign(object.metadata, more)),
      );
    expect(of({ managedFields: [{ ...own, fieldsV1 }] })).toBe(of({}));
  });
});
