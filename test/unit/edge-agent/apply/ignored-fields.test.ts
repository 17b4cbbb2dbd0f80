import { expect, test } from 'vitest';
import { withLiveFields, withoutFields } from '../../../../edge-agent/apply/ignored-fields.ts';

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

test('what is applied has the values that the cluster has at ignored fields', () => {
  const merged = withLiveFields(deployment(2, 'new'), deployment(5, 'old'), [
    replicas,
    image,
    ".metadata.annotations['a.b/c']",
  ]);
  expect(merged).toEqual(deployment(5, 'old'));
});

test('an object that is not there yet, or lacks the field, gets what is wanted', () => {
  expect(withLiveFields(deployment(2, 'new'), undefined, [replicas])).toEqual(deployment(2, 'new'));
  expect(withLiveFields(deployment(2, 'new'), deployment(undefined, 'old'), [replicas])).toEqual(deployment(2, 'new'));
});

test('a field that nobody applies is not made one that is applied', () => {
  expect(withLiveFields(deployment(undefined, 'new'), deployment(5, 'old'), [replicas])).toEqual(
    deployment(undefined, 'new'),
  );
});

test('ignored fields are left out of comparisons, and nothing else', () => {
  expect(withoutFields(deployment(2, 'new'), [replicas, image]).spec).toEqual({
    containers: [{ name: 'till' }, { name: 'side', image: 'x' }],
  });
  const object = deployment(2, 'new');
  withoutFields(object, [replicas]);
  expect(object).toEqual(deployment(2, 'new'));
});
