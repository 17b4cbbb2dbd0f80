/** Decides whether a join token admits the node that shows it. Pure. */

import { hashOfSecret, isJoinName, isJoinSecret, isSecretOf } from '../../core/identity/join-token.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { BanyanError } from '../../core/runtime/errors.ts';

export interface JoinTokenSpec {
  readonly path: string;
  /** Absent: Agent. */
  readonly role?: 'Agent' | 'Relay';
  readonly expires: string;
  readonly hash: string;
}

export interface JoinTokenStatus {
  readonly state?: 'Used' | 'Expired';
  readonly usedAt?: string;
  readonly usedFrom?: string;
  readonly key?: string;
}

export type StoredToken = KubeObject & { readonly spec: JoinTokenSpec; readonly status?: JoinTokenStatus };

export const joinTokenResource = { group: 'mesh.banyan.io', resource: 'jointokens' } as const;

/** The hash for the comparison if there is no token of this name. With it, the answer takes the same time. */
const nobodysHash = hashOfSecret('nobody');

/** Throws Unauthorized. The message is the same for an unknown token and for a wrong secret. */
export function checkSecret(token: KubeObject | undefined, secret: string): JoinTokenSpec {
  const spec = token?.spec as JoinTokenSpec | undefined;
  const isRight = isSecretOf(secret, spec?.hash ?? nobodysHash);
  if (spec && isRight) return spec;
  throw new BanyanError('Unauthorized', 'this join token is not known here: make one at the parent of the node');
}

/** Returns whether these can be the parts of a token. Anything else is rejected without reading the store. */
export function isPossible({ name, secret }: { readonly name: string; readonly secret: string }): boolean {
  return isJoinName(name) && isJoinSecret(secret);
}

/**
 * Call it for a request with the right secret. Throws Forbidden, Expired and Conflict, each with a remedy. `key` is the hash of the public key for which the
 * node asks a certificate.
 */
export function checkUse(
  { spec, status = {} }: { readonly spec: JoinTokenSpec; readonly status?: JoinTokenStatus | undefined },
  {
    path,
    role,
    key,
    nowMs,
  }: { readonly path: string; readonly role: 'agent' | 'relay'; readonly key: string; readonly nowMs: number },
): void {
  const isForRelay = spec.role === 'Relay';
  const another = `make another: ${joinTokenCommand(spec.path, isForRelay ? 'relay' : 'agent')}`;
  if (path !== spec.path) {
    const remedy = 'correct the path of the node, or make a token for it';
    throw new BanyanError('Forbidden', `this join token is for "${spec.path}", and not for "${path}": ${remedy}`);
  }
  if (isForRelay !== (role === 'relay')) {
    const remedy = `start that ${isForRelay ? 'relay' : 'agent'} with it, or make a token for the other role`;
    throw new BanyanError(
      'Forbidden',
      `this join token is for the ${isForRelay ? 'relay' : 'agent'} "${spec.path}", and the ${role} "${path}" shows it: ${remedy}`,
    );
  }
  if (isExpired(spec, nowMs)) {
    throw new BanyanError('Expired', `this join token for "${spec.path}" expired at ${spec.expires}: ${another}`);
  }
  // The same key may come again: an answer was lost, or the pods of a cluster share the key. This is safe, because nobody can use a certificate without its
  // key.
  if (status.key !== undefined && status.key !== key) {
    const use = `by another key from ${status.usedFrom ?? 'an unknown address'} at ${status.usedAt ?? 'an unknown time'}`;
    throw new BanyanError(
      'Conflict',
      `this join token for "${spec.path}" was used ${use}: if that was not this ${role}, delete its ${isForRelay ? 'Node object' : 'SyncTarget'}; otherwise ${another}`,
    );
  }
}

/**
 * Throws Forbidden if the token was made for an earlier SyncTarget or Node of the same name. A token that names its owner is deleted with that object, so this
 * check never sees it. A token that was made by hand and names no owner is recognised by its age.
 */
export function checkOwner({ metadata, spec }: StoredToken, owner: KubeObject): void {
  const { ownerReferences = [], creationTimestamp: made = '' } = metadata;
  const { uid, creationTimestamp: placed = '' } = owner.metadata;
  // Both times are from this node's clock, in whole seconds.
  if (ownerReferences.some((one) => one.uid === uid) || made >= placed) return;
  throw new BanyanError(
    'Forbidden',
    `this join token was made at ${made}, and the ${owner.kind} of "${spec.path}" at ${placed}, after the former one was deleted: make another: ${joinTokenCommand(spec.path, spec.role === 'Relay' ? 'relay' : 'agent')}`,
  );
}

/** A time that can't be parsed counts as passed. */
export function isExpired({ expires }: JoinTokenSpec, nowMs: number): boolean {
  return !(nowMs < Date.parse(expires));
}

/** The command that makes a join token for a node that the tree does not know. */
export function firstTokenCommand(path: string, role: 'agent' | 'relay'): string {
  return cliCommand('join-token', ...(role === 'relay' ? ['--relay'] : []), path);
}

/** The command that makes another join token for a node that the tree knows. */
export function joinTokenCommand(path: string, role: 'agent' | 'relay'): string {
  return `${firstTokenCommand(path, role)} --again`;
}
