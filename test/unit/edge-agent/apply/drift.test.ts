import { expect, test } from 'vitest';
import { driftMessage, fieldConflictMessage } from '../../../../edge-agent/apply/drift.ts';

const whole = {};
const applied = { spec: { replicas: 3, paused: false, list: [{ name: 'a', v: 1 }] } };
const owned = {
  'f:spec': { 'f:replicas': whole, 'f:paused': whole, 'f:list': { 'k:{"name":"a"}': { '.': whole, 'f:v': whole } } },
};

test('a different field is named with both values', () => {
  const live = {
    spec: { replicas: 1, paused: false, list: [{ name: 'b' }, { name: 'a', v: 2, extra: true }], other: 'x' },
  };
  expect(driftMessage(owned, applied, live)).toBe(
    'spec.replicas is 1 and was applied as 3; spec.list[1].v is 2 and was applied as 1',
  );
});

test('fields that were not applied are no drift, and values are compared in the cluster’s form', () => {
  const cpu = { 'f:spec': { 'f:cpu': whole } };
  const made = { spec: { cpu: '1', defaulted: true } };
  expect(driftMessage(cpu, made, { spec: { cpu: '1', defaulted: false } })).toBe('');
  expect(driftMessage(cpu, made, { spec: { cpu: '2' } })).toBe('spec.cpu is "2" and was applied as "1"');
});

test('additions to an atomically owned value are named too', () => {
  const wanted = { subjects: [{ name: 'a' }], podSelector: {}, rules: [{ verbs: ['get'] }] };
  const live = {
    subjects: [{ name: 'a' }, { name: 'b' }],
    podSelector: { matchLabels: { app: 'till' } },
    rules: [{ verbs: ['get'], resourceNames: ['one'] }],
  };
  expect(driftMessage({ 'f:subjects': whole, 'f:podSelector': whole, 'f:rules': whole }, wanted, live)).toBe(
    [
      'subjects is [{"name":"a"},{"name":"b"}] and was applied as [{"name":"a"}]',
      'podSelector.matchLabels is {"app":"till"} and was not applied',
      'rules[0].resourceNames is ["one"] and was not applied',
    ].join('; '),
  );
});

test('list items are found by their keys, and set items by their value', () => {
  const mounts = {
    'f:mounts': { 'k:{"mountPath":"/b"}': { '.': whole, 'f:name': whole } },
    'f:set': { 'v:"x"': whole },
  };
  const wanted = { mounts: [{ mountPath: '/c' }, { mountPath: '/b', name: 'v' }], set: ['y', 'x'] };
  expect(driftMessage(mounts, wanted, { ...wanted, set: ['x'] })).toBe('');
  expect(driftMessage(mounts, wanted, { mounts: [{ mountPath: '/c' }], set: [] })).toBe(
    'mounts[1] is missing and was applied as {"mountPath":"/b","name":"v"}; set[1] is missing and was applied as "x"',
  );
});

test('a removed field is reported as missing, and a long report is cut', () => {
  expect(driftMessage(owned, applied, { spec: { paused: false, list: applied.spec.list } })).toBe(
    'spec.replicas is missing and was applied as 3',
  );
  const many = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`f${i}`, i]));
  expect(driftMessage({ 'f:data': whole }, { data: many }, { data: {} })).toMatch(/; and 3 more$/);
});

test('the fields of a Secret are named without their values', () => {
  const made = { kind: 'Secret', metadata: { labels: { a: '1' } }, data: { password: 'b2xk' } };
  const sent = { 'f:metadata': { 'f:labels': { 'f:a': whole } }, 'f:data': { 'f:password': whole } };
  const live = { kind: 'Secret', metadata: { labels: { a: '2' } }, data: { password: 'bmV3' } };
  expect(driftMessage(sent, made, live)).toBe(
    'metadata.labels.a is "2" and was applied as "1"; data.password is not as it was applied',
  );
  expect(driftMessage(sent, made, { kind: 'Secret', metadata: made.metadata })).toBe('data is not as it was applied');
});

test('a field conflict names the changed field, the last writer, and the possible remedies', () => {
  const answer = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: {}, spec: { replicas: 3 } };
  const managedFields = [
    { manager: 'kubectl', operation: 'Update', time: '2026-01-02T03:04:05Z' },
    { manager: 'kube-controller-manager', operation: 'Update', subresource: 'scale', time: '2026-01-02T03:04:06Z' },
    { manager: 'kubelet', operation: 'Update', subresource: 'status', time: '2026-01-02T03:04:08Z' },
    { manager: 'banyan', operation: 'Apply', time: '2026-01-02T03:04:07Z' },
  ];
  const live = { ...answer, metadata: { managedFields }, spec: { replicas: 1 } };
  const message = fieldConflictMessage({ 'f:spec': { 'f:replicas': whole } }, answer, live);
  expect(message).toMatch(
    /again and again.*: spec.replicas is 1 and was applied as 3, last written by kube-controller-manager;/,
  );
  expect(message).toMatch(/spec\.drift\.ignoredFields/);
  expect(fieldConflictMessage({}, answer, { ...live, metadata: {} })).not.toContain('written by');
  expect(fieldConflictMessage({}, answer, undefined)).toMatch(/deletes it again and again/);
});
