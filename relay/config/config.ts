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
import { addressSchema, dnsNameSchema, hostSchema } from '../../core/runtime/checked-text.ts';
import { egressSchema } from '../../core/runtime/egress.ts';
import { logRotationSchema } from '../../core/runtime/log-rotation.ts';
import { linkOptionsSchema } from '../../core/wire/dialer/link-options.ts';

const labels = z.record(z.string(), z.string());

export const inventoryEntrySchema = z.strictObject({
  name: z.string(),
  labels: labels.default({}),
  annotations: labels.default({}),
  properties: labels.default({}),
});

export const accessSchema = z.strictObject({
  /**
   * What users of nodes above may do at this node, at its spaces and below. `grants`: what the node's own roles and AccessGrants say about `center:alice`.
   * `none`: nothing. Everything else is the name of a ClusterRole of the node, which all these users have.
   */
  fromAbove: z.string().min(1).default('grants'),
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
  /** For each child that has no quota of its own. */
  quota: z
    .strictObject({ entries: quota.entries.default(1_000_000), bytes: quota.bytes.default(2 ** 30) })
    .prefault({}),
  /** The claims of relays that have none of their own. Absent: a relay may claim everything except the path of another node. */
  claims: claimsSchema.optional(),
  /**
   * Keyed by the name of the child, without a replica number. `given`: what the topology gives the subtree; always allowed. `claims` and `quota`: the Node object
   * of the child wins (`spec.claims`, `spec.quota`).
   */
  named: z
    .record(
      z.string(),
      z.strictObject({
        given: claimsSchema.optional(),
        claims: claimsSchema.optional(),
        quota: childQuotaSchema.optional(),
      }),
    )
    .default({}),
});
export type ChildrenConfig = z.infer<typeof childrenSchema>;
const names = z.array(hostSchema);

/** Keys for the authentication of users, beside the certificates of the node. */
const authenticationPki = {
  /**
   * The file with the keys that sign the tokens of ServiceAccounts, for a relay with replicas: private keys of the curve P-256 in PEM. The first one signs; the tokens
   * of all are good. Absent: the node makes a key of its own.
   */
  tokenKeys: z.string().min(1).optional(),
  users: z
    .strictObject({
      ...usersSchema.shape,
      /** The certificate and key with which the node signs approved CertificateSigningRequests of users. Absent: it signs none. */
      signer: z.strictObject({ cert: z.string(), key: z.string() }).optional(),
    })
    .optional(),
};

export const nodeConfigSchema = z.strictObject({
  /** Empty at the center. */
  path: z.string(),
  /** Directory of the node's store. */
  data: z.string(),
  /** The file for the log, in JSON lines. Absent: standard output. */
  logFile: z.string().optional(),
  logRotation: logRotationSchema.optional(),
  logLevel: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  /** When the node serves, it writes this file in one step: {url, meshAddress, pid}. */
  statusFile: z.string().optional(),
  /** Labels that Locations below inherit from this node. */
  labels: labels.default({}),
  /** `replicas`: addresses of further processes with the path of the parent. The node tries them in this order when the parent does not answer. */
  parent: z
    .strictObject({ address: addressSchema, path: z.string(), replicas: z.array(addressSchema).optional() })
    .optional(),
  /** For a relay with replicas: the number of this replica, as in its certificate, and the number of all replicas. */
  replica: z.number().int().min(0).optional(),
  replicas: z.number().int().min(1).max(replicasMax).optional(),
  /** How this node reaches its parent. */
  link: linkOptionsSchema.prefault({}),
  pki: z.union([
    z.strictObject({
      ca: z.string(),
      cert: z.string(),
      key: z.string(),
      /** The certificate and key with which the node signs the certificates of its agents. Absent: `subtreeIssuer` signs them. */
      issuer: issuedSchema.extend({ cert: z.string(), key: z.string() }).optional(),
      /** The certificate and key with which the node signs the certificates of relays directly below, and their authorities. Absent: it admits no relays. */
      subtreeIssuer: z.strictObject({ cert: z.string(), key: z.string() }).optional(),
      ...authenticationPki,
    }),
    /**
     * A file with a join token. The relay makes its key and asks its parent once for its certificate, and for an authority for its subtree. It stores all of
     * them in its data directory, and renews them at its parent.
     */
    issuedSchema.extend({ joinToken: z.string().min(1), names: names.optional(), ...authenticationPki }),
    /** Only at a center without a supervisor: it makes the authority of its tree at its first start, in `pki` of its data directory. */
    z.strictObject({
      /** The name of the tree. It stands in every certificate, so it can't be changed later. */
      tree: dnsNameSchema,
      /** DNS names and IP addresses at which clients reach the API. */
      names: names.default([]),
    }),
  ]),
  api: z.strictObject({ host: z.string().default('127.0.0.1'), port: z.number().int().min(0).max(65_535).default(0) }),
  mesh: z.strictObject({
    host: z.string().default('127.0.0.1'),
    port: z.number().int().min(0).max(65_535).default(0),
    /** Accepts children without a TLS certificate: a load balancer ends TLS on the way. Such a child proves its identity by a signature. */
    terminatedTls: z.boolean().default(false),
  }),
  streams: z
    .strictObject({
      /**
       * Whether children may ask for byte streams to nodes that are not below them, in the name of users of their own. AccessGrants decide what a user of a
       * child may do: `eu:alice`.
       */
      fromBelow: z.boolean().default(false),
    })
    .optional(),
  access: accessSchema.prefault({}),
  /** The file with the issuers of tokens that this node trusts (core/authentication/oidc-config.ts). Absent: it trusts none. */
  authentication: z.strictObject({ file: z.string().min(1) }).optional(),
  /** Proxies that name the user of a request in headers. Absent: such headers mean nothing. */
  frontProxy: frontProxySchema.optional(),
  /** The log of requests. Absent: there is none. */
  audit: auditConfigSchema.optional(),
  /** Which objects are sealed in the store, and with which keys. Absent: none, and a sealed store is not opened. */
  encryption: encryptionConfigSchema.optional(),
  spaces: z.array(spaceSchema).default([]),
  /**
   * Names of the relays directly below, as far as they are known beforehand; a replica has its number in the name. A node that lost its store waits for
   * the reports of these relays.
   */
  relays: z.array(z.string()).default([]),
  /** The claims and quotas of children. */
  children: childrenSchema.prefault({}),
  /** Limits of deletions: rows beyond them are held until a person approves their deletion. */
  limits: limitsSchema.optional(),
  /** Which addresses the node calls for users: webhooks of rollout gates. */
  egress: egressSchema.prefault({}),
  /** Destinations that the node has from the start. The inventory itself is in objects of the system space. */
  inventory: z.array(inventoryEntrySchema).default([]),
});

export type NodeConfig = z.infer<typeof nodeConfigSchema>;
export type InventoryEntry = z.infer<typeof inventoryEntrySchema>;
