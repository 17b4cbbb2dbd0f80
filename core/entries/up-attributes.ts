/** Attributes of the entries that a child reports: what its parent demands before it acts on them. */
import * as z from 'zod';
import { handed, withdrawn } from './down-attributes.ts';
import { parseServed, servedMax } from './served-resources.ts';
import { type AttributesOf, texts, whole } from './shapes.ts';

export const state = z.object({
  /** Origin revision of the content that the state is about. */
  desired: whole,
  applied: z.boolean(),
  available: z.boolean(),
  /** The object will not become available by itself. */
  failed: z.literal(true).exactOptional(),
  /** Generation of the origin's object that the cluster has accepted last, and the one that its object has there. */
  generation: whole.exactOptional(),
  local: whole.exactOptional(),
  reason: z.string().exactOptional(),
  message: z.string().exactOptional(),
});
export type StateAttributes = AttributesOf<typeof state>;

/** Of an object that is owned, over any number of steps, by a placed one; the body is the whole object as its cluster has it. */
export const associated = z.object({
  /** Key of the placed object. */
  owner: z.string(),
  namespaced: z.boolean(),
  /** Names of the placements, of the key's source, whose rules ask for it, sorted. */
  refs: z.array(z.string()),
});
export type AssociatedAttributes = AttributesOf<typeof associated>;

/** Of an object that was born at the edge; the body is the whole object as its cluster has it. */
export const upsynced = z.object({
  /** Names of placements of the key's source. */
  refs: z.array(z.string()),
  namespaced: z.boolean(),
  /** Center: handed on from node to node until the one that has the source. */
  returnTo: z.enum(['Parent', 'Center']),
});
export type UpsyncedAttributes = AttributesOf<typeof upsynced>;

export const status = z.object({ target: whole });

/** The newest revision of the source's space that a node below has had. */
export const seen = z.object({ revision: whole });
export type SeenAttributes = AttributesOf<typeof seen>;

/** From a replica: a child has attached to it with this sequence. */
export const attach = z.object({ sequence: whole, role: z.enum(['relay', 'agent']) });
export type AttachAttributes = AttributesOf<typeof attach>;

/** From a replica: what it reported before this entry leaves out what is not its own by this term. */
export const replicaTerm = z.object({ term: whole });
export type ReplicaTermAttributes = AttributesOf<typeof replicaTerm>;

export const gone = withdrawn;
export type GoneAttributes = AttributesOf<typeof gone>;
export const has = handed;

const held = z.object({ entries: whole, since: z.string(), token: z.string(), sample: z.array(z.string()) });
export type HeldAttributes = AttributesOf<typeof held>;

const rolledBack = z.object({
  source: z.string(),
  /** The revision that its store had, and the newest that a node below has seen. */
  had: whole,
  seen: whole,
  since: z.string(),
  token: z.string(),
});
export type RolledBackAttributes = AttributesOf<typeof rolledBack>;

/** Entries that are not what their keys say: how many, and some of them for people to read. */
const quarantined = z.object({ count: whole, sample: z.array(z.string()) });
export type QuarantinedAttributes = AttributesOf<typeof quarantined>;

/** Of the feed from its parent: that its ends differed, when and in what. */
const diverged = z.object({ at: z.string(), what: z.string() });
export type DivergedAttributes = AttributesOf<typeof diverged>;

/** Of a child of replicas: since when it takes nothing from the one that it is attached to, and what that one lacks. */
const waits = z.object({ since: z.string(), for: z.string() });
export type WaitsAttributes = AttributesOf<typeof waits>;

/** Why an agent's cluster cannot be used, or not as it should be, and the like. `reason` is CamelCase. */
const trouble = z.object({ reason: z.string(), message: z.string() });
export type TroubleAttributes = AttributesOf<typeof trouble>;

/** What a node reports of itself; its parent adds session and lag when it hands a relay's entry on. */
export const node = z.object({
  role: z.enum(['relay', 'agent']),
  version: z.string(),
  /** Of a relay: its own children, and the relays and agents anywhere below it. */
  children: whole.exactOptional(),
  relays: whole.exactOptional(),
  agents: whole.exactOptional(),
  session: z
    .object({ state: z.enum(['Connected', 'Disconnected']), since: z.string().exactOptional() })
    .exactOptional(),
  lag: z.object({ entries: whole }).exactOptional(),
  /** What the node keeps although its parent lacks it (feed/deletions.ts). */
  held: held.exactOptional(),
  /** Of a relay: sources whose spaces were put back to an older copy. */
  rolledBack: z.array(rolledBack).exactOptional(),
  quarantined: quarantined.exactOptional(),
  diverged: diverged.exactOptional(),
  waits: waits.exactOptional(),
  /** What its parent keeps in its mailbox although it reports fewer places; added by the parent. */
  heldInMailbox: held.exactOptional(),
  /** The disk of its store is nearly full. */
  diskLow: z.literal(true).exactOptional(),
  /** What its parent cannot take of what it reports; added by the parent. */
  refused: quarantined.exactOptional(),
  /** Of an agent: the version of its cluster. */
  kubernetesVersion: z.string().exactOptional(),
  /** Of an agent: why its cluster cannot be used, or not as it should be. */
  trouble: trouble.exactOptional(),
  /** Of an agent: which of its own limits its work waits for. */
  limit: trouble.exactOptional(),
  /** Of an agent: why its own certificate is not renewed, and when it ends. */
  certificateTrouble: trouble.exactOptional(),
  /** Of an agent: what it could not learn of its cluster. */
  incomplete: trouble.exactOptional(),
  /** Of its API server: `linux/amd64`. */
  platform: z.string().max(100).exactOptional(),
  nodes: whole.exactOptional(),
  nodesReady: whole.exactOptional(),
  /** By `formatServed` (served-resources.ts), and how many there are in all. */
  served: z
    .array(z.string().refine((one) => parseServed(one) !== undefined, 'is no served resource'))
    .max(servedMax)
    .exactOptional(),
  servedCount: whole.exactOptional(),
  capacity: texts.exactOptional(),
  allocatable: texts.exactOptional(),
});
export type NodeAttributes = AttributesOf<typeof node>;
