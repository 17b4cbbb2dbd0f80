/**
 * Decides whether an object has a volume that only one node at a time may write. Two copies of this object must not run at the same time.
 * https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes
 */
import type { KubeObject } from '../object/meta.ts';

const once: ReadonlySet<unknown> = new Set(['ReadWriteOnce', 'ReadWriteOncePod']);

export function carriesOnce(object: KubeObject): boolean {
  const group = object.apiVersion.split('/').length > 1 ? object.apiVersion.split('/')[0] : '';
  if (group === '' && object.kind === 'PersistentVolumeClaim') return isOnce(object.spec);
  if (group !== 'apps' || object.kind !== 'StatefulSet') return false;
  const { volumeClaimTemplates } = (object.spec ?? {}) as { volumeClaimTemplates?: readonly { spec?: unknown }[] };
  return Array.isArray(volumeClaimTemplates) && volumeClaimTemplates.some((template) => isOnce(template?.spec));
}

function isOnce(spec: unknown): boolean {
  const { accessModes } = (spec ?? {}) as { accessModes?: unknown };
  return Array.isArray(accessModes) && accessModes.some((mode) => once.has(mode));
}
