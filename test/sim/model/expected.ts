/**
 * What ought to be at each agent, by brute force: every placement of every space against every place, every object against every placement. It reads
 * what people wrote, at the nodes where they wrote it, and nothing that the mesh made of it.
 */
import type { Space } from '../../../core/apiserver/space.ts';
import { stableStringify } from '../../../core/object/canonical.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import type { Host } from '../host.ts';
import type { Labels, Selector } from '../plan/action.ts';
import type { World } from '../world.ts';
import { holds, matches, matchesAny } from './match.ts';

export interface ModelPlacement {
  readonly host: Host;
  readonly space: string;
  readonly object: KubeObject;
  /** Paths of the agents that it names. */
  readonly agents: readonly string[];
}

export interface Expectation {
  /** By agent, then `kind namespace/name`: what an object says, see contentOf. */
  readonly objects: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly placements: readonly ModelPlacement[];
}

interface DownsyncItem {
  readonly resources: readonly string[];
  readonly namespaces: readonly string[];
  readonly labelSelectors?: readonly Selector[];
}

const resources = [
  { group: '', resource: 'configmaps' },
  { group: 'apps', resource: 'deployments' },
] as const;

/** Undefined while a node that has a say does not serve. */
export function expectation(world: World): Expectation | undefined {
  const objects = new Map<string, Map<string, string>>();
  const placements: ModelPlacement[] = [];
  for (const host of world.hosts.values()) {
    if (host.role === 'agent') continue;
    for (const name of host.planned.spaces) {
      const space = host.spaces.get(name);
      if (!space) return undefined;
      for (const object of list(space, { group: 'edge.banyan.io', resource: 'edgeplacements' })) {
        const agents = agentsOf(world, host, object);
        if (!agents) return undefined;
        placements.push({ host, space: name, object, agents });
        const selected = selectedBy(space, object);
        for (const agent of agents) {
          const of = objects.get(agent) ?? new Map<string, string>();
          objects.set(agent, of);
          for (const one of selected) of.set(titleOf(one), contentOf(one));
        }
      }
    }
  }
  return { objects, placements };
}

function agentsOf(world: World, origin: Host, placement: KubeObject): string[] | undefined {
  const spec = placement.spec as { locationSelectors?: Selector[]; locationExpression?: string };
  const { locationSelectors = [], locationExpression: cel } = spec;
  const found: string[] = [];
  for (const host of world.hosts.values()) {
    if (host.role !== 'agent' || !isBelow(host.path, origin.path)) continue;
    const labels = labelsAt(world, host);
    if (labels === undefined) return undefined;
    if (labels === 'unknown') continue;
    const isSelected = locationSelectors.length === 0 ? cel !== undefined : matchesAny(locationSelectors, labels);
    if (isSelected && (cel === undefined || holds(cel, labels))) found.push(host.path);
  }
  return found;
}

/** Of the agent's Location, with what it inherits; `unknown` if its parent has none for it. */
function labelsAt(world: World, agent: Host): Labels | 'unknown' | undefined {
  const parent = world.parentsOf(agent).find(({ spaces }) => spaces.has(''));
  const system = parent?.spaces.get('');
  if (!parent || !system) return undefined;
  const locations = list(system, { group: 'inventory.banyan.io', resource: 'locations' });
  const location = locations.find(({ metadata }) => metadata.name === agent.name);
  if (!location) return 'unknown';
  return { ...inherited(world, parent.path), ...location.metadata.labels };
}

function inherited(world: World, path: string): Labels {
  if (path === '') return {};
  const names = path.split(':');
  const above = names.map((_, i) => world.hosts.get(names.slice(0, i + 1).join(':'))!.planned.labels);
  return Object.assign({}, ...above) as Labels;
}

function selectedBy(space: Space, placement: KubeObject): KubeObject[] {
  const { downsync = [] } = placement.spec as { downsync?: DownsyncItem[] };
  return resources.flatMap(({ group, resource }) =>
    list(space, { group, resource }).filter((object) =>
      downsync.some(
        (item) =>
          item.resources.includes(resource) &&
          item.namespaces.includes(object.metadata.namespace ?? '') &&
          (!item.labelSelectors || item.labelSelectors.some((one) => matches(one, object.metadata.labels ?? {}))),
      ),
    ),
  );
}

/** What an agent's cluster has in the namespaces of plans. */
export function heldBy(cluster: Space): Map<string, string> {
  const held = resources.flatMap(({ group, resource }) => list(cluster, { group, resource }));
  const planned = held.filter(({ metadata }) => metadata.namespace?.startsWith('w-'));
  return new Map(planned.map((object) => [titleOf(object), contentOf(object)]));
}

export function list(space: Space, of: { readonly group: string; readonly resource: string }): KubeObject[] {
  return space.storage.scan(of).map((stored) => space.parse(stored));
}

function titleOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}

/** The parts that a plan writes. */
function contentOf(object: KubeObject): string {
  const { data, spec } = object as KubeObject & { data?: unknown; spec?: { template?: { spec?: unknown } } };
  const containers = (spec?.template?.spec as { containers?: { image?: string }[] } | undefined)?.containers;
  const { part } = object.metadata.labels ?? {};
  return stableStringify({ data, image: containers?.[0]?.image, part });
}

function isBelow(path: string, above: string): boolean {
  return above === '' || path.startsWith(`${above}:`);
}
