import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { fingerprint } from '../../../../edge-agent/apply/projection.ts';

const applied: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'till', labels: { app: 'till' } },
  spec: {
    replicas: 2,
    template: { spec: { containers: [{ name: 'till', image: 'till:1', args: ['--once'] }], volumes: [] } },
  },
};

/** The object as the cluster holds it: with what the server and others have added. */
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

describe('the fingerprint of what was applied', () => {
  it('is not changed by what others add: defaults, status, annotations, containers', () => {
    expect(same((_, object) => Object.assign(object, { status: { replicas: 2 } }))).toBe(true);
    expect(same((_, object) => Object.assign(object.metadata.annotations!, { other: 'x' }))).toBe(true);
    expect(same((spec) => spec.template.spec.containers.unshift({ name: 'sidecar', image: 's', args: [] }))).toBe(true);
  });

  it('is the same in whatever version the cluster answers', () => {
    expect(same((_, object) => Object.assign(object, { apiVersion: 'apps/v1beta2' }))).toBe(true);
  });

  it('is changed by any applied field that changes or goes', () => {
    expect(same((spec) => Object.assign(spec, { replicas: 7 }))).toBe(false);
    expect(same((spec) => Object.assign(spec.template.spec.containers[0]!, { image: 'till:2' }))).toBe(false);
    expect(same((spec) => spec.template.spec.containers[0]!.args.push('--more'))).toBe(false);
    expect(same((spec) => spec.template.spec.containers.pop())).toBe(false);
    expect(same((_, object) => delete object.metadata.labels)).toBe(false);
    expect(same((_, object) => delete object.spec)).toBe(false);
  });

  it('leaves aside fields that can only be written', () => {
    const secret: KubeObject = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { a: '1' } };
    const stored: KubeObject = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: { a: 'MQ==' } };
    expect(fingerprint(secret, stored)).toBe(fingerprint(secret, { ...stored, data: { a: 'Mg==' } }));
  });
});
