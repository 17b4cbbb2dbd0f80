/** Parses the path of a URL. */
import type { GroupResource } from '../../object/key.ts';
import { BanyanError } from '../../runtime/errors.ts';

export type Route =
  | {
      readonly type: 'resource';
      readonly of: GroupResource;
      readonly version: string;
      readonly namespace: string;
      readonly name: string;
      readonly subresource: string;
    }
  | { readonly type: 'api' | 'apis' | 'version' | 'openapi-v2' | 'openapi-v3' | 'metrics' | 'health' }
  | { readonly type: 'group'; readonly group: string }
  | { readonly type: 'group-version' | 'openapi-v3-document'; readonly group: string; readonly version: string }
  | { readonly type: 'unknown' };

/** A space is healthy if its node answers. */
const healthPaths: ReadonlySet<string> = new Set(['healthz', 'livez', 'readyz']);

/** `path` is the part of the URL's path after the prefix of the space. A slash at its end means nothing; an empty part belongs to no URL, as in Kubernetes. */
export function routeOf(path: string): Route {
  const parts = path.replace(/^\/+/, '').replace(/\/$/, '').split('/').map(decodePart);
  const [first, second, third] = parts;
  if (parts.includes('')) return { type: 'unknown' };
  if (first === 'version' && parts.length === 1) return { type: 'version' };
  if (first === 'metrics' && parts.length === 1) return { type: 'metrics' };
  if (parts.length === 1 && healthPaths.has(first!)) return { type: 'health' };
  if (first === 'openapi') return openapiRoute(parts);
  if (first === 'api') {
    if (!second) return { type: 'api' };
    return resourceRoute('', second, parts.slice(2));
  }
  if (first !== 'apis') return { type: 'unknown' };
  if (!second) return { type: 'apis' };
  if (!third) return { type: 'group', group: second };
  return resourceRoute(second, third, parts.slice(3));
}

/** Decodes one segment of a URL's path. */
export function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    const message = `the URL is malformed at ${JSON.stringify(part)}: a "%" must be followed by two hexadecimal digits of UTF-8`;
    throw new BanyanError('BadRequest', message, {}, { cause: error });
  }
}

function openapiRoute(parts: readonly string[]): Route {
  if (parts[1] === 'v2') return { type: 'openapi-v2' };
  if (parts[1] !== 'v3') return { type: 'unknown' };
  if (parts.length === 2) return { type: 'openapi-v3' };
  if (parts[2] === 'api' && parts[3]) return { type: 'openapi-v3-document', group: '', version: parts[3] };
  if (parts[2] === 'apis' && parts[3] && parts[4])
    return { type: 'openapi-v3-document', group: parts[3], version: parts[4] };
  return { type: 'unknown' };
}

function resourceRoute(group: string, version: string, rest: readonly string[]): Route {
  if (rest.length === 0) return { type: 'group-version', group, version };
  const inNamespace = rest[0] === 'namespaces' && rest.length >= 3 && !isNamespaceSubresource(rest);
  const namespace = inNamespace ? rest[1]! : '';
  const [resource, name = '', subresource = '', ...more] = inNamespace ? rest.slice(2) : rest;
  if (more.length > 0 || !resource) return { type: 'unknown' };
  return { type: 'resource', of: { group, resource }, version, namespace, name, subresource };
}

/** True for paths such as `/api/v1/namespaces/shop/status`: the status of the Namespace itself, not a resource in the Namespace. */
function isNamespaceSubresource(rest: readonly string[]): boolean {
  return rest.length === 3 && (rest[2] === 'status' || rest[2] === 'finalize');
}
