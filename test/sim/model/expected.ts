/**
 * Computes by brute force the objects that should be at each agent: every placement of every space against every place, and every object against every
 * placement. The model reads the objects that people wrote, at the nodes where they wrote them. It reads nothing that the mesh has made.
 */
import type { Space } from '../../../core/apiserver/space.ts';
import { stableStringify } from '../../../core/object/canonical.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { Rows } from '../check/rows.ts';
import type { Host } from '../host.ts';
import type { Labels, Selector } from '../plan/action.ts';
import { keepsLast, orderedNamespace } from '../plan/ordered.ts';
import { sourceOf } from '../plan/tree.ts';
import type { World } from '../world.ts';
import { madeFor, type Place } from './made.ts';
import { holds, matches, matchesAny } from './match.ts';
import { absent, handed, type Releases } from './releases.ts';

export interface ModelPlacement {
  readonly host: Host;
  readonly space: string;
  readonly object: KubeObject;
  /** Paths of the agents that the placement names. */
  readonly agents: readonly string[];
  /** Agents that can't run all of their objects. */
  readonly broken: readonly string[];
  /** True: only a part of the agents has a release of the placement, so the last reports about the other objects are older. */
  readonly isUnfinished: boolean;
  /** The objects at each agent, customized for the agent. */
  readonly delivered: readonly Delivered[];
}

export interface Delivered {
  readonly place: Place;
  readonly object: KubeObject;
}

export interface Expectation {
  /** The content of each object (see contentOf), keyed by agent, then by `kind namespace/name`. */
  readonly objects: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly placements: readonly ModelPlacement[];
  /** Namespaces whose objects wait for a copy at another place that will never exist. */
  readonly waiting: ReadonlySet<string>;
}

interface DownsyncItem {
  readonly resources: readonly string[];
  readonly namespaces: readonly string[];
  readonly labelSelectors?: readonly Selector[];
}

/** An image that the embedded cluster can't pull. */
const brokenImage = ':broken';

/** The resources of the objects that plans write. */
export const resources = [
  { group: '', resource: 'configmaps' },
  { group: 'apps', resource: 'deployments' },
] as const;

/** Computes the expectation. Undefined: a relevant node does not serve. */
export function expectation(world: World, releases: Releases): Expectation | undefined {
  const objects = new Map<string, Map<string, string>>();
  const placements: ModelPlacement[] = [];
  const waiting = new Set<string>();
  for (const host of world.hosts.values()) {
    if (host.role === 'agent') continue;
    for (const name of host.planned.spaces) {
      const space = host.spaces.get(name);
      if (!space) return undefined;
      for (const object of list(space, { group: 'edge.banyan.io', resource: 'edgeplacements' })) {
        const places = placesOf(world, host, object);
        if (!places) return undefined;
        const selected = selectedBy(space, object);
        const customizers = list(space, { group: 'edge.banyan.io', resource: 'customizers' });
        const staged = stagedOf(world, releases, host, `${sourceOf(host.planned, name)}/${object.metadata.name}`);
        const broken: string[] = [];
        const delivered: Delivered[] = [];
        for (const place of places) {
          const made = selected.map((one) => madeFor(one, customizers, place));
          delivered.push(...made.map((one) => ({ place, object: one })));
          const of = objects.get(place.path) ?? new Map<string, string>();
          objects.set(place.path, of);
          const candidate = new Map(made.map((one) => [titleOf(one), contentOf(one)]));
          const deliveredObjects = staged?.hasCandidate(place.path) === false ? staged.promoted : candidate;
          for (const [title, content] of deliveredObjects) of.set(title, content);
          if ([...deliveredObjects.values()].some((content) => content.includes(brokenImage))) broken.push(place.path);
        }
        const agents = places.map(({ path }) => path);
        if (agents.length === 0 && keepsLast(object)) waiting.add(orderedNamespace(sourceOf(host.planned, name)));
        const isUnfinished = staged?.isUnfinished ?? false;
        placements.push({ host, space: name, object, agents, broken, isUnfinished, delivered });
      }
    }
  }
  return { objects, placements, waiting };
}

interface Staged {
  /** The promoted content of each object, keyed by title. */
  readonly promoted: ReadonlyMap<string, string>;
  readonly isUnfinished: boolean;
  hasCandidate(agent: string): boolean;
}

/** For a placement whose release is not everywhere: the agents that have the release, and the objects that the other agents should have. */
function stagedOf(world: World, releases: Releases, origin: Host, id: string): Staged | undefined {
  const { release, promoted } = releases.now(origin, id);
  if (!release || release.held === 0) return undefined;
  const versions = [...promoted].filter(([, version]) => version !== absent);
  return {
    promoted: new Map(versions.map(([key, version]) => [titleOfKey(key), version])),
    isUnfinished: release.rolledBack !== true,
    hasCandidate(path) {
      const agent = world.hosts.get(path)!;
      const to = Rows.of(world.parentOf(agent)!.rows, (rows) => handed(rows, id, agent.name));
      return release.rolledBack !== true && to === release.release;
    },
  };
}

function placesOf(world: World, origin: Host, placement: KubeObject): Place[] | undefined {
  const found: Place[] = [];
  for (const host of world.hosts.values()) {
    if (host.role !== 'agent' || !isBelow(host.path, origin.path)) continue;
    const place = placeOf(world, host);
    if (place === undefined) return undefined;
    if (place === 'unknown') continue;
    if (selects(placement.spec ?? {}, place)) found.push(place);
  }
  return found;
}

/** Whether a placement with this spec names the place. */
export function selects(spec: object, place: Place): boolean {
  const { locationSelectors = [], locationExpression: cel } = spec as {
    locationSelectors?: Selector[];
    locationExpression?: string;
  };
  const isSelected = locationSelectors.length === 0 ? cel !== undefined : matchesAny(locationSelectors, place.labels);
  return isSelected && (cel === undefined || holds(cel, place));
}

/** The place of an agent: its Location, with inherited labels, and its SyncTarget. `unknown`: the agent's parent has none. Undefined: no parent serves. */
export function placeOf(world: World, agent: Host): Place | 'unknown' | undefined {
  const parent = world.parentsOf(agent).find(({ spaces }) => spaces.has(''));
  return parent && placeAt(world, parent, agent);
}

/** The place at one of several replicas. Each replica has its own inventory objects. */
export function placeAt(world: World, parent: Host, agent: Host): Place | 'unknown' | undefined {
  const system = parent.spaces.get('');
  if (!system) return undefined;
  const [location, syncTarget] = ['locations', 'synctargets'].map((resource) =>
    system.get({ group: 'inventory.banyan.io', resource, namespace: '', name: agent.name }),
  );
  if (!location || !syncTarget) return 'unknown';
  const labels = { ...inherited(world, parent.path), ...location.metadata.labels };
  const { properties = {} } = syncTarget.spec as { properties?: Labels };
  return { path: agent.path, labels, annotations: location.metadata.annotations ?? {}, properties };
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
    writtenByPeople(space, { group, resource }).filter((object) =>
      downsync.some(
        (item) =>
          item.resources.includes(resource) &&
          item.namespaces.includes(object.metadata.namespace ?? '') &&
          (!item.labelSelectors || item.labelSelectors.some((one) => matches(one, object.metadata.labels ?? {}))),
      ),
    ),
  );
}

/** The objects of an agent's cluster in the namespaces of plans. */
export function heldBy(cluster: Space): Map<string, string> {
  const held = resources.flatMap(({ group, resource }) => writtenByPeople(cluster, { group, resource }));
  const planned = held.filter(({ metadata }) => metadata.namespace?.startsWith('w-'));
  return new Map(planned.map((object) => [titleOf(object), contentOf(object)]));
}

/** Spaces and clusters publish a ConfigMap with their authority in each namespace. It goes nowhere. */
function writtenByPeople(space: Space, of: { readonly group: string; readonly resource: string }): KubeObject[] {
  return list(space, of).filter(({ metadata }) => metadata.name !== 'kube-root-ca.crt');
}

export function list(space: Space, of: { readonly group: string; readonly resource: string }): KubeObject[] {
  return space.storage.scan(of).map((stored) => space.parse(stored));
}

/** Parses the key `o/SOURCE/GROUP/RESOURCE/NAMESPACE/NAME` of an entry. */
export function titleOfKey(key: string): string {
  const [, , , resource, namespace, name] = key.split('/');
  return `${resource === 'configmaps' ? 'ConfigMap' : 'Deployment'} ${namespace}/${name}`;
}

export function titleOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}

/** The fields of an object that a plan writes. */
export function contentOf(object: KubeObject): string {
  const { data, spec } = object as KubeObject & { data?: unknown; spec?: { template?: { spec?: unknown } } };
  const containers = (spec?.template?.spec as { containers?: { image?: string }[] } | undefined)?.containers;
  const { part } = object.metadata.labels ?? {};
  return stableStringify({ data, image: containers?.[0]?.image, part });
}

export function isBelow(path: string, above: string): boolean {
  return above === '' || path.startsWith(`${above}:`);
}
