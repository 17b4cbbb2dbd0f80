/**
 * `banyan user revoke NAME` and `banyan revoke PATH`: end the certificates of a user or of a node, by a Revocation. `banyan user add` and `banyan enroll` read
 * it, so that a new certificate is good.
 */

import type { RevokedSubject } from '../../core/access/revocations.ts';
import { revocationOf } from '../../core/apiserver/kinds/revocation-kind.ts';
import { ancestorsOf, parentOf, shownPath } from '../../core/identity/node-path.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { useEach } from './admission.ts';
import type { NodeApiClient } from './api-client.ts';
import { nodeContexts, nodeIn } from './node-contexts.ts';
import { meshObjects, nodeObject } from './object-paths.ts';
import type { Output } from './output.ts';
import { formatTable } from './table.ts';
import { UsageError } from './usage-error.ts';

const revocations = `${meshObjects}/revocations`;

type Api = Pick<NodeApiClient, 'contexts' | 'get' | 'apply'>;
type Subject = Pick<RevokedSubject, 'kind' | 'name'>;

/** `path`: the node at which the revocation begins; it holds there and below. */
export async function revokeUser(
  api: Api,
  name: string,
  path: string,
  clock: Clock,
  warn: (line: string) => void,
): Promise<Output> {
  const again = cliCommand('user', 'revoke', name, ...(path === '' ? [] : ['--at', path]));
  const subject = { kind: 'users', name } as const;
  const contexts = await revoke(api, contextsOf(api, [path], 'name one of its nodes with --at'), subject, {
    clock,
    warn,
    again,
  });
  const revocation = revocationOf({ ...subject, atMs: 0 }).metadata.name;
  const text = `all certificates of the user ${name} are refused at ${shownPath(path)} and below; a new one from "user add" is good`;
  return {
    data: { user: name, at: shownPath(path), revocation, contexts },
    names: [`revocation.mesh.banyan.io/${revocation}`],
    text,
    wide: formatTable(
      ['USER', 'REVOCATION', 'CONTEXT'],
      contexts.map((context) => [name, revocation, context]),
    ),
  };
}

/**
 * Returns what the person reads. The Revocation is made at every node above the revoked one. One of them is enough for the nodes below it. But a node above may
 * be unreachable now, and a node may lose its store or be restored from an older copy.
 */
export async function revokeNode(api: Api, path: string, clock: Clock, warn: (line: string) => void): Promise<string> {
  if (path === '') throw new UsageError('the center can not be revoked: change the authority of the tree');
  const contexts = contextsAbove(api, path);
  const made = await revoke(
    api,
    contexts,
    { kind: 'nodes', name: path },
    { clock, warn, again: cliCommand('revoke', path) },
  );
  const where = made.map((context) => shownPath(nodeIn(context))).join(', ');
  const remedy = `admit it again: ${cliCommand('join-token', path, '--again')} (with --relay for a relay)`;
  const parent = `node/${shownPath(parentOf(path))}`;
  // A parent that does not answer may know the node.
  const isKnown = await api.get(parent, nodeObject(path)).catch(() => true);
  if (!isKnown) warn(`${parent} knows no node "${path}": if no such node was removed, check the spelling`);
  return `all certificates of "${path}", and those that it has signed, are refused at ${where} and below; ${remedy}`;
}

/** The last revocation of the user at the center, in ms. Undefined: there is none. */
export function revokedAtMs(api: Api, name: string): Promise<number | undefined> {
  return lastRevocation(api, contextsOf(api, [''], withContext), { kind: 'users', name });
}

/** The last revocation of the node at the nodes above it, in ms. Undefined: there is none. */
export function nodeRevokedAtMs(api: Api, path: string): Promise<number | undefined> {
  return lastRevocation(api, contextsAbove(api, path), { kind: 'nodes', name: path });
}

/** Returns the contexts at which the Revocation was made. */
async function revoke(
  api: Api,
  contexts: readonly string[],
  subject: Subject,
  { clock, warn, again }: { readonly clock: Clock; readonly warn: (line: string) => void; readonly again: string },
): Promise<string[]> {
  const object = revocationOf({ ...subject, atMs: clock.wallMs() });
  const silent = new Map<string, string>();
  const made = await useEach(
    contexts.map((context) => ({ context })),
    silent,
    async ({ context }) => {
      await api.apply(context, `${revocations}/${object.metadata.name}`, object);
      return context;
    },
  );
  for (const [context, reason] of silent) {
    warn(`${context} does not have the Revocation (${reason}); when it answers: ${again}`);
  }
  return made;
}

async function lastRevocation(api: Api, contexts: readonly string[], subject: Subject): Promise<number | undefined> {
  const { name } = revocationOf({ ...subject, atMs: 0 }).metadata;
  const found = await useEach(
    contexts.map((context) => ({ context })),
    new Map(),
    ({ context }) => api.get(context, `${revocations}/${name}`),
  );
  const times = found.flatMap((one) => {
    const { issuedBefore } = ((one as KubeObject | undefined)?.spec ?? {}) as { issuedBefore?: string };
    return issuedBefore === undefined ? [] : [Date.parse(issuedBefore)];
  });
  return times.length === 0 ? undefined : Math.max(...times);
}

const withContext = 'use a kubeconfig with it, or name the data directory of the tree by --data';

/** The contexts of all nodes above the node. */
function contextsAbove(api: Api, path: string): string[] {
  return contextsOf(api, ancestorsOf(path), withContext);
}

/** The contexts of all replicas of these nodes. Throws NotFound, with the remedy, if the kubeconfig has none. */
function contextsOf(api: Api, paths: readonly string[], remedy: string): string[] {
  const contexts = paths.flatMap((path) => nodeContexts(api.contexts(), path));
  if (contexts.length > 0) return contexts;
  const [first = ''] = paths;
  throw new BanyanError('NotFound', `the kubeconfig has no context node/${shownPath(first)}: ${remedy}`);
}
