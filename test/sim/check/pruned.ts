/**
 * Invariant 12, after healing: pruning has no false negative. On the way from a placement's origin to each agent that it names, every node has the placement for
 * the next one; and what a relay says of the labels below it includes those of each agent.
 */
import { moveSpecOf } from '../../../core/move/move.ts';
import type { Host } from '../host.ts';
import type { Expectation } from '../model/expected.ts';
import { sourceOf } from '../plan/tree.ts';
import type { World } from '../world.ts';
import { Rows } from './rows.ts';

interface LabelsTold {
  readonly sets?: readonly { readonly labels: Labels; readonly others?: readonly { readonly labels: Labels }[] }[];
  readonly keys?: Readonly<Record<string, unknown>>;
}
type Labels = Readonly<Record<string, string>>;

export function prunedWrong(world: World, model: Expectation, isCutOff: (path: string) => boolean): string | undefined {
  for (const { host, space, object, delivered, agents } of model.placements) {
    const id = `${sourceOf(host.planned, space)}/${object.metadata.name}`;
    for (const path of agents) {
      if (isCutOff(path)) continue;
      const place = delivered.find((one) => one.place.path === path)?.place;
      for (const [above, below] of hops(world, host, path, moveSpecOf(object) !== undefined)) {
        // A relay says what is below it to the sibling that it is attached to, and the others hear of it from above.
        if (below.role === 'relay' && (isOtherReplica(above) || isOtherReplica(below))) continue;
        if (!has(above, `mailbox/${below.name}`, `t/${id}`))
          return `${above.title} does not send ${id} towards ${path}`;
        const told = below.role === 'relay' && place ? read(above, `reported/${below.name}`, 'labels') : undefined;
        if (place && told && !includes(told, place.labels)) {
          return `${below.title} does not tell of ${JSON.stringify(place.labels)} below it`;
        }
      }
    }
  }
  return undefined;
}

function isOtherReplica({ planned }: Host): boolean {
  return planned.replicas !== undefined;
}

/**
 * From node to node; of siblings the first that hears from above, since each of those has all that is needed below. But where copies go and come in an
 * order, that is kept by the one that has the agent, and the others hear from the agent how far it is.
 */
function hops(world: World, from: Host, path: string, hasOrder: boolean): [Host, Host][] {
  const names = path.split(':');
  const way = names
    .map((_, index) => names.slice(0, index + 1).join(':'))
    .filter((one) => one.length > from.path.length);
  const nodes = [from, ...way.map((one) => hearing(world, one))];
  const agent = nodes.at(-1)!;
  const parent = hasOrder ? world.parentOf(agent) : undefined;
  if (parent && nodes.length > 2) nodes[nodes.length - 2] = parent;
  return nodes.slice(1).map((node, index) => [nodes[index]!, node]);
}

/** A sibling whose line stays dead knows only what was before, and its agents are at another one. */
function hearing(world: World, path: string): Host {
  const siblings = [...world.hosts.values()].filter((host) => host.path === path);
  return siblings.find((host) => world.hearsFromAbove(host)) ?? world.hosts.get(path)!;
}

function has(host: Host, table: string, key: string): boolean {
  return contentAt(host, table, key) !== undefined;
}

function read(host: Host, table: string, key: string): LabelsTold | undefined {
  const found = contentAt(host, table, key);
  return found && (JSON.parse(found.toString()) as LabelsTold);
}

/** The attributes of a row that has a content. */
function contentAt(host: Host, table: string, key: string): Buffer | undefined {
  return Rows.of(host.rows, (rows) => rows.entry(table, key)?.attributes);
}

/** Those of a place, whatever else its relay inherits it. */
export function includes({ sets, keys = {} }: LabelsTold, labels: Labels): boolean {
  const places = sets?.flatMap((set) => [set, ...(set.others ?? [])]);
  if (!places) return Object.keys(labels).every((key) => key in keys);
  return places.some((place) => Object.entries(labels).every(([key, value]) => place.labels[key] === value));
}
