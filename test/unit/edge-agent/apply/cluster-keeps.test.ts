import { describe, expect, it } from 'vitest';
import type { KubeObject, ObjectMeta } from '../../../../core/object/meta.ts';
import { clusterKeeps } from '../../../../edge-agent/apply/cluster-keeps.ts';

const rbac = 'rbac.authorization.k8s.io/v1';
const object = (apiVersion: string, kind: string, metadata: ObjectMeta): KubeObject => ({ apiVersion, kind, metadata });

describe('an object belongs to the cluster itself if', () => {
  it.each([
    [
      'it is a default role',
      object(rbac, 'ClusterRole', { name: 'edit', labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' } }),
    ],
    [
      'the API server updates it',
      object(rbac, 'RoleBinding', {
        name: 'x',
        annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
      }),
    ],
    ['its name is reserved', object(rbac, 'ClusterRoleBinding', { name: 'system:node' })],
    ['it is a namespace of the cluster', object('v1', 'Namespace', { name: 'kube-system' })],
    ['it is the first namespace', object('v1', 'Namespace', { name: 'default' })],
    [
      'it has the certificates of the API server',
      object('v1', 'ConfigMap', { name: 'kube-root-ca.crt', namespace: 'shop' }),
    ],
    [
      'it has the settings of aggregation',
      object('v1', 'ConfigMap', { name: 'extension-apiserver-authentication', namespace: 'kube-system' }),
    ],
    ['it is the Service of the API server', object('v1', 'Service', { name: 'kubernetes', namespace: 'default' })],
    [
      'it is a default flow schema',
      object('flowcontrol.apiserver.k8s.io/v1', 'FlowSchema', {
        name: 'exempt',
        annotations: { 'apf.kubernetes.io/autoupdate-spec': 'true' },
      }),
    ],
    [
      'it is an APIService of the server',
      object('apiregistration.k8s.io/v1', 'APIService', {
        name: 'v1.',
        labels: { 'kube-aggregator.kubernetes.io/automanaged': 'onstart' },
      }),
    ],
    [
      'it is a priority of the system',
      object('scheduling.k8s.io/v1', 'PriorityClass', { name: 'system-node-critical' }),
    ],
  ])('%s', (_, kept) => {
    expect(clusterKeeps(kept)).toBeDefined();
  });

  it.each([
    ['a role of the site', object(rbac, 'ClusterRole', { name: 'edit-shop' })],
    [
      'a role that nobody updates',
      object(rbac, 'ClusterRole', {
        name: 'x',
        annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'false' },
      }),
    ],
    ['an object of the site in kube-system', object('v1', 'ConfigMap', { name: 'ours', namespace: 'kube-system' })],
    ['the same names elsewhere', object('v1', 'Service', { name: 'kubernetes', namespace: 'shop' })],
    ['another kind with such a name', object('v1', 'ConfigMap', { name: 'system:node', namespace: 'shop' })],
    ['a definition of that name', object('example.org/v1', 'Namespace', { name: 'default' })],
  ])('and does not: %s', (_, other) => {
    expect(clusterKeeps(other)).toBeUndefined();
  });
});
