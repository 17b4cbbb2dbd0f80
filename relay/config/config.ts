/** The configuration of a relay or the center: one YAML file, checked whole before anything starts. */
import * as z from 'zod';
import { auditConfigSchema } from '../../core/audit/audit-config.ts';
import { frontProxySchema } from '../../core/authentication/front-proxy.ts';
import { encryptionConfigSchema } from '../../core/encryption/encryption-config.ts';
import { limitsSchema } from '../../core/entries/deletion-guard.ts';
import { issuedSchema } from '../../core/identity/certificate-validity.ts';
import { usersSchema } from '../../core/identity/client-authority.ts';
import { replicasMax } from '../../core/identity/replica.ts';
import { claimsSchema } from '../../core/match/claims.ts';
import { spaceSchema } from '../../core/match/delivery-config.ts';
import { addressSchema, dnsNameSchema, hostSchema } from '../../core/object/checked-text.ts';
import { egressSchema } from '../../core/runtime/egress.ts';
import { logRotationSchema } from '../../core/runtime/log-rotation.ts';
import { linkOptionsSchema } from '../../core/wire/dialer/link-options.ts';

const labels = z.record(z.string(), z.string());
const names = z.array(hostSchema);

export const inventoryEntrySchema = z.strictObject({
  name: z.string().describe('The name of the cluster and of its agent.'),
  labels: labels.default({}).describe('Labels of its Location.'),
  annotations: labels.default({}).describe('Annotations of its Location.'),
  properties: labels.default({}).describe('Properties of its SyncTarget.'),
});

export const accessSchema = z.strictObject({
  fromAbove: z
    .string()
    .min(1)
    .default('grants')
    .describe(
      'What users of nodes above may do at this node, at its spaces and below. `grants`: what the roles and AccessGrants of this node say about `center:alice`. `none`: nothing. Everything else is the name of a ClusterRole of this node, which all these users have.',
    ),
});

/**
 * How much one child may have reported at one time, with its whole subtree. The defaults are far beyond an honest subtree: a site with ten thousand objects, all
 * of them with associated objects, reports some 50,000 entries with 200 MB.
 */
const quota = {
  entries: z.number().int().min(1).describe('Number of entries.'),
  bytes: z.number().int().min(1).describe('Bytes of their contents.'),
};
export const childQuotaSchema = z
  .strictObject({ entries: quota.entries.optional(), bytes: quota.bytes.optional() })
  .describe(
    'How much the node and its subtree may have reported to the parent at one time. What is beyond is refused.',
  );

export const childrenSchema = z.strictObject({
  quota: z
    .strictObject({ entries: quota.entries.default(1_000_000), bytes: quota.bytes.default(2 ** 30) })
    .prefault({})
    .describe('For each child that has no quota of its own.'),
  claims: claimsSchema
    .optional()
    .describe(
      'The claims of relays that have none of their own. Absent: a relay may claim everything except the path of another node.',
    ),
  named: z
    .record(
      z.string(),
      z.strictObject({
        given: claimsSchema.optional().describe('What the topology gives the subtree. It is always allowed.'),
        claims: claimsSchema.optional().describe('`spec.claims` of the Node object wins.'),
        quota: childQuotaSchema.optional().describe('`spec.quota` of the Node object wins.'),
      }),
    )
    .default({})
    .describe('Keyed by the name of the child, without a replica number.'),
});
export type ChildrenConfig = z.infer<typeof childrenSchema>;
/** Keys for the authentication of users, beside the certificates of the node. */
const authenticationPki = {
  tokenKeys: z
    .string()
    .min(1)
    .optional()
    .describe(
      'For a relay with replicas: PEM file of private keys of the curve P-256, which sign the tokens of ServiceAccounts. The first one signs; the tokens of all are good. Absent: the node makes a key of its own.',
    ),
  users: z
    .strictObject({
      ca: usersSchema.shape.ca.describe('PEM file of the authorities of users.'),
      signer: z
        .strictObject({ cert: z.string(), key: z.string() })
        .optional()
        .describe(
          'PEM files of the certificate and key with which the node signs approved CertificateSigningRequests of users. Absent: it signs none.',
        ),
    })
    .optional()
    .describe(
      'Certificates of users. Absent: the authority of the tree is the one of users too or, for a relay that joined with a token, no certificate of a user is good.',
    ),
};

const givenPki = z
  .strictObject({
    ca: z.string().describe('PEM file of the authority of the tree.'),
    cert: z.string().describe("PEM file of the node's certificate."),
    key: z.string().describe('PEM file of its key.'),
    issuer: issuedSchema
      .extend({ cert: z.string(), key: z.string() })
      .optional()
      .describe(
        'PEM files of the certificate and key with which the node signs the certificates of its agents. Absent: `subtreeIssuer` signs them.',
      ),
    subtreeIssuer: z
      .strictObject({ cert: z.string(), key: z.string() })
      .optional()
      .describe(
        'PEM files of the certificate and key with which the node signs the certificates of relays directly below, and their authorities. Absent: it admits no relays.',
      ),
    ...authenticationPki,
  })
  .describe('Certificates from files. The node reads them again when they change.');
const joiningPki = issuedSchema
  .extend({
    joinToken: z.string().min(1).describe('File with a join token. It is needed until the relay has joined.'),
    names: names
      .optional()
      .describe(
        'DNS names and IP addresses that the certificate of the API has to have. The relay asks for another certificate until its parent admits all of them.',
      ),
    ...authenticationPki,
  })
  .describe(
    'A relay with a join token makes its key, and asks its parent for its certificate and for an authority for its subtree. It keeps them in `identity` of the data directory, and renews them at its parent.',
  );
const ownPki = z
  .strictObject({
    tree: dnsNameSchema.describe(
      'The name of the tree. It stands in every certificate, so it can not be changed later.',
    ),
    names: names.default([]).describe('DNS names and IP addresses at which users reach the API.'),
  })
  .describe(
    'A center without a supervisor makes the authority of its tree at its first start, in `pki` of the data directory, and a kubeconfig. It replaces certificates in time.',
  );

const port = z.number().int().min(0).max(65_535).default(0).describe('0: a free port.');
const host = z.string().default('127.0.0.1').describe('An address, for IPv6 without brackets. `::`: all addresses.');

export const nodeConfigSchema = z.strictObject({
  path: z.string().describe('The place in the tree, such as eu:paris. Empty at the center.'),
  data: z.string().describe('Directory of the store.'),
  logFile: z.string().optional().describe('File for the log, in JSON lines. Absent: standard output.'),
  logRotation: logRotationSchema.optional().describe('When a new log file begins.'),
  logLevel: z.enum(['debug', 'info', 'warn', 'error']).default('info').describe('The least level that is written.'),
  statusFile: z
    .string()
    .optional()
    .describe('When the node serves, it writes this file in one step: {url, meshAddress, pid}.'),
  labels: labels.default({}).describe('Labels that Locations below inherit from this node.'),
  parent: z
    .strictObject({
      address: addressSchema.describe('Where the parent listens for children: host:port, or [address]:port for IPv6.'),
      path: z.string().describe('The path of the parent. Empty: the center.'),
      replicas: z
        .array(addressSchema)
        .optional()
        .describe(
          'Addresses of further processes with the path of the parent, in the order in which the node tries them.',
        ),
    })
    .optional()
    .describe('The parent. Absent at the center.'),
  replica: z
    .number()
    .int()
    .min(0)
    .optional()
    .describe('For a relay with replicas: the number of this replica, as in its certificate.'),
  replicas: z.number().int().min(1).max(replicasMax).optional().describe('The number of all replicas of the relay.'),
  link: linkOptionsSchema.prefault({}).describe('How this node reaches its parent.'),
  pki: z.union([givenPki, joiningPki, ownPki]).describe('Keys and certificates.'),
  api: z.strictObject({ host, port }).describe('Where the Kubernetes API listens.'),
  mesh: z
    .strictObject({
      host,
      port,
      terminatedTls: z
        .boolean()
        .default(false)
        .describe(
          'Accepts children without a TLS certificate: a load balancer ends TLS on the way. Such a child proves its identity by a signature.',
        ),
    })
    .describe('Where the node listens for its children.'),
  advertise: z
    .strictObject({
      api: addressSchema
        .optional()
        .describe('host:port of the API for users. `banyan user add` and `banyan kubeconfig` write it.'),
      mesh: addressSchema
        .optional()
        .describe('host:port for children. `banyan join-token` prints it, and `banyan init` takes it from there.'),
    })
    .optional()
    .describe(
      'The addresses at which others reach this node, such as those of a load balancer. Commands read them from its Node object.',
    ),
  streams: z
    .strictObject({
      fromBelow: z
        .boolean()
        .default(false)
        .describe(
          'Whether children may ask for byte streams to nodes that are not below them, in the name of users of their own. AccessGrants decide what a user of a child may do: `eu:alice`.',
        ),
    })
    .optional()
    .describe('Byte streams through the tree.'),
  access: accessSchema.prefault({}).describe('Rights of users whom other nodes have authenticated.'),
  authentication: z
    .strictObject({ file: z.string().min(1).describe('An AuthenticationConfiguration of Kubernetes.') })
    .optional()
    .describe('The issuers of tokens (OpenID Connect) that this node trusts. Absent: it trusts none.'),
  frontProxy: frontProxySchema
    .optional()
    .describe('Proxies that name the user of a request in headers. Absent: such headers mean nothing.'),
  audit: auditConfigSchema.optional().describe('The log of requests. Absent: there is none.'),
  encryption: encryptionConfigSchema
    .optional()
    .describe(
      'Which objects are sealed in the store, and with which keys. Absent: none, and a sealed store is not opened.',
    ),
  spaces: z
    .array(spaceSchema)
    .default([])
    .describe('Kubernetes API endpoints of this node, each with its own objects.'),
  relays: z
    .array(z.string())
    .default([])
    .describe(
      'Names of the relays directly below, as far as they are known beforehand; a replica has its number in the name. A node that lost its store waits for the reports of these relays.',
    ),
  children: childrenSchema.prefault({}).describe('The claims and quotas of children.'),
  limits: limitsSchema
    .optional()
    .describe('Limits of deletions: rows beyond them are held until a person approves their deletion.'),
  egress: egressSchema.prefault({}).describe('Which addresses the node calls for users: webhooks of rollout gates.'),
  inventory: z
    .array(inventoryEntrySchema)
    .default([])
    .describe('Destinations that the node has from the start. The inventory itself is in objects of the system space.'),
});

export type NodeConfig = z.infer<typeof nodeConfigSchema>;
export type InventoryEntry = z.infer<typeof inventoryEntrySchema>;
