/**
 * The kinds of which no admission of any space reads or changes more than the name and the namespace: kinds that hold data for others. So the separate thread can
 * make the bytes of such an object, and admission can decide without parsing them: 1.4 MB with 90,000 keys take 40 ms.
 */
import type { Kind } from '../space.ts';

const plain: ReadonlySet<string> = new Set(['/configmaps', '/secrets']);

export function isPlainKind({ group, resource, definitionUid, hasSeveralVersions, storesAsWritten }: Kind): boolean {
  if (definitionUid === undefined) return plain.has(`${group}/${resource}`);
  // The answer is made of stored bytes, which may be in another version than the request.
  return !hasSeveralVersions && !storesAsWritten;
}
