import { expect, test } from 'vitest';
import { driftWords } from '../../../../edge-agent/apply/drift.ts';

const applied = { spec: { replicas: 3, paused: false, list: [{ name: 'a', v: 1 }] } };

test('a field that differs is named with both values', () => {
  const live = { spec: { replicas: 1, paused: false, list: [{ name: 'a', v: 2, extra: true }], other: 'x' } };
  expect(driftWords(applied, applied, live)).toBe(
    'spec.replicas is 1 and was applied as 3; spec.list[0].v is 2 and was applied as 1',
  );
});

test('fields that were not applied are nobody’s drift, and values are compared as the cluster makes them', () => {
  const sent = { spec: { cpu: '1000m' } };
  const made = { spec: { cpu: '1', defaulted: true } };
  expect(driftWords(sent, made, { spec: { cpu: '1', defaulted: false } })).toBe('');
  expect(driftWords(sent, made, { spec: { cpu: '2' } })).toBe('spec.cpu is "2" and was applied as "1"');
});

test('a field that is gone is said to be missing, and a long tale is cut', () => {
  expect(driftWords(applied, applied, { spec: { paused: false, list: applied.spec.list } })).toBe(
    'spec.replicas is missing and was applied as 3',
  );
  const many = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`f${i}`, i]));
  expect(driftWords({ data: many }, { data: many }, { data: {} })).toMatch(/; and 3 more$/);
});
