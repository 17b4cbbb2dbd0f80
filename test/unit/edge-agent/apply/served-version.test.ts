import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { inServedVersion } from '../../../../edge-agent/apply/served-version.ts';
import type { ServedResource } from '../../../../edge-agent/cluster/cluster.ts';

const served = (group: string, kind: string, ...versions: string[]): ServedResource => ({
  group,
  resource: `${kind.toLowerCase()}s`,
  kind,
  versions,
  namespaced: true,
});
const cluster = [
  served('apps', 'Deployment', 'v1'),
  served('autoscaling', 'HorizontalPodAutoscaler', 'v2', 'v1'),
  served('batch', 'CronJob', 'v1'),
  served('networking.k8s.io', 'Ingress', 'v1'),
  served('policy', 'PodDisruptionBudget', 'v1'),
  served('shop.example.com', 'Sign', 'v2'),
];
const object = (apiVersion: string, kind: string, spec: object = {}): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name: 'one', namespace: 'shop' },
  spec,
});
const definition = (conversion: object | undefined, ...versions: string[]): KubeObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'signs.shop.example.com' },
  spec: { ...(conversion ? { conversion } : {}), versions: versions.map((name) => ({ name })) },
});
const answer = (of: KubeObject, its?: KubeObject) => inServedVersion(of, cluster, its);

describe('an object in a version that the cluster does not serve', () => {
  it.each([
    ['batch/v1beta1', 'CronJob', 'batch/v1'],
    ['autoscaling/v2beta2', 'HorizontalPodAutoscaler', 'autoscaling/v2'],
    ['apps/v1beta2', 'Deployment', 'apps/v1'],
  ])('%s %s is the same in %s, and is sent in that version', (apiVersion, kind, other) => {
    const spec = { schedule: '0 3 * * *' };
    expect(answer(object(apiVersion, kind, spec))).toEqual({ object: object(other, kind, spec) });
  });

  it('is also sent in an older version, on a cluster that is older than the author expects', () => {
    const old = [served('batch', 'CronJob', 'v1beta1')];
    expect(inServedVersion(object('batch/v1', 'CronJob'), old, undefined)).toEqual({
      object: object('batch/v1beta1', 'CronJob'),
    });
  });

  it.each([
    [
      'autoscaling/v2beta1',
      'HorizontalPodAutoscaler',
      /as autoscaling\/v2, autoscaling\/v1, .*write the object as autoscaling\/v2$/,
    ],
    ['apps/v1beta1', 'Deployment', /it serves it as apps\/v1, and their fields are not the same/],
    ['networking.k8s.io/v1beta1', 'Ingress', /write the object as networking\.k8s\.io\/v1$/],
    ['extensions/v1beta1', 'Ingress', /it serves networking\.k8s\.io\/v1, whose fields or defaults are not the same/],
    ['extensions/v1beta1', 'Deployment', /it serves apps\/v1, /],
    ['shop.example.com/v1', 'Sign', /write the object as shop\.example\.com\/v2$/],
  ])(
    '%s %s is not converted if its meaning might change: the served versions are reported',
    (apiVersion, kind, reason) => {
      expect(answer(object(apiVersion, kind))).toEqual({ why: expect.stringMatching(reason) });
    },
  );

  it('is not converted if one of its fields has another meaning', () => {
    const budget = (spec: object) => answer(object('policy/v1beta1', 'PodDisruptionBudget', spec));
    for (const selector of [{}, { matchLabels: {} }, { matchExpressions: [] }]) {
      expect(budget({ selector })).toEqual({
        why: expect.stringMatching(/empty spec\.selector selects no pod in the one/),
      });
    }
    expect(budget({ selector: { matchLabels: { app: 'till' } } })).toHaveProperty('object.apiVersion', 'policy/v1');
    expect(budget({})).toHaveProperty('object.apiVersion', 'policy/v1');
  });

  it('of a custom kind is converted if the definition itself says that only the version differs', () => {
    const sign = object('shop.example.com/v1', 'Sign', { text: 'Open' });
    const renamed = { object: { ...sign, apiVersion: 'shop.example.com/v2' } };
    expect(answer(sign, definition(undefined, 'v2', 'v1'))).toEqual(renamed);
    expect(answer(sign, definition({ strategy: 'None' }, 'v2', 'v1'))).toEqual(renamed);
    expect(answer(sign, definition({ strategy: 'Webhook' }, 'v2', 'v1'))).toHaveProperty('why');
    expect(answer(sign, definition({ strategy: 'None' }, 'v2'))).toHaveProperty('why');
  });

  it('of a kind that the cluster does not serve is not converted, nor to kinds of the same name in other groups', () => {
    expect(answer(object('shop.example.com/v1', 'Lamp'))).toEqual({ why: undefined });
    expect(answer(object('other.example.com/v1', 'Sign'))).toEqual({ why: undefined });
  });
});
