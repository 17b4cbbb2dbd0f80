/** Attributes of the entries that a child reports. A parent acts on an entry only if the entry fits its schema. */
import * as z from 'zod';
import { authoritiesMax } from '../identity/trusted-authorities.ts';
import { handed, withdrawn } from './down-attributes.ts';
import { parseServed, servedMax } from './served-resources.ts';
import { type AttributesOf, texts, whole } from './shapes.ts';

export const state = z.object({
  /** Origin revision of the object content that this state describes. */
  desired: whole,
  /** The form of the origin's object that this state describes. Absent: the agent does not know it. */
  form: z.object({ uid: z.string(), generation: whole }).exactOptional(),
  applied: z.boolean(),
  available: z.boolean(),
  /** The object will not become available by itself. */
  failed: z.literal(true).exactOptional(),
  /** `generation`: the newest generation of the object at its origin that the cluster has accepted. `local`: the generation of the object on the cluster. */
  generation: whole.exactOptional(),
  local: whole.exactOptional(),
  reason: z.string().exactOptional(),
  message: z.string().exactOptional(),
});
export type StateAttributes = AttributesOf<typeof state>;

/** An object that a placed object owns, directly or through other objects. The body is the whole object of the cluster. */
export const associated = z.object({
  /** Key of the placed object. */
  owner: z.string(),
  namespaced: z.boolean(),
  /** Names of the placements, of the key's source, whose rules ask for this object, sorted. */
  refs: z.array(z.string()),
});
export type AssociatedAttributes = AttributesOf<typeof associated>;

/** An object that was created at the edge cluster. The body is the whole object. */
export const upsynced = z.object({
  /** Names of placements of the key's source. */
  refs: z.array(z.string()),
  namespaced: z.boolean(),
  /** `Center`: each node passes the object on, up to the node that has the source. */
  returnTo: z.enum(['Parent', 'Center']),
});
export type UpsyncedAttributes = AttributesOf<typeof upsynced>;

/** The object that the status partial is about, as the reporting relay knows it. */
export const aggregate = z.object({ uid: z.string(), generation: whole });
export type AggregateAttributes = AttributesOf<typeof aggregate>;

/** The newest revision of the source's space that a node below has received. */
export const seen = z.object({ revision: whole });
export type SeenAttributes = AttributesOf<typeof seen>;

/** Reported by a replica: a child has attached to it with this sequence. */
export const attach = z.object({ sequence: whole, role: z.enum(['relay', 'agent']) });
export type AttachAttributes = AttributesOf<typeof attach>;

/** Reported by a replica: the replica has carried out this term. Its entries before this one do not count the children that other replicas own by this term. */
export const replicaTerm = z.object({ term: whole });
export type ReplicaTermAttributes = AttributesOf<typeof replicaTerm>;

export const gone = withdrawn;
export type GoneAttributes = AttributesOf<typeof gone>;
export const has = handed;

/** Paths of nodes that still depend on an authority, in one list: a person looks at these first. */
export const dependentsShownMax = 5;

const held = z.object({ entries: whole, since: z.string(), token: z.string(), sample: z.array(z.string()) });
export type HeldAttributes = AttributesOf<typeof held>;

const rolledBack = z.object({
  source: z.string(),
  /** `had`: the revision that the space's store had. `seen`: the newest revision that a node below has received. */
  had: whole,
  seen: whole,
  since: z.string(),
  token: z.string(),
});
export type RolledBackAttributes = AttributesOf<typeof rolledBack>;

/** Quarantined entries: their number, and a few of them with the reason, for people. */
const quarantined = z.object({ count: whole, sample: z.array(z.string()) });
export type QuarantinedAttributes = AttributesOf<typeof quarantined>;

/** When and how the two ends of the feed from the parent differed. */
const diverged = z.object({ at: z.string(), what: z.string() });
export type DivergedAttributes = AttributesOf<typeof diverged>;

/** The child does not follow its present parent, a replica that is behind: since when, and what the replica still lacks. */
const waits = z.object({ since: z.string(), for: z.string() });
export type WaitsAttributes = AttributesOf<typeof waits>;

/** A problem of an agent, for example that the agent cannot use its cluster. `reason` is CamelCase. */
const trouble = z.object({ reason: z.string(), message: z.string() });
export type TroubleAttributes = AttributesOf<typeof trouble>;

/** Stands for all authorities that a node does not trust, and for those of nodes of a version that does not report the authority. */
export const otherAuthority = 'other';

/** How many nodes have a certificate that leads to each authority, and some of their paths. Keyed by the id of the authority (`authorityId`), or `otherAuthority`. */
const dependents = z
  .record(z.string().max(64), z.object({ nodes: whole, sample: z.array(z.string()).max(dependentsShownMax) }))
  .refine((one) => Object.keys(one).length <= authoritiesMax + 1, 'has more authorities than a node trusts');
export type Dependents = AttributesOf<typeof dependents>;

/** The report of a node about itself. The parent adds `session` and `lag` when it passes on the entry. */
export const node = z.object({
  role: z.enum(['relay', 'agent']),
  version: z.string(),
  /** Relays only: the number of direct children, and the numbers of all relays and all agents below. */
  children: whole.exactOptional(),
  relays: whole.exactOptional(),
  agents: whole.exactOptional(),
  session: z
    .object({ state: z.enum(['Connected', 'Disconnected', 'Never']), since: z.string().exactOptional() })
    .exactOptional(),
  lag: z.object({ entries: whole }).exactOptional(),
  /** Rows that the node holds and its parent lacks (feed/deletions.ts). */
  held: held.exactOptional(),
  /** Relays only: sources whose spaces were restored from an older copy. */
  rolledBack: z.array(rolledBack).exactOptional(),
  quarantined: quarantined.exactOptional(),
  diverged: diverged.exactOptional(),
  waits: waits.exactOptional(),
  /** Rows that stay in the node's mailbox although the node now reports fewer Locations: the parent holds them. The parent adds this field. */
  heldInMailbox: held.exactOptional(),
  /** The disk of the node's store is nearly full. */
  diskLow: z.literal(true).exactOptional(),
  /** Reported entries that the parent refused. The parent adds this field. */
  refused: quarantined.exactOptional(),
  /** Agents only: the version of the cluster. */
  kubernetesVersion: z.string().exactOptional(),
  /** Agents only: why the agent cannot use its cluster, or cannot use all of it. */
  trouble: trouble.exactOptional(),
  /** Agents only: the limit of the agent itself that its work waits for. */
  limit: trouble.exactOptional(),
  /** Agents only: why the agent's certificate was not renewed, and when it expires. */
  certificateTrouble: trouble.exactOptional(),
  /** The id of the authority to which the node's certificate leads, and the ids of all authorities that the node trusts. */
  authority: z.string().max(64).exactOptional(),
  trusts: z.array(z.string().max(64)).max(authoritiesMax).exactOptional(),
  /** Relays only: the nodes at and below the relay that depend on each authority. */
  dependents: dependents.exactOptional(),
  /** Agents only: what the site does not accept (`accept` of its configuration). */
  notAccepted: trouble.exactOptional(),
  /** Agents only: objects that several sources deliver, with the names of the sources. Tenants do not see these names. */
  sourceConflict: trouble.exactOptional(),
  /** Agents only: the facts about the cluster that the agent could not read. */
  incomplete: trouble.exactOptional(),
  /** Agents only: the platform of the API server, `linux/amd64`. */
  platform: z.string().max(100).exactOptional(),
  nodes: whole.exactOptional(),
  nodesReady: whole.exactOptional(),
  /** `served`: texts that `formatServed` makes (served-resources.ts). `servedCount`: the number of all served resources, also those that `served` leaves out. */
  served: z
    .array(z.string().refine((one) => parseServed(one) !== undefined, 'is no served resource'))
    .max(servedMax)
    .exactOptional(),
  servedCount: whole.exactOptional(),
  /** Agents only: objects are at the cluster that the agent has delivered. */
  delivered: z.literal(true).exactOptional(),
  capacity: texts.exactOptional(),
  allocatable: texts.exactOptional(),
});
export type NodeAttributes = AttributesOf<typeof node>;
