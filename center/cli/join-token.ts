/**
 * `banyan join-token PATH`: admits an agent that runs elsewhere, and prints a token. With the token, the agent gets its certificate from its parent, once.
 * The command makes the secret of the token and stores it nowhere: the parent gets only the hash of the secret.
 */

import { hashOfSecret, newJoinToken, writeJoinToken } from '../../core/identity/join-token.ts';
import { timestamp } from '../../core/object/conditions.ts';
import type { KubeObject, OwnerReference } from '../../core/object/meta.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Random } from '../../core/runtime/random.ts';
import { type AdmissionRequest, type Admitted, type Api as AdmittingApi, admission } from './admission.ts';
import type { NodeApiClient } from './api-client.ts';

export interface TokenAsked extends AdmissionRequest {
  /** How long the token is valid. */
  readonly ttlMs: number;
}

type JoinTokenApi = AdmittingApi & Pick<NodeApiClient, 'authority' | 'list' | 'remove'>;

const tokens = '/apis/mesh.banyan.io/v1alpha1/jointokens';

/**
 * Returns the text of the token. If the parent has replicas, the first replica that answers stores the token; an agent asks all replicas. If the agent was
 * admitted before, its older unused tokens become invalid.
 */
export async function joinToken(
  api: JoinTokenApi,
  { ttlMs, ...admissionRequest }: TokenAsked,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  warn: (line: string) => void,
): Promise<string> {
  const admit = await admission(api, 'join-token', admissionRequest, warn);
  const admitted = await admit();
  const [first] = admitted.replicas;
  if (!first)
    throw new BanyanError('Unavailable', `no replica of the parent of "${admissionRequest.path}" answers now`);
  // The older tokens are removed first: the person may ask for a new token because somebody else has an older one.
  if (admissionRequest.again) await endOlder(api, admissionRequest.path, admitted, warn);
  const token = newJoinToken(api.authority(first.context), random);
  await api.apply(first.context, `${tokens}/${token.name}`, {
    apiVersion: 'mesh.banyan.io/v1alpha1',
    kind: 'JoinToken',
    metadata: { name: token.name, ownerReferences: [ownerOf(first.syncTarget)] },
    spec: { path: admissionRequest.path, expires: timestamp(clock.wallMs() + ttlMs), hash: hashOfSecret(token.secret) },
  });
  return writeJoinToken(token);
}

async function endOlder(
  api: JoinTokenApi,
  path: string,
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
  for (const context of silent) {
    const remedy = `when it answers again, invalidate the token with: ${cliCommand('join-token', path, '--again')}`;
    warn(`${context} did not answer, so an older join token of ${path} stays valid there until it expires: ${remedy}`);
  }
}

function isUnused({ status }: KubeObject): boolean {
  return (status as { readonly key?: string } | undefined)?.key === undefined;
}

/** The SyncTarget owns the token, so both are deleted together. */
function ownerOf({ apiVersion, kind, metadata: { name = '', uid = '' } }: KubeObject): OwnerReference {
  return { apiVersion, kind, name, uid };
}
