/** The effects of lines that stay dead: which nodes lack which entries, and which entries are still on their way to other nodes. */
import { type Expectation, titleOfKey } from '../model/expected.ts';
import { isAtOrBelow, nodeOfSource } from '../plan/tree.ts';
import type { World } from '../world.ts';
import { Rows } from './rows.ts';

/** Whether nothing can reach the path from the node `from` any more. `from` absent: the center. */
export type IsCutOff = (path: string, from?: string) => boolean;

/** An agent that has left is still known, and silent, as long as its parent's inventory names it. A path with replicas is cut off if all its replicas are. */
export function cutOffBy(world: World, dead: readonly string[]): IsCutOff {
  const isDead = (path: string) =>
    [...world.hosts.values()].filter((host) => host.path === path).every(({ id }) => dead.includes(id));
  const deadPaths = dead.filter(isDead);
  return (path, from = '') =>
    world.hosts.get(path)?.isGone === true ||
    deadPaths.some((one) => isAtOrBelow(path, one) && !isAtOrBelow(from, one));
}

/**
 * Whether an agent may still lose an entry because of earlier requests of people:
 *
 * - In a subtree that is cut off, an object of the subtree's own origins that is no longer wanted disappears when the deletion arrives.
 *
 * - An entry that a liar gave to an agent disappears when the agent receives from its real parent again, even though its cluster never had the object.
 *
 * - A relay that is behind may give an unwanted entry to an agent that lost its store. This entry disappears when the relay has caught up.
 */
export function lateTo(
  model: Expectation,
  isCutOff: IsCutOff,
  mayHave: (path: string, entry: string) => boolean,
): (path: string, entry: string) => boolean {
  return (path, entry) => {
    const [, source = '', , resource, , name] = entry.split('/');
    if (!(isCutOff(path) || mayHave(path, entry)) || isCutOff(path, nodeOfSource(source))) return false;
    const wanted = [...(model.objects.get(path)?.keys() ?? [])];
    return resource === 'namespaces'
      ? !wanted.some((title) => title.split(' ')[1]?.startsWith(`${name}/`))
      : !wanted.includes(titleOfKey(entry));
  };
}

/** Rows that relays have now. An agent below may get an unwanted one of them: no node waits until a replica without children has received the change. */
export function keptByRelays(world: World): (path: string, entry: string) => boolean {
  const relays = [...world.hosts.values()].filter(({ role }) => role === 'relay');
  const kept = relays.map(({ path, rows }) => ({
    path,
    entries: new Set(Rows.of(rows, (all) => all.bodies('upstream', 'o/').keys())),
  }));
  return (path, entry) => kept.some((one) => isAtOrBelow(path, one.path) && one.entries.has(entry));
}
