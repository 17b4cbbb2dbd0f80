/** Attributes of the entries that a parent sends to its child. A node acts on an entry only if the entry fits its schema. */

import * as z from 'zod';
import { metricsAccountsMax } from '../authentication/metrics-tokens.ts';
import { bundleBytesMax } from '../identity/trusted-authorities.ts';
import type { DeliveryBounds } from '../match/delivery-bounds.ts';
import type { AssociatedItem } from '../match/resource-rules.ts';
import type { UpsyncItem } from '../match/upsync-item.ts';
import type { KubeObject } from '../object/meta.ts';
import { formerUidsMax } from './former-uids.ts';
import { type AttributesOf, deliveryBounds, entryKeyBytesMax, name, texts, wave, whole } from './shapes.ts';

/** Facts about an object or placement at its origin. `created`: the creationTimestamp. */
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
   * The order of the move that is in effect at the origin. The order is in the placement's row, not in the row of its target: a node that gets new
   * destinations gets them in the placement's row, and needs the order at the same time.
   */
  move: z
    .object({ order: z.enum(['MakeBeforeBreak', 'BreakBeforeMake']), deadlineSeconds: z.number().min(0) })
    .exactOptional(),
  /** The bounds of the space of the placement. Every relay on the way checks them again. Absent: everything may leave the space. */
  delivery: deliveryBounds.exactOptional(),
});
export type PlacementAttributes = Omit<AttributesOf<typeof placement>, 'delivery'> & {
  readonly delivery?: DeliveryBounds;
};

export const object = z.object({
  ...origin,
  refs,
  /** Short uids of deleted objects of this name, oldest first (former-uids.ts). An agent that has one of these objects replaces it. */
  former: z.array(z.string()).max(formerUidsMax).exactOptional(),
  /** Names of the placements whose rules all say that the object is only created and never updated, sorted. */
  createOnly: refs.exactOptional(),
  /** Names of the placements that do not select the object: their objects need it (a Namespace, a CustomResourceDefinition). Sorted. */
  implied: refs.exactOptional(),
  /** Names of the placements with an item that selects the object and has its name in `objectNames`, sorted. */
  named: refs.exactOptional(),
  /** `namespace/name` of the Customizers that change the object for a destination, in the order in which they are applied. */
  customizers: z.array(z.string()).exactOptional(),
  /** The last hop expands `%(name)` in the object's strings. */
  expand: z.literal(true).exactOptional(),
  /** For each placement: the names of the StatusSummarizers that its rules give for this object, sorted. */
  summarizers: z.record(z.string(), z.array(z.string())).exactOptional(),
});
export type ObjectAttributes = AttributesOf<typeof object>;

/** Customizers and StatusSummarizers go only to relays, and only to relays that get an object which uses them. */
export const auxiliary = z.object({ ...origin, refs });
export type AuxiliaryAttributes = AttributesOf<typeof auxiliary>;

/** How the cluster treats objects that a removed object owns; the most careful way first. */
export const propagationPolicy = z.enum(['Orphan', 'Foreground', 'Background']);
export type PropagationPolicy = z.infer<typeof propagationPolicy>;

export const target = z.object({
  generation: whole,
  /** Revision of the origin's space at which the set or content of the placement's objects last changed. */
  target: whole,
  /**
   * spec.reportedState. `Exact`: the placement wants the status of its objects only while it matches one destination in the whole tree. `None`: it wants none.
   * Absent: it wants the aggregate of all destinations.
   */
  reportedState: z.enum(['Exact', 'None']).exactOptional(),
  /**
   * The placement's spec.priority. If several sources of the same depth have the same object, then `priority`, `created` (creationTimestamp) and `uid` of
   * their placements decide which source delivers it. The rows of objects do not have these attributes, for two reasons: a destination gets only the targets
   * of its own placements, and a changed priority changes only one row.
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

/** The parent allows the part of a placement's move that the child reported with this sequence (core/move/move-part.ts). */
export const grant = z.object({ sequence: whole });
export type GrantAttributes = AttributesOf<typeof grant>;

/**
 * The parent has removed a placement from an agent, and asks when the placement's last object is gone from the cluster. `asked` is the number of the
 * question; the agent's answer (`gone/`) repeats it. An acknowledgement of the feed is not enough: it shows only that the agent has received the change,
 * not that the objects are gone.
 */
export const withdrawn = z.object({ asked: whole });
export type WithdrawnAttributes = AttributesOf<typeof withdrawn>;

/** Record of the release that an agent was handed. Replicas send it to the agent (`h/`), and the agent reports it to its next parent (`has/`). */
export const handed = z.object({
  /** The newest release of the placement that was sent to the agent. */
  release: whole,
  /** True: the agent has the candidate, or is about to get it. False: the agent has the promoted objects. */
  handed: z.boolean(),
});
export type HandedAttributes = AttributesOf<typeof handed>;

export const promoted = z.object({
  refs,
  /** Absent: the placement did not have this object at its last promotion. */
  promoted: object.exactOptional(),
  /** Origin revision of the object's row at the last promotion. */
  revision: whole,
});
export type PromotedAttributes = AttributesOf<typeof promoted>;

export const promotedCustomizer = z.object({
  refs,
  /** At the last promotion, this Customizer did not exist, or no object of the placement used it. */
  absent: z.literal(true).exactOptional(),
  revision: whole,
});
export type PromotedCustomizerAttributes = AttributesOf<typeof promotedCustomizer>;

const amount = z.union([z.number(), z.string()]);
/** The data with which a last hop decides who gets a release. core/rollout/release.ts has the type. */
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

/** The path of the agent that a SyncTarget of an inventory space represents. Each relay passes the row only to the child on the way to this agent. */
export const inventory = z.object({ path: z.string().max(entryKeyBytesMax) });
export type InventoryAttributes = AttributesOf<typeof inventory>;

/** Sent to all replicas: the replica that owns a child, and whether this owner may count the child yet. */
export const owner = z.object({ owner: whole, granted: z.boolean(), sequence: whole });
export type OwnerAttributes = AttributesOf<typeof owner>;

/** Sent to a relay: the hash (hex) of its newest label summary for which the parent, and all nodes above the parent, have sent all matching entries. */
export const matched = z.object({ labels: z.string() });
export type LabelSummaryAcknowledgedAttributes = AttributesOf<typeof matched>;

/** Sent to replicas: the number of the parent's newest decision about owners, and the replica that counts each child without an `owner` row. */
export const replicas = z.object({ term: whole, lead: whole });
export type ReplicasAttributes = AttributesOf<typeof replicas>;

/** Attributes of rows that nodes send because placements want them. `refs`: the names of these placements. */
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

/** The body of a `u/` row: what agents report in addition to the state of placed objects. A placement without these rules has no `u/` row. */
export interface ReportRules {
  readonly associated: readonly (AssociatedItem & { readonly limit: number })[];
  readonly upsync: readonly UpsyncItem[];
}

/** For each revoked user, and for the path of each revoked node, the time of the last revocation, in ms of the wall clock: older certificates are refused. */
export const revoked = z.object({
  users: z.record(z.string(), whole),
  nodes: z.record(z.string(), whole).exactOptional(),
});
export type RevokedAttributes = AttributesOf<typeof revoked>;

/**
 * `bundle`: the authorities of nodes, and their introductions (core/identity/trusted-authorities.ts). `signsWith`: the authority to which the certificates lead that
 * the parent signs now. Absent: the parent signs none.
 */
export const authorities = z.object({
  bundle: z.string().max(bundleBytesMax),
  signsWith: z.string().max(64).exactOptional(),
});
export type AuthoritiesAttributes = AttributesOf<typeof authorities>;

/** Limit for the nodes above in one entry: no tree is as deep. */
export const issuersMax = 64;
/** A node has one key, and a second one while it changes keys. */
const keysMax = 8;

/** For each node above: its path, the public keys of its tokens (SubjectPublicKeyInfo in base64), and the ServiceAccounts that may read metrics. */
export const metricsIssuers = z.object({
  issuers: z
    .array(
      z.object({
        path: z.string(),
        keys: z.array(z.object({ id: z.string(), spki: z.string() })).max(keysMax),
        accounts: z.array(z.object({ namespace: name, name, uid: z.string() })).max(metricsAccountsMax),
      }),
    )
    .max(issuersMax),
});
export type MetricsIssuersAttributes = AttributesOf<typeof metricsIssuers>;
