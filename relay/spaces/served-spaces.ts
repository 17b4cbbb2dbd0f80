/** Which Space objects a node can serve, and why not the others. */

import { spaceResource } from '../../core/apiserver/kinds/mesh-kinds.ts';
import type { Space, SpaceType } from '../../core/apiserver/space.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { checkDnsLabel } from '../../core/object/names.ts';

/** The node, as far as it decides which spaces it can serve. */
export interface SpaceHost {
  /** The number of replicas of the node. */
  readonly replicas?: number | undefined;
}

/** A CamelCase reason, and words for people. */
export interface Unserved {
  readonly reason: string;
  readonly message: string;
}

/** Names that the store uses for something else. */
const takenNames: readonly string[] = ['system'];

/** Undefined: the node can serve the space. */
export function whyUnserved(
  { metadata: { name = '' }, spec }: KubeObject,
  { replicas = 1 }: SpaceHost,
): Unserved | undefined {
  const { type = 'Workload', provider } = (spec ?? {}) as {
    readonly type?: string;
    readonly provider?: { readonly type?: string };
  };
  const wrong = takenNames.includes(name) ? 'the node itself has this space' : checkDnsLabel(name);
  if (wrong !== undefined)
    return { reason: 'InvalidName', message: `metadata.name: "${name}": ${wrong}: choose another name` };
  if (type === 'System') {
    return {
      reason: 'UnknownType',
      message: 'spec.type: "System" is the space of the node itself: use Workload or Inventory',
    };
  }
  if (provider?.type === 'Kubernetes') {
    return {
      reason: 'ProviderNotServed',
      message: 'spec.provider.type: "Kubernetes" is not served by this node: use Embedded',
    };
  }
  if (replicas > 1) {
    return {
      reason: 'HasReplicas',
      message: `this node has ${replicas} replicas, and each would have a space of its own: give the space to a node above`,
    };
  }
  return undefined;
}

/** The spaces of the Space objects that a node can serve, those that are being deleted too. */
export function writtenSpaces(system: Space, place: SpaceHost): { readonly name: string; readonly type: SpaceType }[] {
  return system.storage.scan(spaceResource).flatMap((stored) => {
    const object = system.parse(stored);
    if (whyUnserved(object, place)) return [];
    const { type = 'Workload' } = object.spec as { readonly type?: SpaceType };
    return [{ name: object.metadata.name!, type }];
  });
}
