/** The kinds of the mesh in a space. They depend on the type of the space. */
import { customKind } from '../crd/custom-kind.ts';
import type { CustomResourceDefinition } from '../crd/definition.ts';
import type { Kind, SpaceType } from '../space.ts';
import { accessGrantDefinition } from './access-grant-kind.ts';
import { customizerDefinition } from './customizer-kind.ts';
import { edgeDefinitions } from './edge-kinds.ts';
import { inventoryDefinitions } from './inventory-kinds.ts';
import { joinTokenDefinition } from './join-token-kind.ts';
import { meshDefinitions } from './mesh-kinds.ts';
import { revocationDefinition } from './revocation-kind.ts';
import { rolloutGateDefinition } from './rollout-kinds.ts';
import { summaryDefinitions } from './summary-kinds.ts';

const definitions: { readonly [type in SpaceType]: readonly CustomResourceDefinition[] } = {
  Workload: [...edgeDefinitions, customizerDefinition, ...summaryDefinitions, rolloutGateDefinition],
  Inventory: inventoryDefinitions,
  System: [
    ...meshDefinitions,
    accessGrantDefinition,
    joinTokenDefinition,
    revocationDefinition,
    ...inventoryDefinitions,
  ],
  Cluster: [],
};

/** The definitions of all kinds of the mesh, without duplicates. */
export const ownDefinitions: readonly CustomResourceDefinition[] = [...new Set(Object.values(definitions).flat())];

const compiled = new Map<CustomResourceDefinition, Kind>();

/** The kinds of the mesh in a space of this type. Every call returns the same Kind objects, so that a process compiles their schemas only once. */
export function ownKinds(type: SpaceType): Kind[] {
  return definitions[type].map((definition) => {
    const kind = compiled.get(definition) ?? customKind(definition);
    compiled.set(definition, kind);
    return kind;
  });
}
