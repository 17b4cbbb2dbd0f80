/**
 * The promises after an origin was restored from an older copy and all faults have ended.
 *
 * - Each object of the origin is at every agent that must have it, in the origin's form or in a form that the origin has lost. Exception: lost rows name
 *   other places (lost-rows.ts).
 * - An object that people have deleted since the loss is gone. Exception: a node on the way holds the object, because the placement that brought it there is
 *   lost too. A person decides about such an object.
 *
 * The result is undefined if the promises hold.
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
      // A crash may have undone the deletion itself. Then the origin has the object again.
      if (!atOrigins.has(title) && has.has(title) && !heldBack.has(title))
        return `${host.title} still has ${title}, which was deleted since the loss`;
    }
  }
  return undefined;
}

/** The titles of all objects that the origins have. */
function present(world: World): ReadonlySet<string> {
  const spaces = [...world.hosts.values()].flatMap((host) =>
    host.planned.spaces.flatMap((name) => host.spaces.get(name) ?? []),
  );
  return new Set(spaces.flatMap((space) => resources.flatMap((of) => list(space, of).map(titleOf))));
}
