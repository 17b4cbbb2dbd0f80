/** What lines that stay dead keep from whom, and what is still on its way where they do not. */
import { type Expectation, titleOfKey } from '../model/expected.ts';
import { isAtOrBelow, nodeOfSource } from '../plan/tree.ts';
import type { World } from '../world.ts';
import { Rows } from './rows.ts';

/** Whether nothing goes from a node to a path any more; `from` is the center if nobody says otherwise. */
export type IsCutOff = (path: string, from?: string) => boolean;

/** One that has left stays known for as long as its parent's inventory names it, and silent. Of siblings all have to be cut off. */
export function cutOffBy(world: World, dead: readonly string[]): IsCutOff {
  const isDead = (path: string) =>
    [...world.hosts.values()].filter((host) => host.path === path).every(({ id }) => dead.includes(id));
  const deadPaths = dead.filter(isDead);
  return (path, from = '') =>
    world.hosts.get(path)?.isGone === true ||
    deadPaths.some((one) => isAtOrBelow(path, one) && !isAtOrBelow(from, one));
}

/**
 * Whether an agent may yet lose an entry by what people asked for before. Where a subtree is cut off, nobody waits for what its own origins have for it:
 * what is not wanted there any more goes when it is heard of. What a liar gave an agent goes when it hears its parent again, though its cluster never had it; so does
 * what a relay that is behind gives to one that lost its store.
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

/** What relays keep now, of which an agent below may get what is not wanted any more: nobody waits for a sibling without children to hear what changed. */
export function keptByRelays(world: World): (path: string, entry: string) => boolean {
  const relays = [...world.hosts.values()].filter(({ role }) => role === 'relay');
  const kept = relays.map(({ path, rows }) => ({
    path,
    entries: new Set(Rows.of(rows, (all) => all.bodies('upstream', 'o/').keys())),
  }));
  return (path, entry) => kept.some((one) => isAtOrBelow(path, one.path) && one.entries.has(entry));
}
