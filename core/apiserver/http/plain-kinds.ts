/**
 * The kinds of which no admission of a space reads or changes more than the name and the namespace, beside the checks that the separate thread makes too. The
 * thread makes the bytes of such an object, and admission decides without parsing them: 1.4 MB with 90,000 keys take 40 ms.
 */

import { rbacKindOf } from '../../access/rbac-objects.ts';
import { isSigningRequest } from '../certificates/signing-request.ts';
import { isAccessGrant } from '../kinds/access-grant-kind.ts';
import type { Kind, SpaceType } from '../space.ts';

/** `type`: of the space. */
export function isPlainKind(kind: Kind, type: SpaceType): boolean {
  if (type === 'Workload' || type === 'Inventory') return true;
  return rbacKindOf(kind) === undefined && !isAccessGrant(kind) && !isSigningRequest(kind);
}
