/** `banyan release PATH`: says what a node keeps although its parent lacks it, and lets it go; see relay/guard/. */
import { setTimeout as wait } from 'node:timers/promises';
import type { KubeObject } from '../../core/object/meta.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import { objectName } from '../../relay/tree/node-objects.ts';
import { ancestors } from '../topology/plan.ts';
import type { ApiClient } from './api-client.ts';

interface Shown {
  held?: { entries: number; since: string; token: string; sample: string[] };
  rolledBack?: { source: string; had: number; seen: number; since: string; token: string }[];
}

const nodes = '/apis/mesh.banyan.io/v1alpha1/nodes';
const lookEveryMs = 500;
/** Down the path, deleted, and told upwards: each some seconds at the most. */
const withinMs = 60_000;

export async function release(
  api: ApiClient,
  path: string,
  dryRun: boolean,
  say: (line: string) => void,
): Promise<void> {
  const context = await contextOf(api, path);
  const tokens = describe(await shown(api, context, path), path, say);
  if (dryRun || tokens.length === 0) return;
  const deadlineMs = Date.now() + withinMs;
  for (const token of tokens) {
    await ask(api, context, path, token);
    while (tokensOf(await shown(api, context, path)).includes(token)) {
      if (Date.now() > deadlineMs)
        throw new BanyanError(
          'Timeout',
          `${path || 'center'} has not answered; the release stands, and is done when it is reached`,
        );
      await wait(lookEveryMs);
    }
  }
  say('released');
}

function describe({ held, rolledBack = [] }: Shown, path: string, say: (line: string) => void): string[] {
  const name = path === '' ? 'center' : path;
  for (const { source, had, seen, since } of rolledBack) {
    say(`${name}: ${source} was emptied or put back: it had revision ${had}, ${seen} has been seen below (${since})`);
  }
  if (held) {
    say(`${name}: ${held.entries} entries are kept since ${held.since} although the parent lacks them, among them`);
    for (const key of held.sample) say(`  ${key}`);
  }
  const tokens = tokensOf({ rolledBack, ...(held ? { held } : {}) });
  if (tokens.length === 0) say(`${name}: nothing is held`);
  return tokens;
}

function tokensOf({ held, rolledBack = [] }: Shown): string[] {
  return [...rolledBack.map(({ token }) => token), ...(held ? [held.token] : [])];
}

/** The node's own API, or the nearest above it that answers and shows the node. */
async function contextOf(api: ApiClient, path: string): Promise<string> {
  const known = new Set(api.contexts());
  const contexts = [path, ...ancestors(path).reverse()].map((at) => `node/${at === '' ? 'center' : at}`);
  let reason = 'no node of the kubeconfig shows it';
  for (const context of contexts.filter((one) => known.has(one))) {
    try {
      if (await api.get(context, `${nodes}/${objectName(path)}`)) return context;
    } catch (error) {
      reason = describeError(error);
    }
  }
  throw new BanyanError('NotFound', `there is no node "${path}" here: ${reason}; banyan tree lists them`);
}

async function shown(api: ApiClient, context: string, path: string): Promise<Shown> {
  const node = await api.get(context, `${nodes}/${objectName(path)}`);
  return (node?.status ?? {}) as Shown;
}

async function ask(api: ApiClient, context: string, path: string, token: string): Promise<KubeObject> {
  const name = objectName(path);
  const node = { apiVersion: 'mesh.banyan.io/v1alpha1', kind: 'Node', metadata: { name }, spec: { release: token } };
  return api.apply(context, `${nodes}/${name}`, node);
}
