/** Requests, invalid objects and changes of aggregated roles, written by hand: near misses that random sets find too rarely. */
import { type ClusterRoleObject, type PolicyRule, rbacGroup } from '../../core/access/rbac-objects.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import type { LabelSelector } from '../../core/object/selector.ts';

const apiVersion = `${rbacGroup}/v1`;
const pods = '/api/v1/namespaces/shop/pods';

/** Method and URL of requests by a user without rights. */
export const requestLines: readonly (readonly [string, string])[] = [
  ['GET', pods],
  ['GET', `${pods}?watch=true`],
  ['GET', `${pods}?watch=`],
  ['GET', `${pods}?watch=0`],
  ['GET', `${pods}?watch=False`],
  ['GET', `${pods}?watch=no`],
  ['GET', `${pods}?watch=0&watch=1`],
  ['GET', `${pods}/x?watch=true`],
  ['GET', `${pods}?fieldSelector=metadata.name%3Dx`],
  ['GET', `${pods}?fieldSelector=metadata.name%3D%3Dx&watch=1`],
  ['GET', `${pods}?fieldSelector=metadata.name%21%3Dx`],
  ['GET', `${pods}?fieldSelector=metadata.name%3Dx,metadata.name%3Dy`],
  ['GET', `${pods}?fieldSelector=metadata.name%3D,metadata.name%3Dy`],
  ['GET', `${pods}?fieldSelector=metadata.namespace%3Dx`],
  ['GET', `${pods}?fieldSelector=,,spec.nodeName%21%3Da,metadata.name%3Dx,`],
  ['GET', `${pods}?fieldSelector=metadata.name%3Dx,broken`],
  ['GET', `${pods}?fieldSelector=metadata.name%3Dx%3Dy`],
  ['GET', `${pods}?fieldSelector=metadata.name%3Dx%5C%3Dy`],
  ['GET', `${pods}?fieldSelector=metadata.name%3Dx%5C,y`],
  ['GET', `${pods}?fieldSelector=metadata.name%3Dx%5Cy`],
  ['GET', `${pods}?fieldSelector=metadata.name%3Dx%5C`],
  ['GET', `${pods}?fieldSelector=metadata.name%3D..`],
  ['GET', `${pods}?fieldSelector=metadata.name%3Dx%252f`],
  ['GET', `${pods}?fieldSelector=metadata.name%3Dx/y`],
  ['GET', `${pods}?fieldSelector=%20metadata.name%3Dx`],
  ['GET', `${pods}?fieldSelector=metadata.name%3D%20x`],
  ['GET', `${pods}?fieldSelector=metadata.name%3Dx&fieldSelector=metadata.name%3Dy`],
  ['DELETE', pods],
  ['DELETE', `${pods}?fieldSelector=metadata.name%3Dx`],
  ['DELETE', `${pods}/x`],
  ['DELETE', `${pods}/x?dryRun=All`],
  ['POST', pods],
  ['POST', `${pods}?dryRun=All`],
  ['POST', `${pods}/x/exec?command=ls`],
  ['GET', `${pods}/x/exec?command=ls`],
  ['GET', `${pods}/x/log`],
  ['PUT', `${pods}/x/status`],
  ['PATCH', `${pods}/x`],
  ['HEAD', `${pods}/x`],
  ['OPTIONS', `${pods}/x`],
  ['GET', '/api/v1/pods'],
  ['GET', '/api/v1/namespaces'],
  ['POST', '/api/v1/namespaces'],
  ['GET', '/api/v1/namespaces/shop'],
  ['DELETE', '/api/v1/namespaces/shop'],
  ['PUT', '/api/v1/namespaces/shop/status'],
  ['PUT', '/api/v1/namespaces/shop/finalize'],
  ['GET', '/apis/apps/v1/namespaces/shop/deployments/x/scale'],
  ['PATCH', '/apis/apps/v1/deployments/x'],
  ['GET', '/apis/example.com/v1/namespaces/x'],
  ['GET', '/apis/example.com/v1/widgets/x/a'],
  ['GET', '/apis/rbac.authorization.k8s.io/v1/clusterroles/system:basic-user'],
  ['GET', '/metrics'],
  ['HEAD', '/metrics'],
  ['POST', '/metrics'],
  ['GET', '/logs/x/y'],
  ['POST', '/apis/apps'],
  ['DELETE', '/apis/apps/v1'],
  ['PUT', '/version'],
];

const of = (kind: string, name: string, fields: object, namespace?: string): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  ...fields,
});
const ref = (kind: string, name: string, apiGroup = rbacGroup) => ({ roleRef: { apiGroup, kind, name } });
const user = { kind: 'User', apiGroup: rbacGroup, name: 'joe' };
const selecting = (...clusterRoleSelectors: readonly object[]) => ({ aggregationRule: { clusterRoleSelectors } });

export const invalidRbacObjects: readonly KubeObject[] = [
  of('Role', 'x', { rules: [{ nonResourceURLs: ['/x'], verbs: [], resources: ['pods'] }] }, 'shop'),
  of('Role', 'x', { rules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }] }, 'shop'),
  of('Role', 'x', { rules: [{ verbs: ['get'], resourceNames: ['x'] }] }, 'shop'),
  of('Role', 'a%b', { rules: [] }, 'shop'),
  of('ClusterRole', '..', selecting()),
  of('ClusterRole', 'a/b%', { rules: [{ verbs: [], apiGroups: [''], resources: [] }] }),
  of('ClusterRole', 'x', { rules: [{ verbs: ['get'], nonResourceURLs: ['/x'], apiGroups: [''] }] }),
  of('ClusterRole', 'x', selecting({ matchExpressions: [{ key: 'a', operator: 'In' }] })),
  of('ClusterRole', 'x', selecting({ matchExpressions: [{ key: 'a', operator: 'Gt', values: ['1'] }] })),
  of('ClusterRole', 'x', selecting({}, { matchExpressions: [{ key: '-a', operator: 'Exists', values: ['b'] }] })),
  of('RoleBinding', 'x', { ...ref('X', 'a/%', 'x'), subjects: [user] }, 'shop'),
  of('RoleBinding', 'x', { ...ref('Role', ''), subjects: [{ ...user, name: '' }] }, 'shop'),
  of('RoleBinding', 'x', { ...ref('Role', 'x'), subjects: [{ kind: 'ServiceAccount', name: 'A_b' }] }, 'shop'),
  of('RoleBinding', 'x', { ...ref('Role', 'x'), subjects: [{ ...user, kind: 'ServiceAccount' }] }, 'shop'),
  of('RoleBinding', 'x', { ...ref('Role', 'x'), subjects: [user, { ...user, kind: 'Team' }] }, 'shop'),
  of('RoleBinding', 'x', { ...ref('Role', 'x'), subjects: [{ ...user, apiGroup: 'other' }] }, 'shop'),
  of('RoleBinding', 'x', { ...ref('Role', 'x'), subjects: [{ ...user, kind: 'Group', apiGroup: 'other' }] }, 'shop'),
  of('ClusterRoleBinding', 'x', { ...ref('Role', 'x'), subjects: [{ kind: 'ServiceAccount', name: '' }] }),
  of('ClusterRoleBinding', 'x', { ...ref('ClusterRole', '.'), subjects: [{ kind: 'ServiceAccount', name: 'x' }] }),
];

const rule = (resource: string, extra: object = {}): PolicyRule => ({
  verbs: ['get'],
  apiGroups: ['example.com'],
  resources: [resource],
  ...extra,
});
const source = (name: string, labels: Record<string, string>, ...rules: readonly PolicyRule[]) => ({
  name,
  role: { apiVersion, kind: 'ClusterRole', metadata: { name, labels }, rules } satisfies ClusterRoleObject,
});
const gathering = (name: string, selectors: readonly LabelSelector[], labels: Record<string, string> = {}) => ({
  name,
  role: {
    apiVersion,
    kind: 'ClusterRole',
    metadata: { name, labels },
    rules: [rule('overwritten')],
    aggregationRule: { clusterRoleSelectors: selectors },
  } satisfies ClusterRoleObject,
});

/** Changes, one after the other. A step without a role deletes it. */
export const aggregationSteps: readonly { readonly name: string; readonly role?: ClusterRoleObject }[] = [
  source('agg-c', { to: 'one' }, rule('c'), rule('shared')),
  source('agg-a', { to: 'one', also: 'two' }, rule('shared'), rule('a', { verbs: ['get', 'list'] }), rule('shared')),
  gathering('agg-one', [{ matchLabels: { to: 'one' } }]),
  source('agg-b', { to: 'two' }, rule('b'), rule('a', { verbs: ['list', 'get'] }), rule('b', { resourceNames: [] })),
  gathering('agg-two', [{ matchLabels: { to: 'two' } }, { matchLabels: { also: 'two' } }], { to: 'one' }),
  gathering('agg-three', [{ matchExpressions: [{ key: 'to', operator: 'In', values: ['one'] }] }], { to: 'one' }),
  gathering('agg-four', [{ matchExpressions: [{ key: 'also', operator: 'Exists' }] }, { matchLabels: { to: 'two' } }]),
  source('agg-b', { to: 'two' }, rule('changed'), { verbs: ['get'], nonResourceURLs: ['/x'] }),
  source('agg-a', { also: 'two' }, rule('a')),
  source('agg-d', { to: 'two', also: 'x' }, rule('d')),
  { name: 'agg-c' },
  gathering('agg-two', [{ matchLabels: { also: 'two' } }], { to: 'one' }),
  source('agg-b', { to: 'one' }, rule('b')),
  { name: 'agg-two' },
];
