/**
 * `banyan approve-deletions PATH`: shows the entries that a node holds although its parent lacks them, and approves the deletion of these entries. See
 * relay/guard/.
 */

import { setTimeout as wait } from 'node:timers/promises';
import { ancestorsOf, objectName, shownPath } from '../../core/identity/node-path.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import type { NodeApiClient as Client } from './api-client.ts';
import { nodeContexts } from './node-contexts.ts';
import { nodeObject, nodeObjects } from './object-paths.ts';

interface HeldEntries {
  entries: number;
  since: string;
  token: string;
  sample: string[];
}

interface ShownNodeAlarms {
  held?: HeldEntries;
  /** The entries that are held in the node's mailbox. The parent reports these. */
  heldInMailbox?: HeldEntries;
  rolledBack?: { source: string; had: number; seen: number; since: string; token: string }[];
}

type NodeApiClient = Pick<Client, 'contexts' | 'get' | 'apply'>;

const lookEveryMs = 500;
/** Longest wait. The way of the approval down the path, the deletion, and the report upwards need some seconds each. */
const withinMs = 60_000;

export async function approveDeletions(
  api: NodeApiClient,
  path: string,
  dryRun: boolean,
  print: (line: string) => void,
): Promise<void> {
  const context = await contextOf(api, path);
  const alarms = await alarmsOf(api, context, path);
  const parent = await parentOf(api, path, context);
  const inMailbox = parent === undefined ? undefined : (await alarmsOf(api, parent, path)).heldInMailbox;
  const tokens = describe({ ...alarms, ...(inMailbox ? { heldInMailbox: inMailbox } : {}) }, path, print);
  if (dryRun) return;
  for (const token of tokens)
    await approveOne(api, parent !== undefined && token === inMailbox?.token ? parent : context, path, token);
  if (tokens.length > 0) print('deletions approved');
}

async function approveOne(api: NodeApiClient, context: string, path: string, token: string): Promise<void> {
  const deadlineMs = Date.now() + withinMs;
  await ask(api, context, path, token);
  while (tokensOf(await alarmsOf(api, context, path)).includes(token)) {
    if (Date.now() > deadlineMs)
      throw new BanyanError(
        'Timeout',
        `${shownPath(path)} has not answered; the approval is stored and takes effect when ${shownPath(path)} is reached`,
      );
    await wait(lookEveryMs);
  }
}

function describe(
  { held, heldInMailbox, rolledBack = [] }: ShownNodeAlarms,
  path: string,
  print: (line: string) => void,
): string[] {
  const name = shownPath(path);
  for (const { source, had, seen, since } of rolledBack) {
    print(
      `${name}: ${source} was emptied or restored from an older copy: it had revision ${had}, ${seen} has been seen below (${since})`,
    );
  }
  const sampled = (what: HeldEntries, message: string) => {
    print(`${name}: ${what.entries} entries are held since ${what.since}${message}`);
    for (const key of what.sample) print(`  ${key}`);
  };
  if (held) sampled(held, ': the parent lacks them. Some of them:');
  if (heldInMailbox)
    sampled(heldInMailbox, ' in its mailbox: the relay reports fewer Locations. They belong to these placements:');
  const tokens = tokensOf({ rolledBack, ...(held ? { held } : {}), ...(heldInMailbox ? { heldInMailbox } : {}) });
  if (tokens.length === 0) print(`${name}: nothing is held`);
  return tokens;
}

function tokensOf({ held, heldInMailbox, rolledBack = [] }: ShownNodeAlarms): string[] {
  return [...rolledBack, ...(held ? [held] : []), ...(heldInMailbox ? [heldInMailbox] : [])].map(({ token }) => token);
}

/**
 * The context of the parent: only the parent knows the entries that are held in the mailbox. Undefined: the parent does not answer, or the parent is the node
 * `found`.
 */
async function parentOf(api: NodeApiClient, path: string, found: string): Promise<string | undefined> {
  const above = ancestorsOf(path).at(-1);
  const context = above === undefined ? undefined : (await shownAt(api, above, path)).context;
  return context === found ? undefined : context;
}

/** The context of the node. If the node does not answer, the context of the nearest node above it that answers and shows the node. */
async function contextOf(api: NodeApiClient, path: string): Promise<string> {
  let reason = 'no node of the kubeconfig shows it';
  for (const at of [path, ...ancestorsOf(path).reverse()]) {
    const { context, failure } = await shownAt(api, at, path);
    if (context !== undefined) return context;
    reason = failure ?? reason;
  }
  throw new BanyanError('NotFound', `there is no node "${path}" here: ${reason}; for a list: ${cliCommand('tree')}`);
}

/** Among the replicas of the node `at`, the context of the one to which `path` is attached, or else of the first one that shows `path`. */
async function shownAt(
  api: NodeApiClient,
  at: string,
  path: string,
): Promise<{ readonly context?: string; readonly failure?: string }> {
  const exact = `node/${shownPath(at)}`;
  const known = api.contexts();
  const contexts = [...new Set([exact, ...nodeContexts(known, at)])].filter((one) => known.includes(one));
  let first: string | undefined;
  let failure: string | undefined;
  for (const context of contexts) {
    try {
      const node = await api.get(context, nodeObject(path));
      if (!node) continue;
      const { session } = (node.status ?? {}) as { session?: { state?: string } };
      if (session?.state === 'Connected') return { context };
      first ??= context;
    } catch (error) {
      failure = describeError(error);
    }
  }
  return { ...(first === undefined ? {} : { context: first }), ...(failure === undefined ? {} : { failure }) };
}

async function alarmsOf(api: NodeApiClient, context: string, path: string): Promise<ShownNodeAlarms> {
  const node = await api.get(context, nodeObject(path));
  return (node?.status ?? {}) as ShownNodeAlarms;
}

async function ask(api: NodeApiClient, context: string, path: string, token: string): Promise<KubeObject> {
  const name = objectName(path);
  const node = {
    apiVersion: 'mesh.banyan.io/v1alpha1',
    kind: 'Node',
    metadata: { name },
    spec: { approveHeldDeletions: token },
  };
  return api.apply(context, `${nodeObjects}/${name}`, node);
}
