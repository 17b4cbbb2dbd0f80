/** mesh.banyan.io/Revocation: ends the certificates of a user or of a node, at this node and everywhere below. */
import type { RevokedSubject } from '../../access/revocations.ts';
import { dayMs, issuerMs } from '../../identity/certificate-validity.ts';
import { hash128 } from '../../object/hash.ts';
import type { GroupResource } from '../../object/key.ts';
import type { KubeObject } from '../../object/meta.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { meshGroup } from './mesh-kinds.ts';
import { definition, object, rule, string, time } from './schema-builders.ts';

export const revocationResource = { group: meshGroup, resource: 'revocations' } as const;

/**
 * Bound for the Revocations of one node. All of them, and those of the nodes above, are in one entry of each mailbox, which is sent again after each change: 5,000
 * have about 300 KB. A tree that revokes more in two years has another problem, and changes its authority.
 */
export const revocationsMax = 5_000;

export const revocationDefinition = definition({
  group: meshGroup,
  names: { plural: 'revocations', kind: 'Revocation', shortNames: ['rev'] },
  description:
    'Ends the certificates of a user or of a node at this node and at all nodes below. `banyan user revoke` and `banyan revoke` make the object.',
  spec: object(
    'The user or the node, and the time of the revocation.',
    {
      user: string('Name of the user.', { minLength: 1, maxLength: 1_024 }),
      node: object(
        'The node. All replicas of a relay have one path. Certificates that were signed by the authority of a revoked relay are refused too.',
        {
          path: string('Path of the node, such as eu:paris.', {
            maxLength: 4_096,
            pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(:[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
          }),
        },
        { required: ['path'] },
      ),
      issuedBefore: time(
        `Certificates that became valid before this time are refused. The default is the creation time of the object. A new certificate needs a later time. The object is removed ${issuerMs / dayMs} days after this time: all certificates of that time have expired then.`,
      ),
    },
    {
      'x-kubernetes-validations': [
        rule('has(self.user) != has(self.node)', 'name either a user or a node'),
        rule(
          'has(self.user) == has(oldSelf.user) && (!has(self.user) || self.user == oldSelf.user)',
          'the user can not be changed: make another Revocation',
        ),
        rule(
          '!has(self.node) || !has(oldSelf.node) || self.node.path == oldSelf.node.path',
          'the node can not be changed: make another Revocation',
        ),
      ],
    },
  ),
  root: { required: ['spec'] },
  selectable: ['.spec.user', '.spec.node.path'],
  columns: [
    { name: 'User', type: 'string', jsonPath: '.spec.user' },
    { name: 'Node', type: 'string', jsonPath: '.spec.node.path' },
    { name: 'Before', type: 'date', jsonPath: '.spec.issuedBefore' },
  ],
});

export function isRevocation({ group, resource }: GroupResource): boolean {
  return group === meshGroup && resource === revocationResource.resource;
}

export function revokedBy({ spec, metadata }: KubeObject): RevokedSubject {
  const { user, node, issuedBefore = metadata.creationTimestamp } = spec as RevocationSpec;
  const atMs = Date.parse(issuedBefore ?? '');
  return node ? { kind: 'nodes', name: node.path, atMs } : { kind: 'users', name: user ?? '', atMs };
}

interface RevocationSpec {
  readonly user?: string;
  readonly node?: { readonly path: string };
  readonly issuedBefore?: string;
}

/** When every certificate that the Revocation refuses has expired: even that of an issuer that was made just before. */
export function revocationEndsMs(atMs: number): number {
  return atMs + issuerMs;
}

/** A Revocation. Names of users have characters that names of objects can't have, so the object has a name of its own. `atMs`: wall time. */
export function revocationOf({
  kind,
  name,
  atMs,
}: RevokedSubject): KubeObject & { readonly metadata: { name: string } } {
  const hash = Buffer.from(hash128(name)).toString('hex').slice(0, 16);
  return {
    apiVersion: `${meshGroup}/v1alpha1`,
    kind: 'Revocation',
    metadata: { name: `${kind === 'users' ? 'user' : 'node'}-${hash}` },
    spec: {
      ...(kind === 'users' ? { user: name } : { node: { path: name } }),
      issuedBefore: new Date(atMs).toISOString(),
    },
  };
}

/** Throws Forbidden if the node has too many Revocations for another one. */
export function checkRevocationRoom(count: number): void {
  if (count < revocationsMax) return;
  const remedy = 'delete those whose certificates have expired, or change the authority of the tree';
  throw new BanyanError(
    'Forbidden',
    `this node has ${count} Revocations, and at most ${revocationsMax} fit: ${remedy}`,
  );
}
