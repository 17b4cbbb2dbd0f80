/**
 * The kinds whose objects no admission of a space changes or reads: kinds that hold data for others. Admission may still refuse their names and namespaces. So
 * the separate thread can make the bytes of such an object.
 */
import type { Kind } from '../space.ts';

const plain: ReadonlySet<string> = new Set(['/configmaps', '/secrets']);

export function isPlainKind({ group, resource, definitionUid, hasSeveralVersions, storesAsWritten }: Kind): boolean {
  if (definitionUid === undefined) return plain.has(`${group}/${resource}`);
  // The answer is made of stored bytes, which may be in another version than the request.
  return !hasSeveralVersions && !storesAsWritten;
}
