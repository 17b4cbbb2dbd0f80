/** The place to which the URL of a request leads, and the attributes of the request there. Authorization decides about both. */
import type { AccessAttributes, RoutedResource } from '../../access/attributes.ts';
import { requestAttributes } from '../../access/attributes.ts';
import type { AccessPlace } from '../../access/grant-scope.ts';
import { edgeGroup } from '../kinds/edge-placement.ts';
import { meshGroup } from '../kinds/mesh-kinds.ts';
import type { UserInfo } from '../space.ts';
import { decodePart, routeOf } from './route.ts';

export interface AskedAccess {
  readonly place: AccessPlace;
  readonly attributes: AccessAttributes;
  /** The encoded path at the place: the part of the URL after the prefix of the place. */
  readonly path: string;
}

export interface AskedRequest {
  readonly user: UserInfo;
  readonly method: string;
  /** The encoded path of the URL. */
  readonly path: string;
  readonly query: URLSearchParams;
}

interface Parts {
  readonly place: AccessPlace;
  readonly path: string;
  /** A URL that is no part of the Kubernetes API, as the resource to which it belongs. */
  readonly route?: RoutedResource;
  readonly verb?: string;
}

/** `ownPath` is the path of this node. */
export function askedAccess(request: AskedRequest, ownPath: string): AskedAccess {
  const { user, method, query } = request;
  const { place, path, route: special, verb } = partsOf(request.path, ownPath);
  const parsed = special ? undefined : routeOf(path);
  const route = special ?? (parsed?.type === 'resource' ? parsed : undefined);
  const attributes = requestAttributes(user, {
    method,
    path: path === '' ? '/' : path,
    query,
    ...(route ? { route } : {}),
  });
  return { place, path, attributes: verb === undefined ? attributes : { ...attributes, verb } };
}

const prefixed = /^\/(spaces|fleet|mailboxes|reported)\/([^/]+)(\/.*)?$/;
const ofTree = /^\/tree\/([^/]+)(\/.*)?$/;

function partsOf(path: string, ownPath: string): Parts {
  const [, node, below = ''] = ofTree.exec(path) ?? [];
  if (node !== undefined) return treeParts(pathOf(node), below);
  const [, family, encoded = '', rest = ''] = prefixed.exec(path) ?? [];
  if (family === undefined) return { place: { node: ownPath }, path };
  const name = decodePart(encoded);
  if (family === 'mailboxes') return { place: { mailbox: name }, ...planParts(rest, meshGroup, 'mailboxes', name) };
  if (family === 'reported') return { place: { cluster: name }, path: rest };
  return { place: { space: name }, ...planParts(rest, edgeGroup, 'edgeplacements', '') };
}

/** At another node, the whole URL is one place: the node itself decides about the place in detail. */
function treeParts(node: string, below: string): Parts {
  const [, ofCluster] = /^\/cluster(\/.*)?$/.exec(below) ?? [];
  if (/^\/cluster(\/|$)/.test(below)) return { place: { cluster: node }, path: ofCluster ?? '/' };
  // A way through a second node is a path, and no request to the resource at its end.
  if (ofTree.test(below)) return { place: { node }, path: below };
  const { path, route, verb } = partsOf(below, node);
  return { place: { node }, path, ...(route ? { route } : {}), ...(verb ? { verb } : {}) };
}

/** `/plan`, `/history/NAME` and `/undo/NAME` belong to placements, and are no resources of the Kubernetes API. A plan changes nothing, and shows what a write would do. */
function planParts(rest: string, group: string, resource: string, owner: string): Omit<Parts, 'place'> {
  const [, verb, name = owner] = /^\/(plan|history|undo)(?:\/(.*))?$/.exec(rest) ?? [];
  if (verb === undefined) return { path: rest };
  const isPlan = verb === 'plan';
  const route = { of: { group, resource }, namespace: '', name: isPlan ? owner : decodePart(name), subresource: verb };
  return { path: rest, route, verb: isPlan ? 'create' : 'get' };
}

function pathOf(encoded: string): string {
  const named = decodePart(encoded);
  return named === 'center' ? '' : named;
}
