/** Attributes of the entries that a parent sends, for the nodes on the way. A node acts on an entry only if the entry fits its schema. */

import * as z from 'zod';
import type { AssociatedItem } from '../match/resource-rules.ts';
import type { UpsyncItem } from '../match/upsync-item.ts';
import type { KubeObject } from '../object/meta.ts';
import { type AttributesOf, entryKeyBytesMax, name, texts, wave, whole } from './shapes.ts';

/** Facts from the origin about each object and placement. `created`: creationTimestamp at the origin. */
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
   * The order of a move that is in effect at the origin. It is on this row and not on the target's, so that a node that gets new destinations also gets the
   * order of the move in the same row.
   */
  move: z
    .object({ order: z.enum(['MakeBeforeBreak', 'BreakBeforeMake']), deadlineSeconds: z.number().min(0) })
    .exactOptional(),
});
export type PlacementAttributes = AttributesOf<typeof placement>;

export const object = z.object({
  ...origin,
  refs,
  /** The placements whose rules for the object all want it created only, sorted. */
  createOnly: refs.exactOptional(),
  /** The placements that do not select the object and have it only because their objects need it (a Namespace, a definition), sorted. */
  implied: refs.exactOptional(),
  /** `namespace/name` of the Customizers that make what a destination gets, in the order of their application. */
  customizers: z.array(z.string()).exactOptional(),
  /** The last hop expands `%(name)` in the object's strings. */
  expand: z.literal(true).exactOptional(),
  /** By placement: names of the StatusSummarizers that its rules for this object name, sorted. */
  summarizers: z.record(z.string(), z.array(z.string())).exactOptional(),
});
export type ObjectAttributes = AttributesOf<typeof object>;

/** Customizers and StatusSummarizers go to the relays that get objects which use them. They never go to agents. */
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
   * Decides, with `created` and `uid`, which source delivers an object that several sources of one depth have: the placement's spec.priority, its
   * creationTimestamp and uid. These attributes are not on the rows of objects, because a destination gets the targets of its own placements only, and a
   * changed priority is one row.
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

/** The parent allows the part of a placement's move that its child reported under this sequence (core/move/move-part.ts). */
export const grant = z.object({ sequence: whole });
export type GrantAttributes = AttributesOf<typeof grant>;

/**
 * A placement was taken from an agent, and the parent wants to know when the placement's last object is gone from the cluster. The agent's answer contains
 * the number of the question. An acknowledgement would not do: it shows that the agent has received the change, not that the agent has acted on it.
 */
export const withdrawn = z.object({ asked: whole });
export type WithdrawnAttributes = AttributesOf<typeof withdrawn>;

/** Sent to agents that may go from one replica to another, and reported by them. */
export const handed = z.object({
  /** The newest release of the placement that was sent to the agent. */
  release: whole,
  /** True: the agent has the candidate, or is about to get it. False: the agent has what was promoted before. */
  handed: z.boolean(),
});
export type HandedAttributes = AttributesOf<typeof handed>;

export const promoted = z.object({
  refs,
  /** Absent: the placement had no such object at its promotion. */
  promoted: object.exactOptional(),
  /** Origin revision of the object's row at the promotion. */
  revision: whole,
});
export type PromotedAttributes = AttributesOf<typeof promoted>;

export const promotedCustomizer = z.object({
  refs,
  /** There was no such Customizer, or no object of the placement used it. */
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

/** The revision gaps of a space that is directly above the receiver (apiserver/storage/history.ts). */
export const incarnations = z.object({ gaps: z.array(z.tuple([whole, whole])) });
export type IncarnationsAttributes = AttributesOf<typeof incarnations>;

/** A person has approved the deletion of the rows that a node holds under this token, or has seen the alarm of this token. */
export const approval = z.object({ token: z.string() });
export type ApprovalAttributes = AttributesOf<typeof approval>;

/** The path of the agent for which a SyncTarget of an inventory space stands. By this path, each relay passes the row to one child. */
export const inventory = z.object({ path: z.string().max(entryKeyBytesMax) });
export type InventoryAttributes = AttributesOf<typeof inventory>;

/** Sent to all replicas: which of them owns a child, and whether the owner may count the child yet. */
export const owner = z.object({ owner: whole, granted: z.boolean(), sequence: whole });
export type OwnerAttributes = AttributesOf<typeof owner>;

/** Sent to a relay: the hash, in hex, of the relay's newest label summary for which all work is done, here and above. */
export const matched = z.object({ labels: z.string() });
export type LabelSummaryAcknowledgedAttributes = AttributesOf<typeof matched>;

/** Sent to replicas: the number of their parent's newest decision, and the replica that counts the children about which nothing was reported. */
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

/** The body of a `u/` row: what an agent reports beside the state of placed objects. A placement without such rules has no such row. */
export interface ReportRules {
  readonly associated: readonly (AssociatedItem & { readonly limit: number })[];
  readonly upsync: readonly UpsyncItem[];
}
