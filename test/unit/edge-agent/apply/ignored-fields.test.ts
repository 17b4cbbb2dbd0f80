import { expect, test } from 'vitest';
import { type FieldSet, leaf } from '../../../../core/apiserver/managed-fields/field-set.ts';
import {
  ignoredOf,
  withLiveFields,
  withoutFields,
  withoutIgnored,
} from '../../../../edge-agent/apply/ignored-fields.ts';

const deployment = (replicas: number | undefined, image: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'till', annotations: { 'a.b/c': image } },
  spec: {
    ...(replicas === undefined ? {} : { replicas }),
    containers: [
      { name: 'till', image },
      { name: 'side', image: 'x' },
    ],
  },
});
const replicas = '.spec.replicas';
const image = ".spec.containers[?(@.name=='till')].image";

test('an applied object has the cluster’s values at ignored fields', () => {
  const merged = withLiveFields(deployment(2, 'new'), deployment(5, 'old'), [
    replicas,
    image,
    ".metadata.annotations['a.b/c']",
  ]);
  expect(merged).toEqual(deployment(5, 'old'));
});

test('an object that does not exist yet, or lacks the field, gets the desired value', () => {
  expect(withLiveFields(deployment(2, 'new'), undefined, [replicas])).toEqual(deployment(2, 'new'));
  expect(withLiveFields(deployment(2, 'new'), deployment(undefined, 'old'), [replicas])).toEqual(deployment(2, 'new'));
});

test('an ignored field that nobody applies is not applied', () => {
  expect(withLiveFields(deployment(undefined, 'new'), deployment(5, 'old'), [replicas])).toEqual(
    deployment(undefined, 'new'),
  );
});

test('comparisons leave out ignored fields, and nothing else', () => {
  expect(withoutFields(deployment(2, 'new'), [replicas, image]).spec).toEqual({
    containers: [{ name: 'till' }, { name: 'side', image: 'x' }],
  });
  const object = deployment(2, 'new');
  withoutFields(object, [replicas]);
  expect(object).toEqual(deployment(2, 'new'));
});

test('the rules of an aggregated ClusterRole belong to the cluster', () => {
  const role = (more: object) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: {},
    ...more,
  });
  expect(ignoredOf(role({ aggregationRule: {}, rules: [] }), { ignored: [replicas] })).toEqual([replicas, '.rules']);
  expect(ignoredOf(role({ rules: [] }), { ignored: [replicas] })).toEqual([replicas]);
  expect(ignoredOf({ ...role({ aggregationRule: {} }), apiVersion: 'example.com/v1' }, { ignored: [] })).toEqual([]);
});

test('an ignored field is in no set of owned fields, nor is an atomic value that contains it', () => {
  const till = (more: FieldSet) => ({ 'k:{"name":"till"}': { '.': leaf, 'f:name': leaf, ...more } });
  const owned = (more: FieldSet) => ({ 'f:spec': { 'f:replicas': leaf, 'f:containers': till(more) } });
  const kept = { 'f:spec': { 'f:replicas': leaf, 'f:containers': { 'k:{"name":"till"}': { 'f:name': leaf } } } };
  for (const set of [owned({ 'f:image': leaf }), owned({})]) expect(withoutIgnored(set, [image])).toEqual(kept);
  expect(withoutIgnored({ 'f:spec': { 'f:replicas': leaf } }, [replicas])).toEqual({});
  expect(withoutIgnored({ 'f:spec': { 'f:selector': leaf, 'f:a': leaf } }, ['.spec.selector.app'])).toEqual({
    'f:spec': { 'f:a': leaf },
  });
  expect(withoutIgnored(owned({}), ['.data.a'])).toEqual(owned({}));
});

test('the parents of an ignored field count the same whether they are owned or not', () => {
  const owned = { 'f:spec': { '.': leaf, 'f:scale': { '.': leaf, 'f:replicas': leaf } } };
  const taken = { 'f:spec': { '.': leaf, 'f:scale': leaf } };
  const ignored = ['.spec.scale.replicas'];
  expect(withoutIgnored(taken, ignored)).toEqual(withoutIgnored(owned, ignored));
});
