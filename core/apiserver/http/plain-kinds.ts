/**
 * The kinds of which no admission of a space reads or changes more than the name and the namespace. The separate thread makes the bytes of such an object, and
 * admission decides without parsing them: 1.4 MB with 90,000 keys take 40 ms.
 */

import { crdResource } from '../crd/definition.ts';
import type { Kind } from '../space.ts';

/** These kinds hold data for others, in every space. */
const data: ReadonlySet<string> = new Set(['/configmaps', '/secrets']);

/** `fillsIn`: the space is one for workloads. Its admission looks into definitions and kinds of the mesh only. */
export function isPlainKind(kind: Kind, fillsIn: boolean): boolean {
  // The answer is made of stored bytes, which may be in another version or form than the request.
  if (kind.hasSeveralVersions || kind.storesAsWritten || kind.storedAs) return false;
  if (kind.custom) return kind.definitionUid !== undefined;
  const { group, resource } = kind;
  const isDefinition = group === crdResource.group && resource === crdResource.resource;
  return data.has(`${group}/${resource}`) || (fillsIn && !isDefinition);
}
