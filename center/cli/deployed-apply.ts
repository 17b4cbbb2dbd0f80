/**
 * `banyan topology apply` for a tree that no supervisor runs: its API changes what it can. Persons do the rest at the places of the nodes; the command prints
 * their steps, and goes on when it is run again.
 */
import { isBelow, nameOf, parentOf, shownPath } from '../../core/identity/node-path.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { InstalledNode } from '../install/deployments.ts';
import {
  type CommandBlock,
  ending,
  installation,
  moving,
  newToken,
  ownMachine,
  renewal,
  tokenFile,
} from '../install/install-commands.ts';
import { topmost } from '../supervisor/tree-record.ts';
import { type FieldDifference, removedSpaces, type TreeDifference } from '../topology/differences.ts';
import type { PlannedNode } from '../topology/plan.ts';
import { timeToLive } from './arguments.ts';
import { changeNode, isConfigured, removeSpace } from './deployed-changes.ts';
import type { DeployedTopology } from './deployed-topology.ts';
import { drain } from './drain.ts';
import { joinToken, tokenLife } from './join-token.ts';
import { type ApplyPorts, forgetAll, untilSpacesGone } from './topology-change.ts';
import { targetsAt } from './tree-targets.ts';

/** Returns the number of steps that are left for persons. Each step of the command leaves a state from which the next call goes on. */
export async function applyDeployed(deployed: DeployedTopology, timeoutMs: number, ports: ApplyPorts): Promise<number> {
  const { api, differences } = deployed;
  const of = (...actions: readonly TreeDifference['action'][]) =>
    differences.filter(({ action }) => actions.includes(action));
  checkRemovable(of('remove'), deployed);
  let left = 0;
  const step = (title: string, blocks: readonly CommandBlock[]) => {
    left++;
    for (const line of stepLines(title, blocks)) ports.print(line);
  };
  for (const one of of('change')) await change(one, deployed, timeoutMs, ports, step);
  for (const one of of('add', 'move')) await admit(one, deployed, ports, step);
  for (const { path } of of('join')) {
    const node = installedAt(deployed, path);
    step(`${path} is admitted, and has not joined. If its token is lost or too old:`, [
      newToken(node, '--again'),
      installation(node, folder),
    ]);
  }
  await forgetAll(
    api,
    of('withdraw').map(({ path }) => path),
    ports,
  );
  await removeAll(of('remove'), deployed, timeoutMs, ports, step);
  return left;
}

type Step = (title: string, blocks: readonly CommandBlock[]) => void;

/** The rendered folder, in commands. */
const folder = 'DIR';

function stepLines(title: string, blocks: readonly CommandBlock[]): string[] {
  return ['', title, ...blocks.flatMap(({ at, commands }) => [`  # ${at}`, ...commands.map((line) => `  ${line}`)])];
}

function installedAt({ installed }: DeployedTopology, path: string): InstalledNode {
  return installed.find(({ node }) => node.path === path)!;
}

async function change(
  difference: TreeDifference,
  deployed: DeployedTopology,
  timeoutMs: number,
  ports: ApplyPorts,
  step: Step,
): Promise<void> {
  const { api, seen } = deployed;
  const { path, fields } = difference;
  await changeNode(api, difference, ports.warn);
  const seenNode = seen.nodes.find((node) => node.path === path);
  const removed = fields.flatMap(removedSpaces);
  const configured = removed.filter((space) => isConfigured(seenNode, space));
  const own = removed.filter((space) => !configured.includes(space));
  for (const space of own) await removeSpace(api, path, space);
  await untilSpacesGone(
    api,
    own.map((space) => ({ path, space })),
    timeoutMs,
    ports,
  );
  const isRelabelled = difference.role !== 'agent' && fields.some(({ field }) => field === 'labels');
  const settings = [...(isRelabelled ? ['labels'] : []), ...configured.map((space) => `the space ${space}`)];
  if (settings.length > 0) {
    step(`${shownPath(path)}: its configuration has ${settings.join(', ')}. Give it the new one:`, [
      renewal(installedAt(deployed, path), folder),
    ]);
  }
}

/** Admits a node at its parent, and prints its token. A node below one that has not joined has to wait. */
async function admit(difference: TreeDifference, deployed: DeployedTopology, ports: ApplyPorts, step: Step) {
  const { api, seen, wanted } = deployed;
  const { action, path, from } = difference;
  const parent = seen.nodes.find((node) => node.path === parentOf(path));
  if (parent?.state !== 'Connected') {
    step(`${path} is admitted when ${parentOf(path)} has joined and is connected`, []);
    return;
  }
  const node = installedAt(deployed, path);
  const known = seen.nodes.some((one) => one.path === path);
  if (known) {
    step(`${from} has not moved to ${path} yet. If its token is lost or too old:`, [
      newToken(node, '--again'),
      moving(node, from!, folder),
    ]);
    return;
  }
  const { role } = node.node;
  const asked = {
    path,
    role: role === 'relay' ? ('Relay' as const) : ('Agent' as const),
    labels: node.labels,
    hosts: node.hosts,
    again: false,
    ttlMs: timeToLive(tokenLife),
  };
  const { token } = await joinToken(api, asked, ports, ports.warn);
  await changeNode(api, { path, role, fields: settingsOf(path, wanted) }, ports.warn);
  const saved = { at: ownMachine, commands: [`echo ${token} > ${tokenFile(node)}`] };
  if (action === 'move') step(`${path} is admitted. Move ${from} there:`, [saved, moving(node, from!, folder)]);
  else step(`${path} is admitted. Install it${besides(from)}:`, [saved, installation(node, folder)]);
}

function besides(former: string | undefined): string {
  if (former === undefined) return '';
  return `, on another machine or in another namespace than ${former}, which goes on until its children have moved`;
}

/** The settings that the objects of an admitted node lack. */
function settingsOf(path: string, wanted: readonly PlannedNode[]): FieldDifference[] {
  const node = wanted.find((one) => one.path === path);
  const parent = wanted.find((one) => one.path === parentOf(path));
  const entry = parent?.inventory.find(({ name }) => name === nameOf(path));
  const fields = {
    annotations: entry?.annotations,
    properties: entry?.properties,
    claims: node?.claims,
    // The Node object of a cluster comes with its agent.
    quota: node?.role === 'relay' ? node.quota : undefined,
  };
  return Object.entries(fields).flatMap(([field, after]) =>
    after === undefined || Object.keys(after).length === 0 ? [] : [{ field, after }],
  );
}

/** Nothing is removed whose clusters nobody can ask. */
function checkRemovable(removed: readonly TreeDifference[], { seen, file }: DeployedTopology): void {
  const silent = [...seen.silent.keys()].find((path) => removed.some((one) => one.path === path));
  if (silent === undefined) return;
  throw new BanyanError(
    'Unavailable',
    `${file}: nothing was changed: ${silent} is to be removed and can't be asked (${seen.silent.get(silent)}), so nobody knows what is at its clusters; if it never comes back: ${cliCommand('remove', silent, '--orphan', '--force')}`,
  );
}

async function removeAll(
  removed: readonly TreeDifference[],
  deployed: DeployedTopology,
  timeoutMs: number,
  ports: ApplyPorts,
  step: Step,
): Promise<void> {
  const { api, differences } = deployed;
  const leaving = differences.flatMap(({ from }) => from ?? []);
  const leavingBelow = (path: string) => leaving.filter((from) => isBelow(from, path));
  const free = removed.filter(({ path }) => leavingBelow(path).length === 0);
  const paths = topmost(free.map((one) => one.path));
  // Copies elsewhere wait for those at a cluster that has never joined and matches too. So such clusters go first.
  const waiting = paths.filter((path) => !hasJoined(deployed, path));
  for (const path of [...waiting, ...paths.filter((one) => !waiting.includes(one))]) {
    const { targets } = await targetsAt(api, path);
    // A cluster whose agent has never joined has nothing to drain.
    const joined = targets.filter((one) => hasJoined(deployed, one.path));
    for (const one of new Set(joined.map((target) => target.path))) {
      ports.print(`drained: ${(await drain(api, one, timeoutMs, ports)).join(', ')}`);
    }
    await forgetAll(api, [path], ports);
  }
  for (const { path } of removed.filter((one) => !free.includes(one))) {
    step(`${path} is removed when ${leavingBelow(path).join(', ')} has moved away`, []);
  }
  for (const { path, role } of free) {
    if (hasJoined(deployed, path)) step(`${path} is removed. End it:`, [ending(path, role!)]);
  }
}

function hasJoined({ seen }: DeployedTopology, path: string): boolean {
  return seen.nodes.some((node) => node.path === path && node.state !== 'Never');
}
