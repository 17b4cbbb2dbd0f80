/** Makes planned objects in the form of Kubernetes, and writes them as people do. */
import type { Space } from '../../../core/apiserver/space.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { celOf } from '../model/match.ts';
import type { PlannedObject, PlannedPlacement } from '../plan/action.ts';
import { withoutOrder } from '../plan/tree.ts';

export const edgeVersion = 'edge.banyan.io/v1alpha1';
export const meshVersion = 'mesh.banyan.io/v1alpha1';
export const inventoryVersion = 'inventory.banyan.io/v1alpha1';

export function put(space: Space, object: KubeObject): void {
  const { namespace } = object.metadata;
  if (namespace !== undefined) {
    const container = bare('v1', 'Namespace', namespace);
    if (!space.get(space.keyOf(container))) space.create(container);
  }
  const before = space.get(space.keyOf(object));
  if (!before) space.create(object);
  else space.update({ ...object, metadata: { ...before.metadata, labels: object.metadata.labels ?? {} } });
}

/** Applies the object like `kubectl apply --server-side`: removes fields that were applied before and are missing now. */
export function apply(space: Space, object: KubeObject): void {
  const { namespace } = object.metadata;
  if (namespace !== undefined) {
    const container = bare('v1', 'Namespace', namespace);
    if (!space.get(space.keyOf(container))) space.create(container);
  }
  space.apply(structuredClone(object), { fieldManager: 'people', force: true });
}

/** Writes the status of a RolloutGate, as another program would do. */
export function answer(space: Space, name: string, phase: string): void {
  const gate = { ...bare(edgeVersion, 'RolloutGate', name), spec: {} };
  const known = space.get(space.keyOf(gate)) ?? space.create(gate);
  space.update({ ...known, status: { phase } } as KubeObject, { subresource: 'status' });
}

/** Deletes the object. Returns true if it existed. */
export function remove(space: Space, object: KubeObject): boolean {
  const key = space.keyOf(object);
  if (!space.get(key)) return false;
  space.delete(key);
  return true;
}

export function bare(apiVersion: string, kind: string, name: string): KubeObject {
  return { apiVersion, kind, metadata: { name } };
}

export function objectOf({ kind, namespace, name, value, labels, padding = 0 }: PlannedObject): KubeObject {
  const metadata = { name, namespace, labels: { ...labels } };
  if (kind === 'ConfigMap')
    return {
      apiVersion: 'v1',
      kind,
      metadata,
      data: { value, ...(padding > 0 ? { padding: paddingOf(value, padding) } : {}) },
    };

  const app = { app: name };
  const template = {
    metadata: { labels: app },
    spec: { containers: [{ name: 'main', image: `example.com/${value}` }] },
  };
  return { apiVersion: 'apps/v1', kind, metadata, spec: { replicas: 1, selector: { matchLabels: app }, template } };
}

export function placementOf({
  name,
  selectors,
  expression,
  namespaces,
  resources,
  only,
}: PlannedPlacement): KubeObject {
  const item = {
    apiGroup: '*',
    resources: [...resources],
    namespaces: [...namespaces],
    ...(only ? { labelSelectors: [{ matchLabels: { ...only } }] } : {}),
  };
  const spec = {
    locationSelectors: structuredClone(selectors),
    ...(expression ? { locationExpression: celOf(expression) } : {}),
    downsync: [item],
    move: withoutOrder,
  };
  return { apiVersion: edgeVersion, kind: 'EdgePlacement', metadata: { name }, spec } as KubeObject;
}

/** A text of this length, which differs for each value. */
function paddingOf(value: string, bytes: number): string {
  return `${value} `.repeat(Math.ceil(bytes / (value.length + 1))).slice(0, bytes);
}
