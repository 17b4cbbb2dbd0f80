/**
 * `banyan join-token PATH`: admits an agent or a relay that runs elsewhere, and prints a token. With the token, the node gets its certificate from its parent, once.
 * The command makes the secret of the token and stores it nowhere: the parent gets only the hash of the secret.
 */

import { hashOfSecret, newJoinToken, writeJoinToken } from '../../core/identity/join-token.ts';
import { parentOf } from '../../core/identity/node-path.ts';
import { timestamp } from '../../core/object/conditions.ts';
import type { KubeObject, OwnerReference } from '../../core/object/meta.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Random } from '../../core/runtime/random.ts';
import { type Admitted, type Api as AdmittingApi, admission } from './admission.ts';
import { type Advertised, advertisedBy } from './advertised.ts';
import type { NodeApiClient } from './api-client.ts';
import { nodeContexts } from './node-contexts.ts';
import { meshObjects } from './object-paths.ts';
import type { Output } from './output.ts';
import { relayAdmission } from './relay-admission.ts';
import { formatTable } from './table.ts';

export interface TokenAsked {
  readonly path: string;
  readonly role: 'Agent' | 'Relay';
  /** Only for an agent: labels of its Location. */
  readonly labels: Readonly<Record<string, string>>;
  /** Only for a relay: the DNS names and IP addresses of its API. */
  readonly hosts: readonly string[];
  /** Whether the node was admitted before. */
  readonly again: boolean;
  /** The time for which the token is valid. */
  readonly ttlMs: number;
}

/** The time for which a token is valid, unless the person says otherwise. */
export const tokenLife = '24h';

type JoinTokenApi = AdmittingApi & Pick<NodeApiClient, 'authority' | 'list' | 'remove'>;

const tokens = `${meshObjects}/jointokens`;

export interface MadeToken {
  /** The name of the JoinToken object. */
  readonly name: string;
  readonly path: string;
  readonly role: 'Agent' | 'Relay';
  readonly expires: string;
  /** Where the parent listens for its children. Absent: the parent advertises no address. */
  readonly parent?: { readonly address: string; readonly replicas?: readonly string[] };
  /** The text that the node needs. It is stored nowhere. */
  readonly token: string;
}

/** Without a format, only the token is printed. */
export function tokenOutput(made: MadeToken): Output {
  const { name, path, role, expires, parent, token } = made;
  const cells = [name, path, role, expires, parent?.address ?? '-', token];
  return {
    data: made,
    names: [`jointoken.mesh.banyan.io/${name}`],
    text: token,
    wide: formatTable(['NAME', 'PATH', 'ROLE', 'EXPIRES', 'PARENT', 'TOKEN'], [cells]),
  };
}

/**
 * Makes a token. If the parent has replicas, the first replica that answers stores the token; a node asks all replicas. If the node was
 * admitted before, its older unused tokens become invalid.
 */
export async function joinToken(
  api: JoinTokenApi,
  { ttlMs, role, ...asked }: TokenAsked,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  warn: (line: string) => void,
): Promise<MadeToken> {
  const { path, again } = asked;
  const admit = await (role === 'Relay' ? relayAdmission(api, asked, warn) : admission(api, 'join-token', asked, warn));
  // Every replica of the parent has the same authority. Without an authority, nothing is made.
  const [parent = ''] = nodeContexts(api.contexts(), parentOf(path));
  const authority = await api.authority(parent);
  const admitted = await admit();
  const [first] = admitted.replicas;
  if (!first) throw new BanyanError('Unavailable', `no replica of the parent of "${path}" answers now`);
  // The older tokens are removed first: the person may ask for a new token because somebody else has an older one.
  if (again) await endOlder(api, { path, role }, admitted, warn);
  const token = newJoinToken(authority, random);
  const expires = timestamp(clock.wallMs() + ttlMs);
  await api.apply(first.context, `${tokens}/${token.name}`, {
    apiVersion: 'mesh.banyan.io/v1alpha1',
    kind: 'JoinToken',
    metadata: { name: token.name, ownerReferences: [ownerOf(first.owner)] },
    spec: { path, ...(role === 'Relay' ? { role } : {}), expires, hash: hashOfSecret(token.secret) },
  });
  const parents = await parentOfToken(api, admitted);
  return { name: token.name, path, role, expires, ...parents, token: writeJoinToken(token) };
}

/** The first address is that of the replica that has the token. A replica that can't be asked now is left out: the token is made, and a person can give its address. */
async function parentOfToken(
  api: Pick<NodeApiClient, 'get'>,
  { replicas }: Admitted,
): Promise<Pick<MadeToken, 'parent'>> {
  const all = await Promise.all(
    replicas.map(({ context }) => advertisedBy(api, context).catch((): Advertised => ({}))),
  );
  const [address, ...others] = [...new Set(all.flatMap(({ mesh }) => mesh ?? []))];
  if (address === undefined) return {};
  return { parent: { address, ...(others.length > 0 ? { replicas: others } : {}) } };
}

async function endOlder(
  api: JoinTokenApi,
  { path, role }: Pick<TokenAsked, 'path' | 'role'>,
  { replicas, silent }: Admitted,
  warn: (line: string) => void,
): Promise<void> {
  for (const { context } of replicas) {
    const pathTokens = await api.list(context, `${tokens}?fieldSelector=${encodeURIComponent(`spec.path=${path}`)}`);
    for (const token of pathTokens.filter(isUnused)) {
      await api.remove(context, `${tokens}/${token.metadata.name}`, token);
      warn(`the join token ${token.metadata.name} of ${path}, which nobody has used, is no longer valid`);
    }
  }
  const command = cliCommand('join-token', ...(role === 'Relay' ? ['--relay'] : []), path, '--again');
  for (const context of silent) {
    const remedy = `when it answers again, invalidate the token with: ${command}`;
    warn(`${context} did not answer, so an older join token of ${path} stays valid there until it expires: ${remedy}`);
  }
}

function isUnused({ status }: KubeObject): boolean {
  return (status as { readonly key?: string } | undefined)?.key === undefined;
}

/** The SyncTarget or the Node owns the token, so both are deleted together. */
function ownerOf({ apiVersion, kind, metadata: { name = '', uid = '' } }: KubeObject): OwnerReference {
  return { apiVersion, kind, name, uid };
}
