/** The held rows, as people see them, and as the disks have them. */
import type { KubeObject } from '../../../core/object/meta.ts';
import { Rows } from '../check/rows.ts';
import type { Host } from '../host.ts';
import type { World } from '../world.ts';
import { titleOfKey } from './expected.ts';

interface Shown {
  readonly held?: { readonly token: string };
  readonly heldInMailbox?: { readonly token: string };
  readonly rolledBack?: readonly { readonly token: string }[];
}

/** The name of a node's Node object. */
export function nodeName({ path, id }: Host): string {
  return path === '' ? 'center' : id.replaceAll(':', '.').replaceAll('~', '--');
}

/** Tokens of rows that the node `node` holds, as its Node object at the node `at` shows them. */
export function tokensShown(at: Host, node: Host): string[] {
  const key = { group: 'mesh.banyan.io', resource: 'nodes', namespace: '', name: nodeName(node) };
  const shown = at.spaces.get('')?.get(key) as (KubeObject & { status?: Shown }) | undefined;
  const { held, heldInMailbox, rolledBack = [] } = shown?.status ?? {};
  return [...rolledBack, ...(held ? [held] : []), ...(heldInMailbox ? [heldInMailbox] : [])].map(({ token }) => token);
}

/** The places where a person would see held rows: each node that holds rows, and each node that shows this. */
export function toRelease(world: World): { readonly node: string; readonly at: string }[] {
  const serving = [...world.hosts.values()].filter(({ role, isGone }) => role !== 'agent' && !isGone);
  return serving.flatMap((at) =>
    [...world.hosts.values()]
      .filter((node) => !node.isGone && tokensShown(at, node).length > 0)
      .map((node) => ({ node: node.id, at: at.id })),
  );
}

/** Titles of the objects that this node or a node above it holds. */
export function heldOnWay(world: World, host: Host): ReadonlySet<string> {
  return new Set([...upwards(world, host)].flatMap(heldKeys).map(titleOfKey));
}

/** Returns a message about a held row. Undefined: no node holds rows. */
export function stillHeld(world: World): string | undefined {
  for (const host of world.hosts.values()) {
    const [key] = host.isGone ? [] : heldKeys(host);
    if (key !== undefined) return `${host.title} still holds ${key}, which was released`;
  }
  return undefined;
}

/** The node and all nodes on its way up. */
function* upwards(world: World, host: Host): Generator<Host> {
  yield host;
  for (const parent of world.parentsOf(host)) yield* upwards(world, parent);
}

function heldKeys(host: Host): string[] {
  return Rows.of(host.rows, (rows) => rows.heldKeys('upstream'));
}
