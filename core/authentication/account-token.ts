/**
 * The contents of a token of a ServiceAccount, as the claims of a JWT: the names and claims of Kubernetes
 * (https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#schema-for-service-account-private-claims).
 */
import * as z from 'zod';
import type { Requester } from '../access/attributes.ts';
import { serviceAccountGroups, serviceAccountName } from '../access/subjects.ts';
import { shownPath } from '../identity/node-path.ts';

/** The kinds of objects to which a token may be bound: the token ends with the object. */
export const boundKinds = ['Pod', 'Secret'] as const;
export type BoundKind = (typeof boundKinds)[number];

export interface BoundObject {
  readonly kind: BoundKind;
  readonly name: string;
  readonly uid: string;
}

export interface AccountToken {
  readonly namespace: string;
  readonly account: { readonly name: string; readonly uid: string };
  readonly bound?: BoundObject;
  readonly audiences: readonly string[];
  /** Distinguishes the tokens of one account, for audits. */
  readonly id: string;
  readonly issuedMs: number;
  /** Infinite for the token in a Secret: it ends with the Secret. */
  readonly expiresMs: number;
}

const named = z.object({ name: z.string().min(1), uid: z.string().min(1) });
const claimsSchema = z.object({
  aud: z.union([z.string(), z.array(z.string())]),
  exp: z.number().exactOptional(),
  iat: z.number(),
  jti: z.string(),
  'kubernetes.io': z.object({
    namespace: z.string().min(1),
    serviceaccount: named,
    pod: named.exactOptional(),
    secret: named.exactOptional(),
  }),
});

export function claimsOf(token: AccountToken, issuer: string): Record<string, unknown> {
  const { namespace, account, bound, audiences, id, issuedMs, expiresMs } = token;
  const seconds = (ms: number) => Math.floor(ms / 1_000);
  return {
    iss: issuer,
    sub: serviceAccountName(namespace, account.name),
    aud: audiences,
    iat: seconds(issuedMs),
    nbf: seconds(issuedMs),
    ...(Number.isFinite(expiresMs) ? { exp: seconds(expiresMs) } : {}),
    jti: id,
    'kubernetes.io': {
      namespace,
      serviceaccount: account,
      ...(bound ? { [bound.kind.toLowerCase()]: { name: bound.name, uid: bound.uid } } : {}),
    },
  };
}

/** Undefined: these are not the claims of such a token. */
export function tokenOf(claims: unknown): AccountToken | undefined {
  const parsed = claimsSchema.safeParse(claims);
  if (!parsed.success) return undefined;
  const { aud, exp, iat, jti, 'kubernetes.io': of } = parsed.data;
  // Only the token in a Secret has no end of its own.
  if (exp === undefined && !of.secret) return undefined;
  const bound = of.pod ? { kind: 'Pod' as const, ...of.pod } : of.secret && { kind: 'Secret' as const, ...of.secret };
  return {
    namespace: of.namespace,
    account: of.serviceaccount,
    ...(bound ? { bound } : {}),
    audiences: [aud].flat(),
    id: jti,
    issuedMs: iat * 1_000,
    expiresMs: exp === undefined ? Number.POSITIVE_INFINITY : exp * 1_000,
  };
}

export function accountUser({ namespace, account, bound, id }: AccountToken): Requester {
  const extra: Record<string, readonly string[]> = { 'authentication.kubernetes.io/credential-id': [`JTI=${id}`] };
  if (bound?.kind === 'Pod') {
    extra['authentication.kubernetes.io/pod-name'] = [bound.name];
    extra['authentication.kubernetes.io/pod-uid'] = [bound.uid];
  }
  return {
    name: serviceAccountName(namespace, account.name),
    uid: account.uid,
    groups: serviceAccountGroups(namespace),
    extra,
  };
}

/** Who issues the tokens of the node at the path: a URI (RFC 8141 has the form of such names). */
export function issuerOf(path: string): string {
  return `urn:banyan:node:${shownPath(path)}`;
}
