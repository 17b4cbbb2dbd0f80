/** mesh.banyan.io: what every node shows of itself and its neighbours in its system space. */
import type { SchemaProps } from '../crd/definition.ts';
import { conditions, definition, integer, list, object, quantities, rule, string, time } from './schema-builders.ts';

export const meshGroup = 'mesh.banyan.io';

function count(description: string): SchemaProps {
  return integer(description, { minimum: 0 });
}

const heldFields = {
  entries: count('Entries.'),
  since: time('When the first of them was found missing.'),
  token: string('Names exactly these entries. An approval with this token covers no entry that is held later.'),
  sample: list('Keys of some, or the placements that they are of.', string('As docs/architecture.md has them.'), {
    maxItems: 5,
  }),
};

const nodeDefinition = definition({
  group: meshGroup,
  names: { plural: 'nodes', kind: 'Node', shortNames: ['mn'] },
  description: 'A node of the mesh: this one, its agents, or a relay below it.',
  spec: object('Its place.', {
    path: string('From the center down, such as eu:paris; empty for the center.'),
    role: string('What it is.', { enum: ['Center', 'Relay', 'Agent'] }),
    approveHeldDeletions: string(
      'Written by a person: status.held.token, or the token of an entry of status.rolledBack. The node deletes the entries that it holds under this token, and ends the alarm. `banyan approve-deletions` writes it.',
      { maxLength: 64 },
    ),
  }),
  status: object('How it is.', {
    version: string('Version of the program.'),
    session: object('The session with its parent.', {
      state: string('Whether it is connected; Unknown while a node between here and there is not.', {
        enum: ['Connected', 'Disconnected', 'Unknown'],
      }),
      since: time('When the state began.'),
      transport: string('What carries it, as the node itself knows: grpc or websocket, with +proxy, with +terminated.'),
    }),
    rootContactAt: time(
      'When this node last received a report of the root, through all nodes between. Absent if less than a minute ago.',
    ),
    lag: object('What it has not acknowledged yet.', {
      entries: count('Entries.'),
      bytes: count('Their bytes.'),
    }),
    children: count('Its own children.'),
    relays: count('Relays in its subtree.'),
    agents: count('Agents in its subtree.'),
    held: object(
      'Entries that this node has and its parent lacks: too many deletions at once, or the parent lost its store.',
      heldFields,
    ),
    heldInMailbox: object(
      "Entries that the parent keeps in this node's mailbox. The node lost its store and reports fewer Locations since then.",
      heldFields,
    ),
    quarantined: object('Entries from its parent that are not what their keys say; it keeps to their last good form.', {
      count: count('Entries.'),
      sample: list('Some of them.', string('The key, and what is wrong.'), { maxItems: 5 }),
    }),
    refused: object("What it tells and its parent can't take; the parent keeps to the last good form.", {
      count: count('Entries.'),
      sample: list('Some of them.', string('The key, and what is wrong.'), { maxItems: 5 }),
    }),
    rolledBack: list(
      'Spaces whose store was emptied or put back to an older copy.',
      object('One space.', {
        source: string('The node and the space, such as center.retail.'),
        had: count('The revision that its store had when it started.'),
        seen: count('The newest revision of it that a node below has had.'),
        since: time('When that was found.'),
        token: string('What says that it is known.'),
      }),
      { maxItems: 100 },
    ),
    capacity: quantities('What it has.'),
    conditions,
  }),
  columns: [
    { name: 'Path', type: 'string', jsonPath: '.spec.path' },
    { name: 'Role', type: 'string', jsonPath: '.spec.role' },
    { name: 'Session', type: 'string', jsonPath: '.status.session.state' },
    { name: 'Lag', type: 'integer', jsonPath: '.status.lag.entries' },
    { name: 'Agents', type: 'integer', jsonPath: '.status.agents' },
    { name: 'Held', type: 'integer', jsonPath: '.status.held.entries' },
    { name: 'Transport', type: 'string', jsonPath: '.status.session.transport', priority: 1 },
    { name: 'Version', type: 'string', jsonPath: '.status.version', priority: 1 },
  ],
});

const mailboxDefinition = definition({
  group: meshGroup,
  names: { plural: 'mailboxes', singular: 'mailbox', kind: 'Mailbox', listKind: 'MailboxList', shortNames: ['mb'] },
  description: 'What this node holds for one of its children.',
  spec: object('Whose it is.', { path: string('Of the child, such as eu:paris:store-17.') }),
  status: object('How full it is.', {
    entries: count('Entries in it.'),
    head: count('Revision of the newest entry.'),
    acknowledged: count('Revision up to which the child has stored everything.'),
    backlogEntries: count('Entries that the child has not acknowledged; 1,000 stands for as many or more.'),
    backlogBytes: count('Their bytes; of more than 64 entries reckoned from some of them.'),
    held: object(
      'Entries that this node keeps in the mailbox. The child lost its store and reports fewer Locations since then.',
      heldFields,
    ),
    quarantinedEntries: count('Entries that the child could not take.'),
    quarantined: list(
      'A sample of them.',
      object('One entry.', {
        key: string('Its key.'),
        reason: string('One word for why.'),
        message: string('A sentence for people.'),
      }),
      { maxItems: 100 },
    ),
    conditions,
  }),
  columns: [
    { name: 'Entries', type: 'integer', jsonPath: '.status.entries' },
    { name: 'Head', type: 'integer', jsonPath: '.status.head' },
    { name: 'Acknowledged', type: 'integer', jsonPath: '.status.acknowledged' },
    { name: 'Backlog', type: 'integer', jsonPath: '.status.backlogBytes' },
    { name: 'Quarantined', type: 'integer', jsonPath: '.status.quarantinedEntries', priority: 1 },
  ],
});

const spaceDefinition = definition({
  group: meshGroup,
  names: { plural: 'spaces', kind: 'Space', shortNames: ['sp'] },
  description: 'A logical Kubernetes API endpoint of this node, with its own objects.',
  spec: object(
    'What it is for, and where its objects lie.',
    {
      type: string('What kinds it has beside the built-in ones.', {
        enum: ['Workload', 'Inventory', 'System'],
        default: 'Workload',
      }),
      provider: object('Where its objects lie; Embedded if left out.', {
        type: string('In this node, or in a Kubernetes API server.', {
          enum: ['Embedded', 'Kubernetes'],
          default: 'Embedded',
        }),
        kubeconfigSecretRef: object(
          'A Secret of the system space with a kubeconfig under the key kubeconfig.',
          { namespace: string('Its namespace.'), name: string('Its name.') },
          { required: ['namespace', 'name'] },
        ),
      }),
    },
    {
      'x-kubernetes-validations': [
        rule(
          "!has(self.provider) || self.provider.type != 'Kubernetes' || has(self.provider.kubeconfigSecretRef)",
          'a provider of type Kubernetes needs kubeconfigSecretRef',
        ),
        rule('self.type == oldSelf.type', 'the type of a space can not be changed'),
      ],
    },
  ),
  status: object('How to reach it.', { url: string('Where its API answers.'), conditions }),
  root: { required: ['spec'] },
  columns: [
    { name: 'Type', type: 'string', jsonPath: '.spec.type' },
    { name: 'Provider', type: 'string', jsonPath: '.spec.provider.type' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'URL', type: 'string', jsonPath: '.status.url', priority: 1 },
  ],
});

export const meshDefinitions = [nodeDefinition, mailboxDefinition, spaceDefinition];
