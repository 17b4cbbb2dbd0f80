/**
 * `banyan undo epl/NAME`: writes the objects of a promoted revision back into the space, as ordinary changes with the user's rights. So the placement's waves apply, and
 * the undo is a revision itself.
 */
import { formatGroupResource, type ObjectKey } from '../../core/object/key.ts';
import { type KubeObject, parseApiVersion } from '../../core/object/meta.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Undo } from '../../relay/history/undo.ts';
import { shownKey } from '../../relay/plan/object-preview.ts';
import type { NodeApiClient, WriteMethod } from './api-client.ts';
import { collectionPath, type FoundResource, objectPath } from './resources.ts';

export interface UndoQuestion {
  /** `space/center/retail` */
  readonly space: string;
  readonly name: string;
  readonly to?: number;
  /** Also delete objects that the revision does not have. */
  readonly prune: boolean;
  readonly dryRun: boolean;
}

type UndoApi = Pick<NodeApiClient, 'ask' | 'get' | 'write'>;

interface Write {
  readonly key: ObjectKey;
  readonly method: WriteMethod;
  readonly path: string;
  readonly object: KubeObject;
}

/** The annotations that only the space knows stay as they are (relay/spaces/payload.ts). */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';
/** Other objects need these, so they are written first. */
const first = ['namespaces', 'customresourcedefinitions.apiextensions.k8s.io', 'customizers.edge.banyan.io'];
/** Deleting one of these deletes everything in it. `--prune` leaves them. */
const neverPruned = new Set(['namespaces', 'customresourcedefinitions.apiextensions.k8s.io']);

/** Checks all writes by dry runs first. If the space refuses one of them, nothing is written. */
export async function undo(api: UndoApi, { space, name, to, prune, dryRun }: UndoQuestion): Promise<string[]> {
  const url = `/undo/${encodeURIComponent(name)}${to === undefined ? '' : `?to=${to}`}`;
  const found = await api.ask<Undo>(space, url);
  const restored = await Promise.all(found.write.map((one) => writeOf(api, space, one)));
  const { pruned, left } = await extraOf(api, space, prune ? found.extra : []);
  const kept = prune ? left : found.extra;
  const writes = [...restored].sort((a, b) => rankOf(a.key) - rankOf(b.key)).concat(pruned);
  const notes = kept.map(
    (key) => `${shownKey(key)} stays: revision ${found.to} does not have it${prune ? '' : '; --prune deletes it'}`,
  );
  if (writes.length === 0) return [`EdgePlacement ${name}: its objects are as in revision ${found.to}`, ...notes];
  for (const write of writes) {
    if (!isInNewNamespace(write, writes)) await send(api, space, write, '?dryRun=All&fieldManager=banyan-undo');
  }
  const lines = writes.map(({ key, method }) => `${shownKey(key)} ${doneWords[method]}${dryRun ? ' (dry run)' : ''}`);
  if (!dryRun) for (const write of writes) await send(api, space, write, '?fieldManager=banyan-undo');
  return [`EdgePlacement ${name}: back to the objects of revision ${found.to}`, ...lines, ...notes];
}

const doneWords: Readonly<Record<WriteMethod, string>> = {
  POST: 'created',
  PUT: 'written',
  PATCH: 'patched',
  DELETE: 'deleted',
};

async function writeOf(
  api: UndoApi,
  space: string,
  { key, object }: { readonly key: ObjectKey; readonly object: KubeObject },
): Promise<Write> {
  const resource = resourceOf(key, object);
  const path = objectPath(resource, key.namespace, key.name);
  const live = await api.get(space, path);
  if (!live) return { key, method: 'POST', path: collectionPath(resource, key.namespace), object };
  return { key, method: 'PUT', path, object: replaced(live, object) };
}

/** The present object with the content of the revision. What only the space knows stays: finalizers, owners, the version that was read. */
function replaced(live: KubeObject, object: KubeObject): KubeObject {
  const { labels: _labels, annotations = {}, managedFields: _fields, ...metadata } = live.metadata;
  const kept = annotations[lastApplied] === undefined ? {} : { [lastApplied]: annotations[lastApplied] };
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(object.metadata.labels ? { labels: object.metadata.labels } : {}),
      annotations: { ...object.metadata.annotations, ...kept },
    },
    ...(live.status === undefined ? {} : { status: live.status }),
  };
}

async function extraOf(
  api: UndoApi,
  space: string,
  keys: readonly ObjectKey[],
): Promise<{ pruned: Write[]; left: ObjectKey[] }> {
  const pruned: Write[] = [];
  const left: ObjectKey[] = [];
  for (const key of keys) {
    const resource = neverPruned.has(formatGroupResource(key)) ? undefined : await served(api, space, key);
    const path = resource && objectPath(resource, key.namespace, key.name);
    const live = path === undefined ? undefined : await api.get(space, path);
    if (!path || !live) left.push(key);
    else {
      const { uid, resourceVersion } = live.metadata;
      const options = {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        metadata: {},
        preconditions: { uid, resourceVersion },
      };
      pruned.push({ key, method: 'DELETE', path, object: options as unknown as KubeObject });
    }
  }
  return { pruned, left };
}

/** The resource in the version that the space prefers. */
async function served(api: UndoApi, space: string, key: ObjectKey): Promise<FoundResource | undefined> {
  const namespaced = key.namespace !== '';
  if (key.group === '') return { ...key, version: 'v1', namespaced };
  const group = (await api.get(space, `/apis/${key.group}`)) as { preferredVersion?: { version: string } } | undefined;
  const version = group?.preferredVersion?.version;
  return version === undefined ? undefined : { ...key, version, namespaced };
}

function resourceOf(key: ObjectKey, { apiVersion }: KubeObject): FoundResource {
  return { ...key, version: parseApiVersion(apiVersion).version, namespaced: key.namespace !== '' };
}

/** Throws an error that says which object was refused, and what was written before. */
async function send(api: UndoApi, space: string, { key, method, path, object }: Write, query: string): Promise<void> {
  const answer = await api.write(space, method, `${path}${query}`, object);
  if ('object' in answer) return;
  const { code, message } = answer.refused;
  const state = query.includes('dryRun')
    ? 'nothing was written'
    : 'the objects before it in the order of this command were written; run the command again';
  throw new BanyanError(code, `${space}: ${shownKey(key)} can't be written back: ${message} (${state})`);
}

/** A dry run of such an object would fail, because the Namespace is not there yet. */
function isInNewNamespace({ key }: Write, writes: readonly Write[]): boolean {
  return writes.some(
    (one) => one.method === 'POST' && formatGroupResource(one.key) === 'namespaces' && one.key.name === key.namespace,
  );
}

function rankOf(key: ObjectKey): number {
  const rank = first.indexOf(formatGroupResource(key));
  return rank < 0 ? first.length : rank;
}
