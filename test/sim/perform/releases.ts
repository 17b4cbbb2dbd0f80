/**
 * Approves held rows in the place of a person. Rows that a node keeps although its parent lacks them wait for an approval. In the simulation, the person
 * always approves, because no author has lost an object.
 */

import { nodeResource } from '../../../core/apiserver/kinds/mesh-kinds.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { list } from '../model/expected.ts';
import type { World } from '../world.ts';

interface Shown {
  readonly spec?: { readonly release?: string };
  readonly status?: { readonly held?: { readonly token: string } };
}

/** Approves the deletion of the rows that each Node object shows as held. */
export function releaseHeld(world: World): void {
  for (const host of world.hosts.values()) {
    const system = host.spaces.get('');
    if (!system) continue;
    for (const node of list(system, nodeResource)) {
      const { spec, status } = node as KubeObject & Shown;
      const token = status?.held?.token;
      if (token === undefined || token === spec?.release) continue;
      world.note(`${host.title}: what ${node.metadata.name} holds may go`);
      host.simProcess.run(
        () => void system.update({ ...node, spec: { ...spec, release: token } } as KubeObject),
        (error) => host.failed(error),
      );
    }
  }
}
