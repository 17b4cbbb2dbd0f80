import { describe, expect, it } from 'vitest';
import { fieldManager } from '../../../../../core/apiserver/managed-fields/field-manager.ts';
import type { KubeObject, ManagedFieldsEntry } from '../../../../../core/object/meta.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { deployment, deployments } from './deployment-kind.ts';

const early = '2030-01-01T00:00:00Z';
const late = '2030-01-01T00:01:00Z';

function apply(
  live: KubeObject | undefined,
  config: KubeObject,
  manager: string,
  options: { force?: boolean; now?: string; subresource?: string } = {},
) {
  return fieldManager.apply(
    live,
    config,
    deployments,
    'v1',
    manager,
    options.force ?? false,
    options.now ?? early,
    options.subresource,
  );
}

function update(
  live: KubeObject | undefined,
  next: KubeObject,
  manager: string,
  options: { now?: string; subresource?: string } = {},
): KubeObject {
  const copy = structuredClone(next);
  fieldManager.update(live, copy, deployments, 'v1', manager, options.now ?? early, options.subresource);
  return copy;
}

function entry(object: KubeObject, manager: string): ManagedFieldsEntry | undefined {
  return object.metadata.managedFields?.find((found) => found.manager === manager);
}

function refusal(attempt: () => unknown): BanyanError {
  try {
    attempt();
  } catch (error) {
    if (error instanceof BanyanError) return error;
    throw error;
  }
  throw new Error('was not refused');
}

const one = deployment(
  { replicas: 1, template: { spec: { containers: [{ name: 'till', image: 'till:1' }] } } },
  { labels: { app: 'till' } },
);

describe('a first apply', () => {
  it('owns exactly the fields that it sets, without identity', () => {
    const applied = apply(undefined, one, 'kubectl');
    expect(applied.metadata.managedFields).toEqual([
      {
        manager: 'kubectl',
        operation: 'Apply',
        apiVersion: 'apps/v1',
        time: early,
        fieldsType: 'FieldsV1',
        fieldsV1: {
          'f:metadata': { 'f:labels': { 'f:app': {} } },
          'f:spec': {
            'f:replicas': {},
            'f:template': {
              'f:spec': { 'f:containers': { 'k:{"name":"till"}': { '.': {}, 'f:name': {}, 'f:image': {} } } },
            },
          },
        },
      },
    ]);
  });

  it('fills the key of a list item with its default', () => {
    const config = deployment({
      template: { spec: { containers: [{ name: 'till', ports: [{ containerPort: 80 }] }] } },
    });
    expect(JSON.stringify(entry(apply(undefined, config, 'kubectl'), 'kubectl')?.fieldsV1)).toContain(
      '"k:{\\"containerPort\\":80,\\"protocol\\":\\"TCP\\"}"',
    );
  });

  it('owns an atomic part and an atomic list as one', () => {
    const config = deployment({
      selector: { matchLabels: { app: 'till' } },
      template: { spec: { containers: [{ name: 'till', command: ['a', 'b'] }] } },
    });
    const fields = entry(apply(undefined, config, 'kubectl'), 'kubectl')?.fieldsV1 as Record<
      string,
      Record<string, unknown>
    >;
    expect(fields['f:spec']?.['f:selector']).toEqual({});
    expect(JSON.stringify(fields)).toContain('"f:command":{}');
  });

  it('does not own a status sent to the main resource, and does not set it', () => {
    const applied = apply(undefined, { ...one, status: { readyReplicas: 9 } }, 'kubectl');
    expect(applied.status).toBeUndefined();
    expect(entry(applied, 'kubectl')?.fieldsV1).not.toHaveProperty('f:status');
  });

  it('assigns fields from before managed fields to before-first-apply', () => {
    const live = deployment({ replicas: 3 });
    const error = refusal(() => apply(live, deployment({ replicas: 4 }), 'kubectl'));
    expect(error.message).toBe(
      'Apply failed with 1 conflict: conflict with "before-first-apply" using apps/v1: .spec.replicas',
    );
  });
});

describe('a repeated apply', () => {
  it('leaves object, entries and times unchanged', () => {
    const applied = apply(undefined, one, 'kubectl');
    expect(apply(applied, one, 'kubectl', { now: late })).toEqual(applied);
  });

  it('keeps the time when its fields change and no value does', () => {
    const applied = apply(undefined, one, 'kubectl');
    const labels = { app: 'till', of: 'other' };
    const live = update(applied, { ...applied, metadata: { ...applied.metadata, labels } }, 'other');
    const again = apply(live, { ...one, metadata: { ...one.metadata, labels } }, 'kubectl', { now: late });
    expect(entry(again, 'kubectl')).toMatchObject({
      time: early,
      fieldsV1: { 'f:metadata': { 'f:labels': { 'f:app': {}, 'f:of': {} } } },
    });
  });

  it('by another manager has no time when no value changes', () => {
    const again = apply(apply(undefined, one, 'kubectl'), deployment({ replicas: 1 }), 'gitops', { now: late });
    expect(entry(again, 'gitops')).toMatchObject({ fieldsV1: { 'f:spec': { 'f:replicas': {} } } });
    expect(entry(again, 'gitops')).not.toHaveProperty('time');
  });

  it('updates the time when a value changes though the fields are the same', () => {
    const applied = apply(undefined, one, 'kubectl');
    const again = apply(
      applied,
      deployment({ ...(one.spec as object), replicas: 2 }, { labels: { app: 'till' } }),
      'kubectl',
      { now: late },
    );
    expect(entry(again, 'kubectl')?.time).toBe(late);
  });

  it('removes fields that it set before, does not set now, and nobody else owns', () => {
    const applied = apply(undefined, one, 'kubectl');
    const again = apply(
      applied,
      deployment({ template: { spec: { containers: [{ name: 'till', image: 'till:1' }] } } }),
      'kubectl',
    );
    expect(again.spec).toEqual({ template: { spec: { containers: [{ name: 'till', image: 'till:1' }] } } });
    expect(again.metadata.labels).toBeUndefined();
  });

  it('keeps a field that it set before if somebody else owns it too', () => {
    const both = apply(
      apply(undefined, deployment({ replicas: 1, paused: true }), 'a'),
      deployment({ replicas: 1 }),
      'b',
    );
    const again = apply(both, deployment({ paused: true }), 'a');
    expect(again.spec).toEqual({ replicas: 1, paused: true });
    expect(entry(again, 'a')?.fieldsV1).toEqual({ 'f:spec': { 'f:paused': {} } });
  });

  it('removes a whole part with the defaults that were added to it', () => {
    const config = deployment({ replicas: 1, template: { spec: { securityContext: { runAsUser: 1 } } } });
    const live = apply(undefined, config, 'kubectl');
    (live.spec as { template: { spec: { securityContext: object } } }).template.spec.securityContext = {
      runAsUser: 1,
      fsGroup: 5,
    };
    expect(apply(live, deployment({ replicas: 1 }), 'kubectl').spec).toEqual({ replicas: 1 });
  });

  it('drops its entry when it no longer sets a field', () => {
    const applied = apply(apply(undefined, deployment({ replicas: 1 }), 'a'), deployment({ paused: true }), 'b');
    const again = apply(applied, { ...deployment({}), spec: undefined }, 'a');
    expect(again.metadata.managedFields?.map(({ manager }) => manager)).toEqual(['b']);
    expect(again.spec).toEqual({ paused: true });
  });

  it('puts list items into its own order and leaves the others in place', () => {
    const containers = (...names: string[]) =>
      deployment({ template: { spec: { containers: names.map((name) => ({ name, image: name })) } } });
    const live = update(undefined, containers('a', 'x', 'b', 'y'), 'kubectl-create');
    const applied = apply(live, containers('b', 'n', 'a'), 'kubectl');
    const names = (
      applied.spec as { template: { spec: { containers: { name: string }[] } } }
    ).template.spec.containers.map(({ name }) => name);
    expect(new Set(names)).toEqual(new Set(['a', 'x', 'b', 'y', 'n']));
    expect(names.filter((name) => 'abn'.includes(name))).toEqual(['b', 'n', 'a']);
  });
});

describe('an object of kubectl apply without --server-side', () => {
  const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
  const withAnnotation = (text: string) =>
    update(undefined, { ...one, metadata: { ...one.metadata, annotations: { [annotation]: text } } }, 'kubectl-create');
  const live = withAnnotation(JSON.stringify(one));
  const three = deployment({ replicas: 3 });

  it('gives kubectl the fields that it applied, and the annotation follows', () => {
    const applied = apply(live, three, 'kubectl');
    expect(applied.spec).toMatchObject({ replicas: 3 });
    expect(entry(applied, 'kubectl-create')?.fieldsV1).not.toHaveProperty(['f:spec', 'f:replicas']);
    const metadata = '{"name":"till","namespace":"shop"}';
    expect(applied.metadata.annotations?.[annotation]).toBe(
      `{"apiVersion":"apps/v1","kind":"Deployment","metadata":${metadata},"spec":{"replicas":3}}\n`,
    );
  });

  it('keeps the digits of an integer beyond 2^53 in the annotation', () => {
    const long = deployment({ replicas: 9007199254740993n });
    const annotations = { [annotation]: '{"apiVersion":"apps/v1","metadata":{},"spec":{"replicas":9007199254740993}}' };
    const made = update(undefined, { ...long, metadata: { ...long.metadata, annotations } }, 'kubectl-create');
    const applied = apply(made, deployment({ replicas: 9007199254740995n }), 'kubectl');
    expect(applied.metadata.annotations?.[annotation]).toContain('"replicas":9007199254740995}');
  });

  it('gives kubectl no field that another manager has changed since', () => {
    const changed = update(live, { ...live, spec: { ...(live.spec as object), replicas: 2 } }, 'scaler', { now: late });
    expect(refusal(() => apply(changed, three, 'kubectl')).message).toBe(
      'Apply failed with 1 conflict: conflict with "scaler" using apps/v1: .spec.replicas',
    );
  });

  it('keeps its fields and its annotation before another manager', () => {
    expect(refusal(() => apply(live, three, 'other')).code).toBe('Conflict');
    const forced = apply(live, three, 'other', { force: true });
    expect(forced.metadata.annotations).toEqual(live.metadata.annotations);
  });

  it('is one like others if the annotation is no configuration', () => {
    for (const text of ['{', 'null', '[]', '{"apiVersion":"apps/v2","metadata":{}}'])
      expect(refusal(() => apply(withAnnotation(text), three, 'kubectl')).code).toBe('Conflict');
  });
});

describe('conflicts', () => {
  const live = update(undefined, deployment({ replicas: 1, paused: false }), 'kubectl-client-side-apply');

  it('are reported as kubectl prints them, with a cause', () => {
    const error = refusal(() => apply(live, deployment({ replicas: 2 }), 'kubectl'));
    expect(error.code).toBe('Conflict');
    expect(error.message).toBe(
      'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1: .spec.replicas',
    );
    expect(error.details.causes).toEqual([
      {
        reason: 'FieldManagerConflict',
        message: 'conflict with "kubectl-client-side-apply" using apps/v1',
        field: '.spec.replicas',
      },
    ]);
  });

  it('are listed by manager if there are several', () => {
    const error = refusal(() => apply(live, deployment({ replicas: 2, paused: true }), 'kubectl'));
    expect(error.message).toBe(
      'Apply failed with 2 conflicts: conflicts with "kubectl-client-side-apply" using apps/v1:\n- .spec.paused\n- .spec.replicas',
    );
  });

  it('name a list item by its keys', () => {
    const applied = apply(undefined, one, 'a');
    const other = deployment({ template: { spec: { containers: [{ name: 'till', image: 'till:2' }] } } });
    expect(refusal(() => apply(applied, other, 'b')).message).toBe(
      'Apply failed with 1 conflict: conflict with "a": .spec.template.spec.containers[name="till"].image',
    );
  });

  it('do not exist if the values are equal: both own the field', () => {
    const shared = apply(live, deployment({ replicas: 1 }), 'kubectl');
    expect(entry(shared, 'kubectl')?.fieldsV1).toEqual({ 'f:spec': { 'f:replicas': {} } });
    expect(entry(shared, 'kubectl-client-side-apply')?.fieldsV1).toMatchObject({ 'f:spec': { 'f:replicas': {} } });
  });

  it('are overridden with force', () => {
    const taken = apply(live, deployment({ replicas: 2 }), 'kubectl', { force: true });
    expect((taken.spec as { replicas: number }).replicas).toBe(2);
    expect(entry(taken, 'kubectl-client-side-apply')?.fieldsV1).toEqual({ 'f:spec': { '.': {}, 'f:paused': {} } });
  });
});

describe('an update', () => {
  it('gives a scale an entry without a time, as Kubernetes does', () => {
    const made = update(undefined, one, 'a');
    const next = { ...made, spec: { ...(made.spec as object), replicas: 2 } };
    const scaled = update(made, next, 'scaler', { subresource: 'scale' });
    expect(entry(scaled, 'scaler')).toMatchObject({ fieldsV1: { 'f:spec': { 'f:replicas': {} } } });
    expect(entry(scaled, 'scaler')).not.toHaveProperty('time');
  });

  it('takes the fields that it changes from their owners', () => {
    const applied = apply(undefined, deployment({ replicas: 1, paused: true }), 'a');
    const scaled = update(applied, { ...applied, spec: { replicas: 5, paused: true } }, 'kubectl-scale', { now: late });
    expect(entry(scaled, 'a')?.fieldsV1).toEqual({ 'f:spec': { 'f:paused': {} } });
    expect(entry(scaled, 'kubectl-scale')).toMatchObject({
      operation: 'Update',
      time: late,
      fieldsV1: { 'f:spec': { 'f:replicas': {} } },
    });
  });

  it('that changes nothing returns the same list', () => {
    const applied = apply(undefined, one, 'a');
    expect(update(applied, applied, 'b', { now: late }).metadata.managedFields).toEqual(applied.metadata.managedFields);
  });

  it('that removes fields takes them from every owner', () => {
    const applied = apply(undefined, one, 'a');
    const { labels: _, ...metadata } = applied.metadata;
    const next = update(applied, { ...applied, metadata, spec: { replicas: 1 } }, 'b');
    expect(entry(next, 'a')?.fieldsV1).toEqual({ 'f:spec': { 'f:replicas': {} } });
    expect(entry(next, 'b')).toBeUndefined();
  });

  it('keeps the entry of a subresource separate', () => {
    const live = update(undefined, deployment({ replicas: 1 }), 'kubectl');
    const next = update(live, { ...live, status: { readyReplicas: 1 } }, 'kubectl', { subresource: 'status' });
    expect(next.metadata.managedFields?.map(({ subresource, fieldsV1 }) => [subresource, fieldsV1])).toEqual([
      [undefined, { 'f:spec': { '.': {}, 'f:replicas': {} } }],
      ['status', { 'f:status': { '.': {}, 'f:readyReplicas': {} } }],
    ]);
  });

  it('keeps the entries when the client sends none or an empty list, and resets them for one empty entry', () => {
    const live = update(undefined, deployment({ replicas: 1 }), 'kubectl');
    const { managedFields, ...metadata } = live.metadata;
    expect(update(live, { ...live, metadata }, 'x').metadata.managedFields).toEqual(managedFields);
    expect(update(live, { ...live, metadata: { ...metadata, managedFields: [] } }, 'x').metadata.managedFields).toEqual(
      managedFields,
    );
    expect(
      update(live, { ...live, metadata: { ...metadata, managedFields: [{}] } }, 'x').metadata.managedFields,
    ).toBeUndefined();
  });

  it('keeps at most ten updaters and merges the oldest', () => {
    let live = update(undefined, deployment({ replicas: 0 }), 'm0');
    for (let index = 1; index <= 14; index++) {
      const labels = { ...live.metadata.labels, [`l${index}`]: 'x' };
      live = update(live, { ...live, metadata: { ...live.metadata, labels } }, `m${index}`, {
        now: `2030-01-01T00:00:${10 + index}Z`,
      });
    }
    const managers = live.metadata.managedFields?.map(({ manager }) => manager) ?? [];
    expect(managers).toHaveLength(10);
    expect(managers).toContain('ancient-changes');
    expect(managers).toContain('m14');
    expect(entry(live, 'ancient-changes')?.fieldsV1).toMatchObject({ 'f:spec': { 'f:replicas': {} } });
  });

  it('drops entries that it cannot read', () => {
    const live = deployment(
      { replicas: 1 },
      { managedFields: [{ manager: 'x', operation: 'Update', apiVersion: 'apps/v1', fieldsType: 'FieldsV2' }] },
    );
    const next = update(live, { ...live, spec: { replicas: 2 } }, 'y');
    expect(next.metadata.managedFields?.map(({ manager }) => manager)).toEqual(['y']);
  });
});

describe('an apply to status', () => {
  it('sets and owns nothing but the status', () => {
    const live = apply(undefined, one, 'a');
    const next = apply(live, { ...deployment({ replicas: 7 }), status: { readyReplicas: 1 } }, 'a', {
      subresource: 'status',
    });
    expect(next.spec).toEqual(live.spec);
    expect(next.status).toEqual({ readyReplicas: 1 });
    expect(next.metadata.managedFields?.find(({ subresource }) => subresource === 'status')?.fieldsV1).toEqual({
      'f:status': { 'f:readyReplicas': {} },
    });
  });
});

describe('a label with the name of a member of every object', () => {
  const labels = JSON.parse('{"app": "till", "constructor": "a", "__proto__": "b"}') as Record<string, string>;
  const labelled = { ...one, metadata: { ...one.metadata, labels } };

  it('is owned while the object has the label, and by nobody afterwards', () => {
    const applied = apply(one, labelled, 'kubectl');
    expect(Object.entries(applied.metadata.labels!)).toEqual(Object.entries(labels));
    expect(JSON.stringify(entry(applied, 'kubectl')?.fieldsV1)).toContain('f:constructor');
    const removed = update(applied, { ...applied, metadata: { ...applied.metadata, labels: { app: 'till' } } }, 'edit');
    expect(JSON.stringify(entry(removed, 'kubectl')?.fieldsV1)).not.toMatch(/f:constructor|f:__proto__/);
  });
});
