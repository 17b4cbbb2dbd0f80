/** The paths of the objects that commands ask a node for, at the API of its system space. */
import { objectName } from '../../core/identity/node-path.ts';

export const meshObjects = '/apis/mesh.banyan.io/v1alpha1';
export const nodeObjects = `${meshObjects}/nodes`;
export const spaceObjects = `${meshObjects}/spaces`;
export const syncTargets = '/apis/inventory.banyan.io/v1alpha1/synctargets';
export const locations = '/apis/inventory.banyan.io/v1alpha1/locations';

/** The Node object of the node at this path, or of one replica: `eu:paris~1`. */
export function nodeObject(id: string): string {
  return `${nodeObjects}/${objectName(id)}`;
}
