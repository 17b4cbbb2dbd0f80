/**
 * A request as RBAC sees it. The derivation from a request follows kube-apiserver, so the same roles allow the same requests.
 * https://kubernetes.io/docs/reference/access-authn-authz/authorization/#determine-the-request-verb
 */
import { ownField } from '../object/json-value.ts';
import type { GroupResource } from '../object/key.ts';
import { selectedName } from './selected-name.ts';

/** The user who makes a request, as authentication found them. */
export interface Requester {
  readonly name: string;
  readonly groups: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** A request for a resource. Empty texts: the request has no such part. */
export interface ResourceAttributes {
  readonly user: Requester;
  readonly verb: string;
  readonly apiGroup: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

/** A request for a path that belongs to no resource, such as `/metrics`. */
export interface PathAttributes {
  readonly user: Requester;
  /** The HTTP method in lower case. */
  readonly verb: string;
  readonly path: string;
}

export type AccessAttributes = ResourceAttributes | PathAttributes;

/** The parts of a URL that names a resource, as the code that serves the request parsed them. */
export interface RoutedResource {
  readonly of: GroupResource;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
}

export interface RequestLine {
  readonly method: string;
  /** The decoded path, without the prefix of the space. */
  readonly path: string;
  readonly query: URLSearchParams;
  /**
   * Absent: the path names no resource. The route is the one by which the request is served. A second parser here could understand a strange path in
   * another way, and then the check would be about another object than the request.
   */
  readonly route?: RoutedResource;
}

/** The fields of a SubjectAccessReview's spec that describe the request. */
export interface ReviewedRequest {
  readonly resourceAttributes?: {
    readonly verb?: string;
    readonly group?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly nonResourceAttributes?: { readonly verb?: string; readonly path?: string };
}

const verbs: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

export function isForResource(attributes: AccessAttributes): attributes is ResourceAttributes {
  return !('path' in attributes);
}

/** A dry run needs the same rights as the request itself. */
export function requestAttributes(user: Requester, { method, path, query, route }: RequestLine): AccessAttributes {
  if (!route) return { user, verb: method.toLowerCase(), path };
  const { of, subresource } = route;
  const verb = ownField(verbs, method) ?? '';
  return {
    user,
    apiGroup: of.group,
    resource: of.resource,
    subresource,
    namespace: namespaceOf(route),
    ...(route.name === '' ? withoutName(verb, query) : { verb, name: route.name }),
  };
}

/** The request about which a SubjectAccessReview asks. */
export function reviewedAttributes(user: Requester, review: ReviewedRequest): AccessAttributes {
  const { resourceAttributes, nonResourceAttributes } = review;
  if (!resourceAttributes) {
    return { user, verb: nonResourceAttributes?.verb ?? '', path: nonResourceAttributes?.path ?? '' };
  }
  const { verb = '', group = '', resource = '', subresource = '', namespace = '', name = '' } = resourceAttributes;
  return { user, verb, apiGroup: group, resource, subresource, namespace, name };
}

/** A request for one Namespace counts as a request in this namespace: a RoleBinding there can allow it. */
function namespaceOf({ of, namespace, name }: RoutedResource): string {
  return namespace === '' && of.resource === 'namespaces' ? name : namespace;
}

/** kube-apiserver does not look at the selector of a deletion. So resourceNames never allow the deletion of a collection. */
function withoutName(verb: string, query: URLSearchParams): { readonly verb: string; readonly name: string } {
  if (verb === 'delete') return { verb: 'deletecollection', name: '' };
  if (verb !== 'get') return { verb, name: '' };
  return { verb: isWatch(query) ? 'watch' : 'list', name: selectedName(query.get('fieldSelector') ?? '') };
}

/** `watch` without a value counts as true. */
function isWatch(query: URLSearchParams): boolean {
  const value = query.get('watch');
  return value !== null && !['false', '0'].includes(value.toLowerCase());
}
