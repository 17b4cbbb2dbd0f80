/**
 * The destinations of a node's configuration, as Location and SyncTarget objects. A topology is applied once for each of its changes. Changes that people
 * have made on the objects stay until the topology itself changes again.
 */
import type { Space } from '../../core/apiserver/space.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import type { InventoryEntry } from '../config/config.ts';

const apiVersion = 'inventory.banyan.io/v1alpha1';
/** The hash of the topology's entry when it was last applied. */
const appliedAnnotation = 'topology.banyan.io/applied';
const fieldManager = 'banyan-topology';

export function seedInventory(space: Space, entries: readonly InventoryEntry[]): void {
  for (const entry of entries) {
    const hash = Buffer.from(hash128(stableStringify(entry))).toString('hex');
    const { name, labels, annotations, properties } = entry;
    const target = { apiVersion, kind: 'SyncTarget', metadata: { name, labels }, spec: { properties } };
    const { metadata } = seed(space, hash, target);
    // A person who deletes the SyncTarget removes the cluster from the tree. The owner reference removes the Location as well.
    const ownerReferences = [{ apiVersion, kind: 'SyncTarget', name, uid: metadata.uid ?? '' }];
    const location = { name, labels, annotations, ownerReferences };
    seed(space, hash, { apiVersion, kind: 'Location', metadata: location, spec: {} });
  }
}

function seed(space: Space, hash: string, object: KubeObject): KubeObject {
  const before = space.get(space.keyOf(object));
  if (before?.metadata.annotations?.[appliedAnnotation] === hash) return before;
  const { metadata } = object;
  const annotations = { ...metadata.annotations, [appliedAnnotation]: hash };
  return space.apply({ ...object, metadata: { ...metadata, annotations } }, { fieldManager, force: true });
}
