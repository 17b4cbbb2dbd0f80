/** JoinToken: allows one agent or relay to get a certificate at this node, once. The object does not contain the secret of the token. */
import { definition, object, rule, string, time } from './schema-builders.ts';

export const joinTokenDefinition = definition({
  group: 'mesh.banyan.io',
  names: { plural: 'jointokens', kind: 'JoinToken', shortNames: ['jt'] },
  description:
    'Allows one agent or relay directly below this node to join, once. `banyan join-token` makes the object and prints the secret, which is stored nowhere.',
  spec: object(
    'The node that the token admits.',
    {
      path: string('Path of the node, such as eu:paris:store-17.', { minLength: 1, maxLength: 4_096 }),
      role: string('The role of the node. Absent: Agent.', { enum: ['Agent', 'Relay'] }),
      expires: time('From this time on, the token admits nobody.'),
      hash: string('SHA-256 of the secret, in hex.', { pattern: '^[0-9a-f]{64}$' }),
    },
    {
      required: ['path', 'expires', 'hash'],
      'x-kubernetes-validations': [rule('self == oldSelf', 'a join token can not be changed: make another')],
    },
  ),
  status: object('The use of the token.', {
    state: string('Absent while the token was not used. An expired token is removed a day later.', {
      enum: ['Used', 'Expired'],
    }),
    usedAt: time('When the token was used.'),
    usedFrom: string('The address of the first use: of the node, or of a proxy or gateway between.'),
    key: string('SHA-256 of the public key that used the token, in hex. Only this key may use the token again.'),
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
