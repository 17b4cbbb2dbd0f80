/** Finds a resource by any of its names (deployment, deployments, deploy, Deployment). Uses discovery, as kubectl does. */

import type { KubeObject } from '../../core/object/meta.ts';
import { BanyanError, errorTable } from '../../core/runtime/errors.ts';
import type { NodeApiClient } from './api-client.ts';

export interface FoundResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly namespaced: boolean;
}

interface ApiGroup {
  readonly preferredVersion: { readonly groupVersion: string };
  readonly versions?: readonly { readonly groupVersion: string; readonly version: string }[];
}

interface ApiResource {
  name: string;
  singularName?: string;
  kind: string;
  namespaced: boolean;
  shortNames?: string[];
}

export async function findResource(
  api: Pick<NodeApiClient, 'get'>,
  context: string,
  word: string,
): Promise<FoundResource> {
  const lowerCaseName = word.toLowerCase();
  const groups = (await api.get(context, '/apis')) as { groups?: ApiGroup[] } | undefined;
  const versions = ['v1', ...(groups?.groups ?? []).map((group) => group.preferredVersion.groupVersion)];
  for (const groupVersion of versions) {
    const path = groupVersion === 'v1' ? '/api/v1' : `/apis/${groupVersion}`;
    const list = (await api.get(context, path)) as { resources?: ApiResource[] } | undefined;
    const [group, version] = groupVersion.includes('/') ? groupVersion.split('/') : ['', groupVersion];
    const found = list?.resources?.find((resource) => isNamed(resource, lowerCaseName, group!));
    if (found) return { group: group!, version: version!, resource: found.name, namespaced: found.namespaced };
  }
  throw new BanyanError(
    'NotFound',
    `${context} has no resource "${word}"; for a list: kubectl --context ${context} api-resources`,
  );
}

/**
 * The object, and the resource in the version in which the server has read it. A space keeps objects of some kinds in the version in which they were written,
 * and can't convert them. Undefined: there is no such object.
 */
export async function readObject(
  api: Pick<NodeApiClient, 'get'>,
  context: string,
  of: FoundResource,
  [namespace, name]: readonly [namespace: string, name: string],
): Promise<{ readonly resource: FoundResource; readonly object: KubeObject } | undefined> {
  const get = (resource: FoundResource) => api.get(context, objectPath(resource, namespace, name));
  try {
    const object = await get(of);
    return object && { resource: of, object };
  } catch (error) {
    if (!isConversionFailure(error)) throw error;
    for (const version of await otherVersions(api, context, of)) {
      const resource = { ...of, version };
      const object = await get(resource).catch((other: unknown) => {
        if (!isConversionFailure(other)) throw other;
      });
      if (object) return { resource, object };
    }
    throw error;
  }
}

/** The server can't convert the object: it answers an internal error, for which the client has several codes. */
function isConversionFailure(error: unknown): boolean {
  return error instanceof BanyanError && errorTable[error.code].http === 500;
}

async function otherVersions(
  api: Pick<NodeApiClient, 'get'>,
  context: string,
  { group, version }: FoundResource,
): Promise<string[]> {
  const { versions = [] } = ((await api.get(context, `/apis/${group}`)) ?? {}) as Partial<ApiGroup>;
  return versions.map((served) => served.version).filter((served) => served !== version);
}

/** Returns the resource of a kind, as kubectl finds it for an object of a file. Undefined: the space has no such kind. */
export async function resourceOfKind(
  api: Pick<NodeApiClient, 'get'>,
  context: string,
  apiVersion: string,
  kind: string,
): Promise<FoundResource | undefined> {
  const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const list = (await api.get(context, path)) as { resources?: ApiResource[] } | undefined;
  const found = list?.resources?.find((resource) => resource.kind === kind && !resource.name.includes('/'));
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  return found && { group, version, resource: found.name, namespaced: found.namespaced };
}

export function objectPath(of: FoundResource, namespace: string, name: string): string {
  return `${collectionPath(of, namespace)}/${encodeURIComponent(name)}`;
}

/** The path of all objects in the namespace. Without a namespace: of all objects. */
export function collectionPath({ group, version, resource, namespaced }: FoundResource, namespace?: string): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const within = namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${root}${within}/${resource}`;
}

function isNamed(resource: ApiResource, lowerCaseName: string, group: string): boolean {
  if (resource.name.includes('/')) return false;
  const names = [
    resource.name,
    resource.singularName ?? '',
    resource.kind.toLowerCase(),
    ...(resource.shortNames ?? []),
  ];
  return names.some((name) => name === lowerCaseName || (group !== '' && `${name}.${group}` === lowerCaseName));
}
