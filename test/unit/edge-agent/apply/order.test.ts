import { describe, expect, it } from 'vitest';
import {
  groupServedBy,
  isCustom,
  isInterceptor,
  mayBeWorkload,
  phaseOf,
  removalStageOf,
  removalStages,
} from '../../../../edge-agent/apply/order.ts';

const admission = 'admissionregistration.k8s.io';
const keys = {
  namespace: '/namespaces//op',
  definition: 'apiextensions.k8s.io/customresourcedefinitions//tanks.op.example.com',
  role: 'rbac.authorization.k8s.io/clusterroles//op',
  service: '/services/op/op',
  tank: 'op.example.com/tanks/op/north',
  deployment: 'apps/deployments/op/op',
  policy: `${admission}/validatingadmissionpolicies//op`,
  apiService: 'apiregistration.k8s.io/apiservices//v1beta1.metrics.k8s.io',
  binding: `${admission}/validatingadmissionpolicybindings//op`,
  webhooks: `${admission}/mutatingwebhookconfigurations//op`,
};
const inOrder = Object.values(keys);

describe('the order of applying', () => {
  it('begins with containers, and ends with objects that can refuse others', () => {
    expect([...inOrder].reverse().sort((a, b) => phaseOf(a) - phaseOf(b))).toEqual(inOrder);
    expect(inOrder.filter(isInterceptor)).toEqual([keys.apiService, keys.binding, keys.webhooks]);
  });

  it('treats a definition as none of them, whatever converts its objects', () => {
    expect(isInterceptor(keys.definition)).toBe(false);
  });
});

describe('custom kinds', () => {
  it.each([
    ['op.example.com/tanks/op/north', true],
    // Definitions and APIServices use the end that Kubernetes reserves, too.
    ['gateway.networking.k8s.io/gateways/op/main', true],
    ['metrics.k8s.io/nodes//a', true],
    ['cluster.x-k8s.io/machines/op/a', true],
    ['networking.k8s.io/ingresses/op/main', false],
    ['rbac.authorization.k8s.io/roles/op/main', false],
    ['policy/poddisruptionbudgets/op/main', false],
    ['/configmaps/op/v1.2', false],
  ])('%s: %s', (key, expected) => {
    expect(isCustom(key)).toBe(expected);
  });

  it('may run pods, as Deployments do; Jobs end and serve nothing', () => {
    const found = [keys.deployment, '/pods/op/a', 'argoproj.io/rollouts/op/a', 'batch/jobs/op/a', keys.service];
    expect(found.filter(mayBeWorkload)).toEqual(found.slice(0, 3));
  });
});

describe('the stages of a removal', () => {
  it('begin with what refuses others, then what controllers serve, then controllers, their support, and containers', () => {
    const { webhooks, binding, tank, apiService, deployment, policy, role, service, definition, namespace } = keys;
    const stages = [[webhooks, binding], [tank], [apiService], [deployment, policy], [role, service], [definition]];
    expect([...stages, [namespace]].map((stage) => stage.map((key) => removalStageOf(key, false)))).toEqual([
      [0, 0],
      [1],
      [2],
      [3, 3],
      [4, 4],
      [5],
      [6],
    ]);
  });

  it('count an object with finalizers of a controller as served, except for containers and for what refuses others', () => {
    expect(removalStageOf('/configmaps/op/a', true)).toBe(removalStages.served);
    expect(removalStageOf(keys.deployment, true)).toBe(removalStages.served);
    for (const key of [keys.namespace, keys.definition, keys.webhooks, keys.apiService])
      expect(removalStageOf(key, true)).toBe(removalStageOf(key, false));
  });
});

it('an APIService names the group that it serves', () => {
  expect(groupServedBy(keys.apiService)).toBe('metrics.k8s.io');
  expect(groupServedBy(keys.definition)).toBeUndefined();
});
