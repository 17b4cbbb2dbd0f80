import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { ruleCauses } from '../../../../support/builtin-causes.ts';

const labels = { app: 'a' };

function workload(spec: object = {}): KubeObject {
  const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'nginx' }] } };
  return {
    apiVersion: 'apps/v1',
    kind: 'X',
    metadata: { name: 'a' },
    spec: { selector: { matchLabels: labels }, template, ...spec },
  };
}

function object(fields: object): KubeObject {
  return { apiVersion: 'v1', kind: 'X', metadata: { name: 'a' }, ...fields };
}

/** `field: message` of each cause. */
function problems(kind: string, now: KubeObject, old?: KubeObject): string[] {
  return ruleCauses(kind, now, old).map(({ field, message }) => `${field}: ${message}`);
}

describe.each(['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet'])('a %s', (kind) => {
  it('is accepted as people write it', () => {
    expect(problems(kind, workload())).toEqual([]);
    expect(problems(kind, workload(), workload())).toEqual([]);
  });

  it('needs a selector that selects its own pods', () => {
    const unselected =
      'spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match template `labels`';
    const absent = kind === 'DaemonSet' ? [unselected] : ['spec.selector: Required value', unselected];
    expect(problems(kind, workload({ selector: undefined }))).toEqual(absent);
    expect(problems(kind, workload({ selector: {} }))).toEqual([
      `spec.selector: Invalid value: {}: empty selector is invalid for ${kind === 'ReplicaSet' ? 'deployment' : kind.toLowerCase()}`,
    ]);
    expect(problems(kind, workload({ selector: { matchLabels: { app: 'b' } } }))).toEqual([
      'spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match template `labels`',
    ]);
  });

  it('keeps its selector', () => {
    const template = {
      metadata: { labels: { app: 'a', tier: 'web' } },
      spec: { containers: [{ name: 'main', image: 'x' }] },
    };
    const next = workload({ selector: { matchLabels: { tier: 'web' } }, template });
    expect(problems(kind, next, workload())).toEqual([
      kind === 'StatefulSet'
        ? expect.stringContaining('spec: Forbidden: updates to statefulset spec for fields other than')
        : 'spec.selector: Invalid value: {"matchLabels":{"tier":"web"}}: field is immutable',
    ]);
  });

  it('needs containers with names of their own', () => {
    const of = (containers: object[]) => workload({ template: { metadata: { labels }, spec: { containers } } });
    expect(problems(kind, of([]))).toEqual(['spec.template.spec.containers: Required value']);
    expect(problems(kind, of([{}]))).toEqual([
      'spec.template.spec.containers[0].name: Required value',
      'spec.template.spec.containers[0].image: Required value',
    ]);
    const image = 'x';
    expect(problems(kind, of(['x', 'y', 'x'].map((name) => ({ name, image }))))).toEqual([
      'spec.template.spec.containers[2].name: Duplicate value: "x"',
    ]);
  });
});

describe.each(['Deployment', 'ReplicaSet', 'StatefulSet'])('the replicas of a %s', (kind) => {
  it('may be zero, but not negative', () => {
    expect(problems(kind, workload({ replicas: 0 }))).toEqual([]);
    expect(problems(kind, workload({ replicas: -1 }))).toEqual([
      'spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    ]);
  });
});

describe('a Job', () => {
  const job = (spec: object) =>
    object({ spec: { template: { spec: { containers: [{ name: 'x', image: 'x' }], ...spec } } } });

  it('states what happens to a pod that ends', () => {
    for (const restartPolicy of ['Never', 'OnFailure']) expect(problems('Job', job({ restartPolicy }))).toEqual([]);
    for (const spec of [{}, { restartPolicy: 'Always' }]) {
      expect(problems('Job', job(spec))).toEqual([
        'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
      ]);
    }
  });

  it('keeps its template', () => {
    const [cause] = problems('Job', job({ restartPolicy: 'Never' }), job({ restartPolicy: 'OnFailure' }));
    expect(cause).toMatch(/^spec\.template: Invalid value: .*: field is immutable$/);
  });
});

describe('a Pod', () => {
  it('needs an image in each container', () => {
    expect(problems('Pod', object({ spec: { containers: [{ name: 'a', image: 'x' }, { name: 'b' }] } }))).toEqual([
      'spec.containers[1].image: Required value',
    ]);
  });
});

describe('a Service', () => {
  const service = (ports: object[]) => object({ spec: { ports } });

  it('has valid ports', () => {
    expect(problems('Service', service([{ port: 1 }]))).toEqual([]);
    expect(problems('Service', service([{ port: 65_535 }]))).toEqual([]);
    for (const port of [0, 65_536]) {
      // The target port is the port, unless the Service says otherwise.
      expect(problems('Service', service([{ port }]))).toEqual(
        ['port', 'targetPort'].map(
          (name) => `spec.ports[0].${name}: Invalid value: ${port}: must be between 1 and 65535, inclusive`,
        ),
      );
    }
  });

  it('names its ports when it has several', () => {
    expect(problems('Service', service([{ name: 'a', port: 1 }, { port: 2 }]))).toEqual([
      'spec.ports[1].name: Required value',
    ]);
  });
});

describe('a field that can no longer change', () => {
  const claim = (storageClassName: string) =>
    object({
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, storageClassName },
    });
  const binding = (name: string) => object({ roleRef: { kind: 'ClusterRole', name } });

  it.each([
    ['StatefulSet', workload({ serviceName: 'a' }), workload({ serviceName: 'b' }), 'spec: Forbidden: updates to'],
    ['Secret', object({ type: 'Opaque' }), object({ type: 'x' }), 'type: Invalid value: "x": field is immutable'],
    ['PersistentVolumeClaim', claim('a'), claim('b'), 'spec: Forbidden: spec is immutable after creation except'],
    ['PriorityClass', object({ value: 1 }), object({ value: 2 }), 'value: Forbidden: may not be changed'],
    ['RoleBinding', binding('a'), binding('b'), 'roleRef: Invalid value: '],
    ['ClusterRoleBinding', binding('a'), binding('b'), 'roleRef: Invalid value: '],
  ])('of a %s is refused by its field', (kind, old, next, problem) => {
    expect(problems(kind, old, old)).toEqual([]);
    expect(problems(kind, next, old)).toEqual([expect.stringContaining(problem)]);
  });

  it('may be wrong in an object that an earlier version has stored, and no field beside it may become wrong', () => {
    const old = workload({ replicas: -1 });
    expect(problems('Deployment', old, old)).toEqual([]);
    expect(problems('Deployment', workload({ replicas: -2 }), old)).toEqual([
      'spec.replicas: Invalid value: -2: must be greater than or equal to 0',
    ]);
    expect(problems('Deployment', workload({ replicas: -1, minReadySeconds: -1 }), old)).toEqual([
      'spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0',
    ]);
  });

  it('of a ConfigMap or a Secret: only an immutable object is refused, and its immutable flag too', () => {
    const why = 'Forbidden: field is immutable when `immutable` is set';
    for (const kind of ['ConfigMap', 'Secret']) {
      const old = object({ immutable: true, data: { a: 'x' } });
      expect(problems(kind, { ...old, data: { a: 'y' } }, old)).toEqual([`data: ${why}`]);
      expect(problems(kind, { ...old, immutable: false }, old)).toEqual([`immutable: ${why}`]);
      const binary = problems(kind, { ...old, binaryData: { b: '' } }, old);
      expect(binary).toEqual(kind === 'ConfigMap' ? [`binaryData: ${why}`] : []);
      const open = { ...old, immutable: false };
      expect(problems(kind, { ...open, data: {} }, open)).toEqual([]);
    }
  });

  it('may be written in another order', () => {
    const old = object({ roleRef: { name: 'a', kind: 'Role' }, immutable: true, data: { a: 'x', b: 'y' } });
    const next = object({ roleRef: { kind: 'Role', name: 'a' }, immutable: true, data: { b: 'y', a: 'x' } });
    expect(problems('RoleBinding', next, old)).toEqual([]);
    expect(problems('ConfigMap', next, old)).toEqual([]);
  });
});
