/**
 * What can be said after an origin was put back to an older copy, when all is healed: whatever it has is at every agent that is to have it, if not in its
 * form then in one that the origin has lost, but where rows of what it has lost are for other places (lost-rows.ts); and what people have deleted since is
 * gone, but where a node on the way holds it back because the placement that had brought it there is lost as well: a person says then whether it goes.
 * Undefined: all is well.
 */

import { expectation, heldBy, list, resources, titleOf } from '../model/expected.ts';
import { heldOnWay } from '../model/held.ts';
import type { Releases } from '../model/releases.ts';
import type { World } from '../world.ts';
import { isTakenByLostRows } from './lost-rows.ts';

export function wrongAfterLoss(
  world: World,
  releases: Releases,
  isCutOff: (path: string) => boolean,
): string | undefined {
  const model = expectation(world, releases);
  if (!model) return 'a node does not serve';
  const atOrigins = present(world);
  for (const host of world.hosts.values()) {
    if (host.role !== 'agent' || host.isGone || isCutOff(host.path)) continue;
    const cluster = host.spaces.get('');
    if (!cluster) return `${host.title} does not run`;
    const has = heldBy(cluster);
    const heldBack = heldOnWay(world, host);
    for (const title of model.objects.get(host.path)?.keys() ?? []) {
      if (!has.has(title) && !isTakenByLostRows(world, host, title)) return `${host.title}: ${title} is not there`;
    }
    for (const title of world.deletedSinceLoss) {
      // The deletion itself may have been lost by a crash: then the origin has the object again.
      if (!atOrigins.has(title) && has.has(title) && !heldBack.has(title))
        return `${host.title} still has ${title}, which was deleted since the loss`;
    }
  }
  return undefined;
}

/** Titles of all objects that the origins have. */
function present(world: World): ReadonlySet<string> {
  const spaces = [...world.hosts.values()].flatMap((host) =>
    host.planned.spaces.flatMap((name) => host.spaces.get(name) ?? []),
  );
  return new Set(spaces.flatMap((space) => resources.flatMap((of) => list(space, of).map(titleOf))));
}
