/** An operator with its definitions and RBAC, and custom objects. The operator is only a Deployment: tests do what its program would do. */
import { anything, definitionOf } from './definition.ts';

export const finalizer = 'op.example.com/drain';
const labels = { app: 'tank-operator' };
const rbac = 'rbac.authorization.k8s.io';

const metadata = { name: 'tank-operator', namespace: 'op' };
/** Kinds: Tank in the namespace, Harbour for the whole cluster. */
export const definitions: readonly object[] = [
  definitionOf({ group: 'op.example.com', kind: 'Tank', properties: { spec: anything } }),
  definitionOf({ group: 'op.example.com', kind: 'Harbour', scope: 'Cluster', properties: { spec: anything } }),
];
/** Everything of the operator, except for the definitions. */
export const operator: readonly object[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'op' } },
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
  {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRole',
    metadata: { name: metadata.name },
    rules: [{ apiGroups: ['op.example.com'], resources: ['*'], verbs: ['get', 'list', 'watch', 'update'] }],
  },
  {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: metadata.name },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: metadata.name },
    subjects: [{ kind: 'ServiceAccount', ...metadata }],
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { serviceAccountName: metadata.name, containers: [{ name: 'm', image: 'op:1' }] },
      },
    },
  },
];

export const tank = {
  apiVersion: 'op.example.com/v1',
  kind: 'Tank',
  metadata: { name: 'north', namespace: 'op' },
  spec: { liters: 9 },
};
export const harbour = { apiVersion: 'op.example.com/v1', kind: 'Harbour', metadata: { name: 'main' }, spec: {} };

/** The rules of a placement that brings the operator and its definitions, and everything else in the namespace. */
export const operatorRules: readonly object[] = [
  { apiGroup: '', resources: ['*'], namespaces: ['op'] },
  { apiGroup: 'apps', resources: ['*'], namespaces: ['op'] },
  { apiGroup: rbac, resources: ['clusterroles', 'clusterrolebindings'], objectNames: [metadata.name] },
  {
    apiGroup: 'apiextensions.k8s.io',
    resources: ['customresourcedefinitions'],
    objectNames: ['tanks.op.example.com', 'harbours.op.example.com'],
  },
];
export const objectRules: readonly object[] = [{ apiGroup: 'op.example.com', resources: ['*'] }];

export function placed(name: string, downsync: readonly object[], more: object = {}): object {
  return {
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'EdgePlacement',
    metadata: { name },
    spec: { locationSelectors: [{ matchLabels: { env: 'prod' } }], downsync, ...more },
  };
}
