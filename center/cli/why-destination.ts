/** For `banyan why`: whether a placement matches a cluster, and which entries the inventories have about the cluster. */
import { ancestorsOf, isBelow, nameOf, parentOf, shownPath } from '../../core/identity/node-path.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { sliceName } from '../../relay/gather/status/slice-contents.ts';
import type { NodeApiClient } from './api-client.ts';
import { spaceObjects } from './object-paths.ts';

type DestinationApi = Pick<NodeApiClient, 'get' | 'list'>;

const inventory = '/apis/inventory.banyan.io/v1alpha1';
const slices = '/apis/edge.banyan.io/v1alpha1/singleplacementslices';

interface Slice extends KubeObject {
  readonly destinations?: readonly { readonly path: string; readonly locationName: string }[];
  readonly subtrees?: readonly { readonly path: string }[];
}

/** Returns, for each placement that reaches the cluster, the Locations through which the agent's parent matches it. */
export async function reaching(
  api: DestinationApi,
  context: string,
  at: string,
  placements: readonly string[],
): Promise<Map<string, string[]>> {
  const all = (await api.list(context, slices)) as Slice[];
  const found = placements.map((placement): [string, string[]] => [
    placement,
    all
      .filter(({ metadata }) => isSliceOf(metadata.name ?? '', placement))
      .flatMap(({ destinations = [] }) => destinations.filter(({ path }) => path === at))
      .map(({ locationName }) => locationName),
  ]);
  return new Map(found.filter(([, locations]) => locations.length > 0));
}

/** Returns the placements of a space that match the cluster, or something in a subtree of the cluster that this node does not know one by one. */
export async function mayReach(
  api: Pick<NodeApiClient, 'list'>,
  context: string,
  at: string,
  placements: readonly KubeObject[],
): Promise<KubeObject[]> {
  if (placements.length === 0) return [];
  const all = (await api.list(context, slices)) as Slice[];
  const near = all.filter(
    ({ destinations = [], subtrees = [] }) =>
      destinations.some(({ path }) => path === at) || subtrees.some(({ path }) => isBelow(at, path)),
  );
  return placements.filter(({ metadata }) =>
    near.some((slice) => isSliceOf(slice.metadata.name ?? '', metadata.name ?? '')),
  );
}

/**
 * Compares the names of a slice and a placement. Nothing else shows which placement a slice belongs to: a label has no room for a placement's name of more
 * than 63 characters, and if this node only shows a placement from above, the slices of the placement have no owner.
 */
function isSliceOf(slice: string, placement: string): boolean {
  const stem = sliceName(placement, '');
  return slice.startsWith(stem) && /^\d+$/.test(slice.slice(stem.length));
}

/** Returns one line for each entry about the cluster in the inventories of the nodes above. */
export async function inventoryLines(api: DestinationApi, at: string): Promise<string[]> {
  return [await systemLine(api, `node/${shownPath(parentOf(at))}`, at), ...(await standInLines(api, at))];
}

/** Returns one line for each SyncTarget of an inventory space that represents the cluster. */
export async function standInLines(api: DestinationApi, at: string): Promise<string[]> {
  return (await Promise.all(ancestorsOf(at).map((node) => spaceLines(api, shownPath(node), at)))).flat();
}

async function systemLine(api: DestinationApi, context: string, at: string): Promise<string> {
  const name = nameOf(at);
  const [location, target] = await Promise.all([
    api.get(context, `${inventory}/locations/${name}`),
    api.get(context, `${inventory}/synctargets/${name}`),
  ]);
  if (!location) return `${context}: there is no Location for it`;
  return `${context}: ${locationText(location, target)}`;
}

async function spaceLines(api: DestinationApi, node: string, at: string): Promise<string[]> {
  const all = await api.list(`node/${node}`, spaceObjects);
  const named = all.filter(({ spec }) => (spec as { type?: string } | undefined)?.type === 'Inventory');
  const lines = await Promise.all(named.map(({ metadata }) => spaceLine(api, `space/${node}/${metadata.name}`, at)));
  return lines.flat();
}

async function spaceLine(api: DestinationApi, context: string, at: string): Promise<string[]> {
  const [targets, locations] = await Promise.all([
    api.list(context, `${inventory}/synctargets`),
    api.list(context, `${inventory}/locations`),
  ]);
  const its = targets.filter(({ spec }) => (spec as { attachTo?: string } | undefined)?.attachTo === at);
  return its.map((target) => {
    const namesake = locations.find(({ metadata }) => metadata.name === target.metadata.name);
    const others = locations.some(({ spec }) => (spec as { instanceSelector?: object } | undefined)?.instanceSelector);
    const none = others ? 'selected by a Location with an instanceSelector, or by none' : 'no Location selects it';
    const text = namesake ? locationText(namesake, target) : none;
    return `${context}: SyncTarget ${target.metadata.name} stands for it: ${text}`;
  });
}

/** The labels of a Location, and the settings that keep placements away from the cluster. */
function locationText(location: KubeObject, target: KubeObject | undefined): string {
  const { unschedulable, evictAfter } = (target?.spec ?? {}) as { unschedulable?: boolean; evictAfter?: string };
  const labels = `its Location ${location.metadata.name} has the labels ${JSON.stringify(location.metadata.labels ?? {})}`;
  const cordon = unschedulable ? '; its SyncTarget has spec.unschedulable, so it gets no new placements' : '';
  const eviction = evictAfter === undefined ? '' : `; spec.evictAfter of its SyncTarget is ${evictAfter}`;
  return `${labels}, beside those that it inherits from the relays above${cordon}${eviction}`;
}
