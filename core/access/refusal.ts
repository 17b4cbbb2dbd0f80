/** The messages of refused requests, in the words of kube-apiserver. */
import { formatGroupResource, type GroupResource } from '../object/key.ts';
import { BanyanError } from '../runtime/errors.ts';
import { type AccessAttributes, isForResource, type ResourceAttributes } from './attributes.ts';

export interface AccessDecision {
  readonly allowed: boolean;
  /** The binding that allows the request, or what stood in the way. Empty: no binding says anything about the request. */
  readonly reason: string;
}

/** The answer to a request that nobody allows. `reason` is the reason of the decision. */
export function accessRefused(attributes: AccessAttributes, reason: string): BanyanError {
  const why = withoutMarkup(refusalText(attributes)) + (reason === '' ? '' : `: ${reason}`);
  if (!isForResource(attributes)) return new BanyanError('Forbidden', `forbidden: ${why}`);
  return objectForbidden({ group: attributes.apiGroup, resource: attributes.resource }, attributes.name, why);
}

/** The name is empty for a request without a name. */
export function objectForbidden(of: GroupResource, name: string, why: string): BanyanError {
  const about = formatGroupResource(of) + (name === '' ? '' : ` ${JSON.stringify(name)}`);
  const details = { group: of.group, kind: of.resource, ...(name === '' ? {} : { name }) };
  return new BanyanError('Forbidden', `${about} is forbidden: ${why}`, details);
}

/** `User "eve" cannot list resource "pods" in API group "" in the namespace "shop"` */
export function refusalText(attributes: AccessAttributes): string {
  const user = `User ${JSON.stringify(attributes.user.name)}`;
  if (!isForResource(attributes)) return `${user} cannot ${attributes.verb} path ${JSON.stringify(attributes.path)}`;
  const { verb, apiGroup, namespace } = attributes;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  const resource = JSON.stringify(fullResource(attributes));
  return `${user} cannot ${verb} resource ${resource} in API group ${JSON.stringify(apiGroup)} ${where}`;
}

/** `pods`, or `pods/log`. */
export function fullResource({ resource, subresource }: ResourceAttributes): string {
  return subresource === '' ? resource : `${resource}/${subresource}`;
}

/** Names come from the client, and a browser may show the answer as a page. */
function withoutMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
