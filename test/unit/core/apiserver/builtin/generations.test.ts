/** The generation of objects whose metadata count in Kubernetes too (k8s.io/kubernetes v1.34, the strategies of pkg/registry). */
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { ownSpace } from '../../../../support/differential/answers.ts';

const labels = { app: 'till' };
const containers = [{ name: 'till', image: 'till:1' }];
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'till', namespace: 'default' },
  spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
};
const slice = {
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: 'till', namespace: 'default' },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['10.0.0.1'] }],
};
const config = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'IngressClass',
  metadata: { name: 'till' },
  spec: { controller: 'shop.example/till' },
};

/** The generations after a new annotation, after a new label, and after a status with a third annotation. */
function generations(object: KubeObject): (number | undefined)[] {
  const space = ownSpace();
  space.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } });
  let present = space.create(object);
  const change = (metadata: object, subresource?: 'status') => {
    const changed = { ...present, metadata: { ...present.metadata, ...metadata } };
    present = space.update(subresource ? { ...changed, status: {} } : changed, subresource ? { subresource } : {});
    return present.metadata.generation;
  };
  const changes = [change({ annotations: { turn: '1' } }), change({ labels: { turn: '2' } })];
  if (object.kind === 'Deployment') changes.push(change({ annotations: { turn: '3' } }, 'status'));
  return changes;
}

describe('the generation', () => {
  it.each([
    ['a Deployment grows with its annotations, but not if its status is written', deployment, [2, 2, 2]],
    ['an EndpointSlice grows with its labels', slice, [1, 2]],
    ['another object grows with neither', config, [1, 1]],
  ])('of %s', (_, object, expected) => {
    expect(generations(object)).toEqual(expected);
  });
});
