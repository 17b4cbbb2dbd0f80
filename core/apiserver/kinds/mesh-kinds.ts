/** mesh.banyan.io: the kinds with which every node shows itself and its neighbours in its system space. */
import { dependentsShownMax } from '../../entries/up-attributes.ts';
import { authoritiesMax, bundleBytesMax } from '../../identity/trusted-authorities.ts';
import { claimedKeysMax, claimedValuesMax } from '../../match/claims.ts';
import type { SchemaProps } from '../crd/definition.ts';
import {
  conditions,
  definition,
  integer,
  list,
  object,
  quantities,
  string,
  stringMap,
  time,
} from './schema-builders.ts';
import { spaceDefinitionOf } from './space-kind.ts';

export const meshGroup = 'mesh.banyan.io';
export const mailboxResource = { group: meshGroup, resource: 'mailboxes' } as const;
export const nodeResource = { group: meshGroup, resource: 'nodes' } as const;
export const spaceResource = { group: meshGroup, resource: 'spaces' } as const;

function count(description: string): SchemaProps {
  return integer(description, { minimum: 0 });
}

function claimedKeys(what: string): SchemaProps {
  return {
    type: 'object',
    description: `${what} Each key has a list of values. PREFIX/* stands for all keys of a prefix, * for all other keys. The value * stands for any value.`,
    maxProperties: claimedKeysMax,
    additionalProperties: { type: 'array', maxItems: claimedValuesMax, items: { type: 'string', maxLength: 256 } },
  };
}

const heldFields = {
  entries: count('Number of held entries.'),
  since: time('When the first of these entries was missing.'),
  token: string('Names exactly these entries. An approval with this token covers no entry that is held later.'),
  sample: list(
    'Keys of some of these entries, or their placements.',
    string('A key as in docs/architecture.md, or a placement.'),
    { maxItems: 5 },
  ),
};

/** Each is in every certificate of the relay, and every handshake carries it. */
export const hostsMax = 16;

const nodeDefinition = definition({
  group: meshGroup,
  names: { plural: 'nodes', kind: 'Node', shortNames: ['mn'] },
  description: 'A node of the mesh: this one, its agents, or a relay below it.',
  spec: object('The place of the node in the tree.', {
    path: string('Names from the center down, such as eu:paris. Empty for the center.'),
    role: string('The role of the node.', { enum: ['Center', 'Relay', 'Agent'] }),
    hosts: list(
      'Of a relay that joins with a token: the DNS names and IP addresses of its API, for its certificate. A DNS name includes the names below it, for the relays below. `banyan join-token --relay --host` writes it.',
      string('A DNS name or an IP address.', { minLength: 1, maxLength: 253, pattern: '^[0-9A-Za-z:.-]+$' }),
      { maxItems: hostsMax },
    ),
    approveHeldDeletions: string(
      'Written by a person: status.held.token, or the token of an entry of status.rolledBack. The node deletes the entries that it holds under this token, and ends the alarm. `banyan approve-deletions` writes it.',
      { maxLength: 64 },
    ),
    authorities: string(
      'Written by a person, only at the center: PEM with the authorities of nodes that the tree trusts, the one in use first, and the introductions of new ones. The center hands them down. `banyan authority` writes it.',
      { maxLength: bundleBytesMax },
    ),
    claims: object(
      'Written by a person, for a relay directly below this node: the labels and properties that Locations and SyncTargets below the relay may have here. All others have no effect at this node and above. What this node itself gave the subtree, and keys with the prefix site.banyan.io/, are always allowed. Absent: the claims of the configuration.',
      { labels: claimedKeys('Labels.'), properties: claimedKeys('Properties of SyncTargets.') },
    ),
    quota: object(
      'Written by a person, for a child of this node: how much the child and its subtree may have reported at one time. What is beyond is refused. Absent: the quota of the configuration.',
      {
        entries: integer('Number of entries.', { minimum: 1 }),
        bytes: integer('Bytes of the contents of these entries.', { minimum: 1 }),
      },
    ),
  }),
  status: object('The state of the node.', {
    version: string('Version of the program.'),
    advertised: object(
      'Only of the node itself: the addresses at which others reach it, as its configuration has them.',
      { api: string('For users: host:port.'), mesh: string('For children: host:port.') },
    ),
    session: object('The session of the node with its parent.', {
      state: string(
        'Whether the session is connected. Never: the node has not connected yet. Unknown while a node between this node and the other is not connected.',
        { enum: ['Connected', 'Disconnected', 'Never', 'Unknown'] },
      ),
      since: time('Connected: when the session began. Disconnected: when the parent last heard the node.'),
      transport: string('The transport, as the node itself reports it: grpc or websocket, with +proxy or +terminated.'),
    }),
    rootContactAt: time(
      'When this node last received a report of the root, through all nodes between. Absent if less than a minute ago.',
    ),
    lag: object('Entries that the node has not acknowledged yet.', {
      entries: count('Number of these entries.'),
      bytes: count('Bytes of these entries.'),
    }),
    children: count('Direct children of the node.'),
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
    quarantined: object(
      'Entries from the parent that do not have the form that their keys require. The node uses their last valid form.',
      {
        count: count('Number of these entries.'),
        sample: list('Some of these entries.', string('The key and the mistake.'), { maxItems: 5 }),
      },
    ),
    refused: object(
      'Entries that the node reports and its parent can not read. The parent uses their last valid form.',
      {
        count: count('Number of these entries.'),
        sample: list('Some of these entries.', string('The key and the mistake.'), { maxItems: 5 }),
      },
    ),
    rolledBack: list(
      'Spaces whose store was emptied or restored from an older copy.',
      object('One space.', {
        source: string('The node and the space, such as center.retail.'),
        had: count('The revision of the store when it started.'),
        seen: count('The newest revision of the space that a node below has received.'),
        since: time('When this was detected.'),
        token: string('Names exactly this alarm. An approval with this token ends it.'),
      }),
      { maxItems: 100 },
    ),
    labels: stringMap(
      'Only of the node itself: the labels of its configuration. Locations below a relay inherit them.',
    ),
    authorities: list(
      'Only of the node itself: the authorities of nodes that it trusts. The entry "other" stands for all others.',
      object('One authority.', {
        id: string('The first 16 digits of the SHA-256 of the public key.'),
        subject: string('The name in the certificate.'),
        notAfter: time('When the certificate of the authority ends.'),
        certificate: string('The certificate of the authority, as PEM.'),
        inUse: {
          type: 'boolean',
          description: "Whether the node's own certificate, or an issuer with which it signs, leads to this authority.",
        },
        nodes: count('Nodes at and below the node whose certificates lead to this authority.'),
        sample: list('Some of these nodes.', string('A path.'), { maxItems: dependentsShownMax }),
      }),
      { maxItems: authoritiesMax + 1 },
    ),
    capacity: quantities('The resources of the node.'),
    conditions,
  }),
  columns: [
    { name: 'Path', type: 'string', jsonPath: '.spec.path' },
    { name: 'Role', type: 'string', jsonPath: '.spec.role' },
    { name: 'Session', type: 'string', jsonPath: '.status.session.state' },
    { name: 'Since', type: 'date', jsonPath: '.status.session.since' },
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
  description: 'The state that this node holds for one of its children.',
  spec: object('The child.', { path: string('Path of the child, such as eu:paris:store-17.') }),
  status: object('The content of the mailbox, and how much of it the child has.', {
    entries: count('Entries in the mailbox.'),
    head: count('Revision of the newest entry.'),
    acknowledged: count('Revision up to which the child has stored everything.'),
    backlogEntries: count('Entries that the child has not acknowledged. 1,000 means 1,000 or more.'),
    backlogBytes: count('Bytes of these entries. An estimate if there are more than 64 entries.'),
    held: object(
      'Entries that this node keeps in the mailbox. The child lost its store and reports fewer Locations since then.',
      heldFields,
    ),
    quarantinedEntries: count('Entries that the child can not use.'),
    quarantined: list(
      'Some of these entries.',
      object('One entry.', {
        key: string('The key of the entry.'),
        reason: string('The reason, in one word.'),
        message: string('The reason, in a sentence for people.'),
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

export const meshDefinitions = [nodeDefinition, mailboxDefinition, spaceDefinitionOf(meshGroup)];
