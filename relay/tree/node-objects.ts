/**
 * What a node shows of itself and its neighbours as Node and Mailbox objects in its system space. Written when something changed, at
 * most once an interval: people and scripts look at them, nothing in the mesh depends on them.
 */
import type { Space } from '../../core/apiserver/space.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import type { KubeObject } from '../../core/object/meta.ts';

export interface NodeStatus {
  readonly version: string;
  /** Of the session with the parent; the root has none. */
  readonly session?: { readonly state: 'Connected' | 'Disconnected'; readonly since?: string };
  readonly lag?: { readonly entries: number };
  /** Destinations at and below the node. */
  readonly agents: number;
  readonly children?: number;
}

export interface MailboxStatus {
  readonly head: number;
  readonly acknowledged: number;
  readonly backlogEntries: number;
  readonly backlogBytes: number;
}

export type NodeRole = 'Center' | 'Relay' | 'Agent';

const apiVersion = 'mesh.banyan.io/v1alpha1';

/** A name of Kubernetes for a path: `eu.paris`, `center`. */
export function objectName(path: string): string {
  return path === '' ? 'center' : path.replaceAll(':', '.');
}

export function showNode(space: Space, path: string, role: NodeRole, status: NodeStatus): void {
  show(space, { apiVersion, kind: 'Node', metadata: { name: objectName(path) }, spec: { path, role }, status });
}

export function showMailbox(space: Space, child: string, path: string, status: MailboxStatus): void {
  show(space, { apiVersion, kind: 'Mailbox', metadata: { name: child }, spec: { path }, status });
}

export function hide(space: Space, kind: 'Node' | 'Mailbox', name: string): void {
  const key = space.keyOf({ apiVersion, kind, metadata: { name } });
  if (space.get(key)) space.delete(key);
}

/** Creates the object, or brings its status to what it is now; an unchanged status is no write. */
function show(space: Space, object: KubeObject): void {
  const key = space.keyOf(object);
  const before = space.get(key) ?? space.create(object);
  if (stableStringify(before.status ?? {}) === stableStringify(object.status)) return;
  space.update({ ...before, status: object.status }, { subresource: 'status' });
}
