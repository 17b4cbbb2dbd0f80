/**
 * Invariant 12, after healing: no node prunes too much. On the way from a placement's origin to each agent that the placement names, every node has the
 * placement for the next node. The label summary of each relay includes the labels of each agent below it.
 */
import { decodeLabelSummary } from '../../../core/match/label-summary.ts';
import { moveOf, moveSpecOf } from '../../../core/move/move.ts';
import type { Host } from '../host.ts';
import type { Expectation } from '../model/expected.ts';
import { sourceOf } from '../plan/tree.ts';
import type { World } from '../world.ts';
import { Rows } from './rows.ts';

interface ReportedLabels {
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
      for (const [above, below] of hops(world, host, path, moveOf(moveSpecOf(object), false) !== undefined)) {
        // A relay reports its labels to the replica to which it is attached. The other replicas get the labels from above.
        if (below.role === 'relay' && (isOtherReplica(above) || isOtherReplica(below))) continue;
        if (!has(above, `mailbox/${below.name}`, `t/${id}`))
          return `${above.title} does not send ${id} towards ${path}`;
        const reportedLabels =
          below.role === 'relay' && place ? read(above, `reported/${below.name}`, 'labels') : undefined;
        if (place && reportedLabels && !includes(reportedLabels, place.labels)) {
          return `${below.title} does not report ${JSON.stringify(place.labels)} below it`;
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
 * The nodes of the way, as pairs of neighbours. If a path has replicas, the way uses the first replica that receives from above: each such replica has
 * everything that the nodes below need. But if the copies of a placement move in a fixed order, the replica to which the agent is attached has the placement.
 * The other replicas learn the state from the agent.
 */
function hops(world: World, from: Host, path: string, hasOrder: boolean): [Host, Host][] {
  const names = path.split(':');
  const way = names
    .map((_, index) => names.slice(0, index + 1).join(':'))
    .filter((one) => one.length > from.path.length);
  const nodes = [from, ...way.map((one) => receivingReplica(world, one))];
  const agent = nodes.at(-1)!;
  const parent = hasOrder ? world.parentOf(agent) : undefined;
  if (parent && nodes.length > 2) nodes[nodes.length - 2] = parent;
  return nodes.slice(1).map((node, index) => [nodes[index]!, node]);
}

/** The first replica of the path that receives from above. A replica whose line stays dead has only old rows, and its agents are at another replica. */
function receivingReplica(world: World, path: string): Host {
  const replicas = [...world.hosts.values()].filter((host) => host.path === path);
  return replicas.find((host) => world.receivesFromAbove(host)) ?? world.hosts.get(path)!;
}

function has(host: Host, table: string, key: string): boolean {
  return contentAt(host, table, key) !== undefined;
}

/** A liar may have reported a label summary without the form of one. Such a report includes no labels: the relay has to report again. */
function read(host: Host, table: string, key: string): ReportedLabels | undefined {
  const found = contentAt(host, table, key);
  if (!found) return undefined;
  try {
    return decodeLabelSummary(found);
  } catch {
    return {};
  }
}

/** The attributes of a row with a content. */
function contentAt(host: Host, table: string, key: string): Buffer | undefined {
  return Rows.of(host.rows, (rows) => rows.entry(table, key)?.attributes);
}

/** Whether the label summary includes the labels of the place itself. Labels that the place inherits from its relay do not count. */
export function includes({ sets, keys = {} }: ReportedLabels, labels: Labels): boolean {
  const places = sets?.flatMap((set) => [set, ...(set.others ?? [])]);
  if (!places) return Object.keys(labels).every((key) => key in keys);
  return places.some((place) => Object.entries(labels).every(([key, value]) => place.labels[key] === value));
}
