/**
 * The fields that a space fills in beside defaults, by the kind of space. They depend on nothing but the object, so the thread for long bodies fills them in too. The
 * thread gets the type of the space, because a function can't be sent to another thread.
 */
import type { ObjectKey } from '../../object/key.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { Filling, SpaceType } from '../space.ts';
import { shownAddresses } from './shown-address.ts';

const workload: Filling = { as: 'Workload', ...shownAddresses };
const cluster: Filling = { as: 'Cluster', fill: giveAccount };

/** How a space of this type fills in fields, as an option of the space. The other types fill in defaults alone. */
export function fillingOf(type: SpaceType): { readonly filling?: Filling } {
  if (type === 'Workload') return { filling: workload };
  return type === 'Cluster' ? { filling: cluster } : {};
}

/** An API server gives each new Pod a ServiceAccount. */
function giveAccount({ group, resource }: ObjectKey, object: KubeObject, isNew: boolean): void {
  if (!isNew || group !== '' || resource !== 'pods') return;
  const spec = (object.spec ?? {}) as { serviceAccountName?: string; serviceAccount?: string };
  spec.serviceAccountName ??= 'default';
  spec.serviceAccount ??= spec.serviceAccountName;
  object.spec = spec as NonNullable<KubeObject['spec']>;
}
