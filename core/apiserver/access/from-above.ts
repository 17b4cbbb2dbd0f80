/** The rights that the configuration of a node gives to all users of nodes above. */
import type { AccessGrantObject } from '../../access/access-grant.ts';
import { fromAboveGroup } from '../../access/subjects.ts';
import { shownPath } from '../../identity/node-path.ts';
import { accessGrantResource } from '../kinds/access-grant-kind.ts';

/** No object can have this name. So no write changes this grant. */
const ofConfigName = 'access.fromAbove of the configuration';

/** The role of users of nodes above, as a grant. Undefined: they have no common role. */
export function grantFromAbove(fromAbove: string, path: string): AccessGrantObject | undefined {
  if (fromAbove === 'grants' || fromAbove === 'none') return undefined;
  return {
    apiVersion: `${accessGrantResource.group}/v1alpha1`,
    kind: 'AccessGrant',
    metadata: { name: ofConfigName },
    spec: {
      subjects: [{ kind: 'Group', name: fromAboveGroup, apiGroup: 'rbac.authorization.k8s.io' }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: fromAbove },
      scope: { subtree: { path: shownPath(path) } },
    },
  };
}
