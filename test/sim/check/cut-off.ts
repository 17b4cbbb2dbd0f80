/** The effects of lines that stay dead: which nodes lack which entries, and which entries are still on their way elsewhere. */
import { type Expectation, titleOfKey } from '../model/expected.ts';
import { isAtOrBelow, nodeOfSource } from '../plan/tree.ts';
import type { World } from '../world.ts';
import { Rows } from './rows.ts';

/** Whether nothing can go from a node to a path any more. `from` is the center by default. */
export type IsCutOff = (path: string, from?: string) => boolean;

/** An agent that has left stays known, and silent, as long as its parent's inventory names it. A place with replicas is cut off if all replicas are. */
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
 * - In a subtree that is cut off, objects of its own origins that are no longer wanted go when the deletion arrives.
 *
 * - Entries that a liar gave to an agent go when the agent receives from its real parent again, though its cluster never had the objects.
 *
 * - Entries that a relay that is behind gives to an agent that lost its store go later.
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

/** Rows that relays keep now, of which an agent below may get unwanted ones: no node waits until a replica without children has received the change. */
export function keptByRelays(world: World): (path: string, entry: string) => boolean {
  const relays = [...world.hosts.values()].filter(({ role }) => role === 'relay');
  const kept = relays.map(({ path, rows }) => ({
    path,
    entries: new Set(Rows.of(rows, (all) => all.bodies('upstream', 'o/').keys())),
  }));
  return (path, entry) => kept.some((one) => isAtOrBelow(path, one.path) && one.entries.has(entry));
}
