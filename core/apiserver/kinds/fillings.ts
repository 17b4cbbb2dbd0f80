/**
 * The fields that a space fills in beside defaults, by the kind of space. They depend on nothing but the object, so the thread for long bodies fills them in too. The
 * thread gets the name of the filling, because a function can't be sent to another thread.
 */
import type { ObjectKey } from '../../object/key.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { FilledAs, Filling } from '../space.ts';
import { shownAddresses } from './shown-address.ts';

export const fillings: { readonly [as in FilledAs]: Filling } = {
  Workload: { as: 'Workload', ...shownAddresses },
  Cluster: { as: 'Cluster', fill: giveAccount },
};

/** An API server gives each new Pod a ServiceAccount. */
function giveAccount({ group, resource }: ObjectKey, object: KubeObject, isNew: boolean): void {
  if (!isNew || group !== '' || resource !== 'pods') return;
  const spec = (object.spec ?? {}) as { serviceAccountName?: string; serviceAccount?: string };
  spec.serviceAccountName ??= 'default';
  spec.serviceAccount ??= spec.serviceAccountName;
  object.spec = spec as NonNullable<KubeObject['spec']>;
}
