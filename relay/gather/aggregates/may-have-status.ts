/** Which kinds may have an aggregated status. */
import { builtinKinds } from '../../../core/apiserver/builtin/builtin-kinds.ts';
import type { GroupResource } from '../../../core/object/key.ts';

/**
 * Resources whose status the controllers of the origin write. A destination has objects of the same name, but their status says nothing about the
 * object of the origin.
 */
const withOwnStatus: readonly string[] = ['/namespaces', 'apiextensions.k8s.io/customresourcedefinitions'];

let without: ReadonlySet<string> | undefined;

/** Of kinds that are not built in, the node knows nothing: they may have a status. */
export function mayHaveStatus({ group, resource }: GroupResource): boolean {
  without ??= new Set([...withOwnStatus, ...builtinKinds().filter(hasNone).map(nameOf)]);
  return !without.has(nameOf({ group, resource }));
}

function hasNone({ subresources }: { readonly subresources: { readonly status: boolean } }): boolean {
  return !subresources.status;
}

function nameOf({ group, resource }: GroupResource): string {
  return `${group}/${resource}`;
}
