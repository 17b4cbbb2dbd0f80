/** JoinToken: that an agent may get a certificate at this node, once. The token's secret is not in it. */
import { definition, object, rule, string, time } from './schema-builders.ts';

export const joinTokenDefinition = definition({
  group: 'mesh.banyan.io',
  names: { plural: 'jointokens', kind: 'JoinToken', shortNames: ['jt'] },
  description:
    'That an agent right below this node may join, once. `banyan join-token` makes it and prints its secret, which is kept nowhere.',
  spec: object(
    'Whom it admits. The labels are those of the SyncTarget and the Location, which were made with it.',
    {
      path: string('Of the agent, such as eu:paris:store-17.', { minLength: 1, maxLength: 4_096 }),
      expires: time('From then on it admits nobody.'),
      hash: string('SHA-256 of the secret, in hex.', { pattern: '^[0-9a-f]{64}$' }),
    },
    {
      required: ['path', 'expires', 'hash'],
      'x-kubernetes-validations': [rule('self == oldSelf', 'a join token can not be changed: make another')],
    },
  ),
  status: object('What became of it.', {
    state: string('Absent: it was not used yet. An expired one is removed a day later.', { enum: ['Used', 'Expired'] }),
    usedAt: time('When it was used.'),
    usedFrom: string('The address that its first use came from: of the agent, or of what is between.'),
    key: string('SHA-256 of the public key that it was used for, in hex. Only this key may use it again.'),
  }),
  root: { required: ['spec'] },
  selectable: ['.spec.path'],
  columns: [
    { name: 'Path', type: 'string', jsonPath: '.spec.path' },
    { name: 'State', type: 'string', jsonPath: '.status.state' },
    { name: 'Expires', type: 'string', jsonPath: '.spec.expires' },
    { name: 'Used-from', type: 'string', jsonPath: '.status.usedFrom' },
  ],
});
