/** Attributes of the entries that a parent sends: what the nodes on the way read. The schema of each is what a node demands before it acts on the entry. */

import * as z from 'zod';
import type { AssociatedItem } from '../match/resource-rules.ts';
import type { UpsyncItem } from '../match/upsync-item.ts';
import type { KubeObject } from '../object/meta.ts';
import { type AttributesOf, entryKeyBytesMax, name, texts, wave, whole } from './shapes.ts';

/** Facts that the origin knows of each object and placement. `created`: creationTimestamp at the origin. */
const origin = { uid: z.string(), created: z.string(), generation: whole };
/** Names of the placements (of the same source) that want the row, sorted. */
const refs = z.array(name);

export const tree = z.object({
  path: z.string(),
  /** Labels that Locations below inherit from the relays above the receiver, and from the receiver. */
  labels: texts,
});
export type TreeAttributes = AttributesOf<typeof tree>;

export const placement = z.object({
  ...origin,
  /**
   * The order of a move, as the origin found it in effect. On this row and not on the target's: whoever learns that other places match now learns with it in
   * which order to go there.
   */
  move: z
    .object({ order: z.enum(['MakeBeforeBreak', 'BreakBeforeMake']), deadlineSeconds: z.number().min(0) })
    .exactOptional(),
});
export type PlacementAttributes = AttributesOf<typeof placement>;

export const object = z.object({
  ...origin,
  refs,
  /** Those of the placements whose rules for the object all say that it is only to be made, sorted. */
  createOnly: refs.exactOptional(),
  /** Those of the placements that do not select the object and have it only because their objects need it (a Namespace, a definition), sorted. */
  implied: refs.exactOptional(),
  /** `namespace/name` of the Customizers that make what a destination gets, in the order of their application. */
  customizers: z.array(z.string()).exactOptional(),
  /** `%(name)` in the object's strings is expanded. */
  expand: z.literal(true).exactOptional(),
  /** By placement: names of the StatusSummarizers that its rules for this object name, sorted. */
  summarizers: z.record(z.string(), z.array(z.string())).exactOptional(),
});
export type ObjectAttributes = AttributesOf<typeof object>;

/** Customizers and StatusSummarizers go to the relays that get objects which use them, and never to agents. */
export const auxiliary = z.object({ ...origin, refs });
export type AuxiliaryAttributes = AttributesOf<typeof auxiliary>;

/** How the cluster treats objects that a removed object owns; the most careful way first. */
export const propagationPolicy = z.enum(['Orphan', 'Foreground', 'Background']);
export type PropagationPolicy = z.infer<typeof propagationPolicy>;

export const target = z.object({
  generation: whole,
  /** Revision of the origin's space at which the set or content of the placement's objects last changed. */
  target: whole,
  /** The placement wants exact state when it matches one destination in all. */
  singleton: z.boolean(),
  /**
   * Decides, with `created` and `uid`, between sources of one depth that deliver the same object: the placement's spec.priority, its creationTimestamp and uid.
   * Here and not on the objects' rows: a destination has the targets of those placements only that reach it, and a changed priority is one row.
   */
  priority: z.number(),
  created: z.string(),
  uid: z.string(),
  /** spec.deletion.propagationPolicy, unless it is Background. */
  deletion: propagationPolicy.exactOptional(),
  /** spec.drift, spec.adopt and spec.replace, as far as they are not the defaults (apply-rules.ts). */
  apply: z
    .object({
      drift: z.enum(['Correct', 'Report', 'Ignore']).exactOptional(),
      ignored: z.array(z.string()).exactOptional(),
      adopt: z.enum(['IfUnowned', 'Always', 'Never']).exactOptional(),
      replace: z.boolean().exactOptional(),
    })
    .exactOptional(),
});
export type TargetAttributes = AttributesOf<typeof target>;

/** A parent allows its child the part of a placement's move that the child reported under this sequence (core/move/move-part.ts). */
export const grant = z.object({ sequence: whole });
export type GrantAttributes = AttributesOf<typeof grant>;

/**
 * A placement was taken from an agent, and its parent wants to know when the last of its objects has gone from the cluster. The agent's answer has the number
 * of the question: an acknowledged mailbox says that an agent has received something, not that it has acted on it.
 */
export const withdrawn = z.object({ asked: whole });
export type WithdrawnAttributes = AttributesOf<typeof withdrawn>;

/** To agents that may go from one replica to another, and from them. */
export const handed = z.object({
  /** The newest release of the placement that the agent was sent. */
  release: whole,
  /** The agent has its candidate, or is about to; false: it has what was promoted before. */
  handed: z.boolean(),
});
export type HandedAttributes = AttributesOf<typeof handed>;

export const promoted = z.object({
  refs,
  /** Absent: the placement had no such object then. */
  promoted: object.exactOptional(),
  /** Origin revision of the object's row then. */
  revision: whole,
});
export type PromotedAttributes = AttributesOf<typeof promoted>;

export const promotedCustomizer = z.object({
  refs,
  /** There was none, or nothing of the placement used it. */
  absent: z.literal(true).exactOptional(),
  revision: whole,
});
export type PromotedCustomizerAttributes = AttributesOf<typeof promotedCustomizer>;

const amount = z.union([z.number(), z.string()]);
/** The facts by which a last hop decides about a release. The type is in core/rollout/release.ts. */
export const release = z.looseObject({
  refs,
  release: whole,
  number: whole,
  salt: z.string(),
  wave: z.number().int(),
  halted: z.boolean(),
  waves: z.array(wave),
  drawn: z.array(z.number()).nullable(),
  maxUnavailable: amount.optional(),
  errorBudget: amount,
  ratePerMinute: z.number().optional(),
  lease: z.number(),
  authorizationSeconds: z.number(),
  expected: whole,
  target: whole,
  promotedTarget: whole,
  held: whole,
  digest: z.string(),
});

/** Ranges of revisions that the space of a source knows nothing of (apiserver/storage/history.ts). The space is right above the receiver. */
export const incarnations = z.object({ gaps: z.array(z.tuple([whole, whole])) });
export type IncarnationsAttributes = AttributesOf<typeof incarnations>;

/** The rows that a node holds under this token may be deleted, or the alarm of this token is known to a person. */
export const approval = z.object({ token: z.string() });
export type ApprovalAttributes = AttributesOf<typeof approval>;

/** The path of the agent that a SyncTarget of an inventory space stands for. By this path each relay hands the row to one child. */
export const inventory = z.object({ path: z.string().max(entryKeyBytesMax) });
export type InventoryAttributes = AttributesOf<typeof inventory>;

/** To all replicas: to which of them a child belongs, and whether that one may count it yet. */
export const owner = z.object({ owner: whole, granted: z.boolean(), sequence: whole });
export type OwnerAttributes = AttributesOf<typeof owner>;

/** To a relay: the hash, in hex, of the newest label summary that it reported and that is worked off, here and above. */
export const matched = z.object({ labels: z.string() });
export type LabelSummaryAcknowledgedAttributes = AttributesOf<typeof matched>;

/** To replicas: the number of what their parent has decided so far, and the replica that counts the children of which nothing was reported. */
export const replicas = z.object({ term: whole, lead: whole });
export type ReplicasAttributes = AttributesOf<typeof replicas>;

/** Attributes of rows that travel because placements want them. */
export interface RefsAttributes {
  readonly refs: readonly string[];
}

/** Attributes of rows about an object of the origin. */
export type OriginAttributes = AttributesOf<z.ZodObject<typeof origin>>;

/** The body of an `i/` row: the SyncTarget, and the Locations of its space that select it, by name. */
export interface InventoryBody {
  readonly syncTarget: KubeObject;
  readonly locations: readonly KubeObject[];
}

/** The body of a `u/` row: what an agent reports beside the state of what was placed. There is none for a placement without such rules. */
export interface ReportRules {
  readonly associated: readonly (AssociatedItem & { readonly limit: number })[];
  readonly upsync: readonly UpsyncItem[];
}
