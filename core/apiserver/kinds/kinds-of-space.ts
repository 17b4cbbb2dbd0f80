/** Which of the mesh's own kinds a space has, by its type. */
import { customKind } from '../crd/custom-kind.ts';
import type { CustomResourceDefinition } from '../crd/definition.ts';
import type { Kind } from '../space.ts';
import { customizerDefinition } from './customizer-kind.ts';
import { edgeDefinitions } from './edge-kinds.ts';
import { inventoryDefinitions } from './inventory-kinds.ts';
import { joinTokenDefinition } from './join-token-kind.ts';
import { meshDefinitions } from './mesh-kinds.ts';
import { rolloutGateDefinition } from './rollout-kinds.ts';
import { summaryDefinitions } from './summary-kinds.ts';

/** `Cluster` is an embedded edge cluster's own API: it has none of them. */
export type SpaceType = 'Workload' | 'Inventory' | 'System' | 'Cluster';

const definitions: { readonly [type in SpaceType]: readonly CustomResourceDefinition[] } = {
  Workload: [...edgeDefinitions, customizerDefinition, ...summaryDefinitions, rolloutGateDefinition],
  Inventory: inventoryDefinitions,
  System: [...meshDefinitions, joinTokenDefinition, ...inventoryDefinitions],
  Cluster: [],
};

/** Every definition of the mesh's own kinds, once. */
export const ownDefinitions: readonly CustomResourceDefinition[] = [...new Set(Object.values(definitions).flat())];

const compiled = new Map<CustomResourceDefinition, Kind>();

/** The same Kind objects each time: their schemas are compiled once per process. */
export function ownKinds(type: SpaceType): Kind[] {
  return definitions[type].map((definition) => {
    const kind = compiled.get(definition) ?? customKind(definition);
    compiled.set(definition, kind);
    return kind;
  });
}
