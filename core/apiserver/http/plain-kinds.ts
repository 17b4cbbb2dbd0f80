/**
 * The kinds of which no admission of a space reads or changes more than the name and the namespace. The separate thread makes the bytes of such an object, and
 * admission decides without parsing them: 1.4 MB with 90,000 keys take 40 ms.
 */

import { rbacKindOf } from '../../access/rbac-objects.ts';
import { isSigningRequest } from '../certificates/signing-request.ts';
import { crdResource } from '../crd/definition.ts';
import type { FilledAs, Kind } from '../space.ts';

/** `fills`: how the space fills in fields. The admission of a workload space looks into definitions and kinds of the mesh only. */
export function isPlainKind(kind: Kind, fills: FilledAs | undefined): boolean {
  // The answer is made of stored bytes, which may be in another version or form than the request.
  if (kind.hasSeveralVersions || kind.storesAsWritten || kind.storedAs) return false;
  if (kind.custom) return kind.definitionUid !== undefined;
  const { group, resource } = kind;
  if (group === crdResource.group && resource === crdResource.resource) return false;
  if (fills === 'Workload') return true;
  // The addresses of Services depend on other Services.
  const isService = group === '' && resource === 'services';
  return !isService && rbacKindOf(kind) === undefined && !isSigningRequest(kind);
}
