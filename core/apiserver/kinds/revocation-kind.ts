/** mesh.banyan.io/Revocation: ends the certificates of a user at this node and everywhere below. */
import type { GroupResource } from '../../object/key.ts';
import type { KubeObject } from '../../object/meta.ts';
import { meshGroup } from './mesh-kinds.ts';
import { definition, object, rule, string, time } from './schema-builders.ts';

export const revocationResource = { group: meshGroup, resource: 'revocations' } as const;

export const revocationDefinition = definition({
  group: meshGroup,
  names: { plural: 'revocations', kind: 'Revocation', shortNames: ['rev'] },
  description:
    'Ends the certificates of a user at this node and at all nodes below. `banyan user revoke` makes the object at the center.',
  spec: object(
    'The user, and the time of the revocation.',
    {
      user: string('Name of the user.', { minLength: 1, maxLength: 1_024 }),
      issuedBefore: time(
        'Certificates that became valid before this time are refused. The default is the creation time of the object. A new certificate needs a later time.',
      ),
    },
    {
      required: ['user'],
      'x-kubernetes-validations': [
        rule('self.user == oldSelf.user', 'the user can not be changed: make another Revocation'),
      ],
    },
  ),
  root: { required: ['spec'] },
  selectable: ['.spec.user'],
  columns: [
    { name: 'User', type: 'string', jsonPath: '.spec.user' },
    { name: 'Before', type: 'date', jsonPath: '.spec.issuedBefore' },
  ],
});

export function isRevocation({ group, resource }: GroupResource): boolean {
  return group === meshGroup && resource === revocationResource.resource;
}

export function revokedBy({ spec, metadata }: KubeObject): { readonly user: string; readonly atMs: number } {
  const { user, issuedBefore = metadata.creationTimestamp } = spec as { user: string; issuedBefore?: string };
  return { user, atMs: Date.parse(issuedBefore ?? '') };
}
