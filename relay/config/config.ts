/** The configuration of a relay or the center: one YAML file, checked whole before anything starts. */
import * as z from 'zod';
import { limitsSchema } from '../../core/entries/deletion-guard.ts';
import { issuedSchema } from '../../core/identity/certificate-validity.ts';
import { replicasMax } from '../../core/identity/replica.ts';
import { logRotationSchema } from '../../core/runtime/log-rotation.ts';
import { linkOptionsSchema } from '../../core/wire/dialer/link-options.ts';

const labels = z.record(z.string(), z.string());

export const inventoryEntrySchema = z.strictObject({
  name: z.string(),
  labels: labels.default({}),
  annotations: labels.default({}),
  properties: labels.default({}),
});

export const nodeConfigSchema = z.strictObject({
  /** Empty at the center. */
  path: z.string(),
  /** Directory of the node's store. */
  data: z.string(),
  /** JSON lines; absent: standard output. */
  logFile: z.string().optional(),
  logRotation: logRotationSchema.optional(),
  logLevel: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  /** Written whole once the node serves: {url, meshAddress, pid}. */
  statusFile: z.string().optional(),
  /** What Locations below inherit from this node. */
  labels: labels.default({}),
  /** `replicas`: addresses of further processes with the parent's path, in the order in which they are tried when it does not answer. */
  parent: z
    .strictObject({ address: z.string(), path: z.string(), replicas: z.array(z.string()).optional() })
    .optional(),
  /** Of a relay with replicas: which of them this is, as its certificate says, and how many there are. */
  replica: z.number().int().min(0).optional(),
  replicas: z.number().int().min(1).max(replicasMax).optional(),
  /** How the parent is reached. */
  link: linkOptionsSchema.prefault({}),
  pki: z.strictObject({
    ca: z.string(),
    cert: z.string(),
    key: z.string(),
    /** What it signs the certificates of its agents with; absent: it gives none. */
    issuer: issuedSchema.extend({ cert: z.string(), key: z.string() }).optional(),
  }),
  api: z.strictObject({ host: z.string().default('127.0.0.1'), port: z.number().int().min(0).max(65_535).default(0) }),
  mesh: z.strictObject({
    host: z.string().default('127.0.0.1'),
    port: z.number().int().min(0).max(65_535).default(0),
    /** Takes children without a certificate of TLS, who prove who they are by signature: a load balancer terminates TLS on the way. */
    terminatedTls: z.boolean().default(false),
  }),
  streams: z
    .strictObject({
      /** Whether children may ask for byte streams to nodes that are not below them, in the name of any user: whoever has such a child's key may then do everything here. */
      fromBelow: z.boolean().default(false),
    })
    .optional(),
  spaces: z
    .array(z.strictObject({ name: z.string(), type: z.enum(['Workload', 'Inventory', 'System']).default('Workload') }))
    .default([]),
  /** Names of the relays right below, each sibling with its number, as far as they are known beforehand: a node that lost its store waits for their word. */
  relays: z.array(z.string()).default([]),
  /** What it keeps back until a person has said so. */
  limits: limitsSchema.optional(),
  /** Destinations that this node knows from the start; the inventory itself is objects of the system space. */
  inventory: z.array(inventoryEntrySchema).default([]),
});

export type NodeConfig = z.infer<typeof nodeConfigSchema>;
export type InventoryEntry = z.infer<typeof inventoryEntrySchema>;
