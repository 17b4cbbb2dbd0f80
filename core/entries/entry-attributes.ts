/** The attributes of entries, as docs/architecture.md lists them: what the nodes on the way read, and what some bodies are. The keys are in entries.ts. */

import type { Gap } from '../apiserver/storage/history.ts';
import type { AssociatedItem } from '../match/resource-rules.ts';
import type { UpsyncItem } from '../match/upsync-item.ts';
import type { Move } from '../move/move.ts';
import type { KubeObject } from '../object/meta.ts';
import type { SparseApplyRules } from './apply-rules.ts';

/** What every object and placement says of its origin. */
export interface OriginAttributes {
  readonly uid: string;
  /** creationTimestamp at the origin. */
  readonly created: string;
  readonly generation: number;
}

export interface PlacementAttributes extends OriginAttributes {
  /**
   * The order of a move, as the origin has found it in effect. On this row and not on the target's: whoever learns that other places match now learns
   * with it in which order to go there.
   */
  readonly move?: Move;
}

/** What a parent allows its child of a placement's move: what the child told under this sequence, see core/move/move-part.ts. */
export interface GrantAttributes {
  readonly sequence: number;
}

/**
 * A placement has been taken from an agent, and its parent wants to hear when the last of its objects has gone from the cluster. The answer
 * has the number of the question, so that one to an older question is none: an acknowledged mailbox says that an agent has heard, not that it has done.
 */
export interface WithdrawnAttributes {
  readonly asked: number;
}
export type GoneAttributes = WithdrawnAttributes;

/** To agents that may go from one sibling to another, and from them: the newest release of the placement that the agent was told of. */
export interface HandedAttributes {
  readonly release: number;
  /** The agent has its candidate, or is about to; false: it has what was promoted before. */
  readonly handed: boolean;
}

/** Of rows that travel because placements want them. */
export interface RefsAttributes {
  /** Names of the placements (of the same source), sorted. */
  readonly refs: readonly string[];
}

export interface ObjectAttributes extends OriginAttributes, RefsAttributes {
  /** Those of the placements whose rules for the object all say that it is only to be made, sorted. */
  readonly createOnly?: readonly string[];
  /** Those of the placements that do not select it and have it only because their objects need it (a Namespace, a definition), sorted. */
  readonly implied?: readonly string[];
  /** `namespace/name` of the Customizers that make what a destination gets, in the order of their application. */
  readonly customizers?: readonly string[];
  /** `%(name)` in the object's strings is expanded. */
  readonly expand?: true;
  /** By placement: names of the StatusSummarizers that its rules for this object name, sorted. */
  readonly summarizers?: Readonly<Record<string, readonly string[]>>;
}

/** Of Customizers and StatusSummarizers: they go to relays where objects go that use them, and never to agents. */
export interface AuxiliaryAttributes extends OriginAttributes, RefsAttributes {}

export interface TargetAttributes {
  readonly generation: number;
  /** Revision of the origin's space at which the set or content of the placement's objects last changed. */
  readonly target: number;
  /** The placement wants exact state when it matches one destination in all. */
  readonly singleton: boolean;
  /**
   * What decides between sources of one depth that deliver the same object: the placement's spec.priority, and its creationTimestamp and uid.
   * Here and not on the objects' rows: a destination has the targets of those placements only that reach it, and a changed priority is one row.
   */
  readonly priority?: number;
  readonly created?: string;
  readonly uid?: string;
  /** spec.deletion.propagationPolicy, unless it is Background. */
  readonly deletion?: PropagationPolicy;
  /** spec.drift, spec.adopt and spec.replace, as far as they are not the defaults. */
  readonly apply?: SparseApplyRules;
}

/** What becomes of what a removed object owns, the most careful first. */
export type PropagationPolicy = 'Orphan' | 'Foreground' | 'Background';

/** Of a SyncTarget of an inventory space: the path of the agent that it stands for, by which each relay hands the row to the one child that it concerns. */
export interface InventoryAttributes {
  readonly path: string;
}

/** The body of an `i/` row: the SyncTarget, and the Locations of its space that select it, by name. */
export interface InventoryBody {
  readonly syncTarget: KubeObject;
  readonly locations: readonly KubeObject[];
}

/** The object as it was when its placement was promoted last; the entry's body is its body. */
export interface PromotedAttributes extends RefsAttributes {
  /** Absent: the placement had no such object then. */
  readonly promoted?: ObjectAttributes;
  /** Origin revision of the object's row then. */
  readonly revision: number;
}

/** A Customizer as it was when a placement that uses it was promoted last; the entry's body is its body. */
export interface PromotedCustomizerAttributes extends RefsAttributes {
  /** There was none, or nothing of the placement used it. */
  readonly absent?: true;
  readonly revision: number;
}

/** The body of a `u/` row: what an agent reports beside the state of what was placed. There is none for a placement without such rules. */
export interface ReportRules {
  readonly associated: readonly AssociatedItem[];
  readonly upsync: readonly UpsyncItem[];
}

export interface TreeAttributes {
  readonly path: string;
  /** What Locations below inherit from the relays above the receiver and from the receiver itself. */
  readonly labels: Readonly<Record<string, string>>;
}

/** To siblings: the number of what their parent has decided so far, and the replica that counts the children of which nothing was heard. */
export interface SiblingsAttributes {
  readonly term: number;
  readonly lead: number;
}

/** To a relay: the hash, in hex, of the newest summary that it told and that is worked off, here and above. */
export interface MatchedAttributes {
  readonly labels: string;
}

/** To all siblings: to which of them a child belongs, and whether that one may count it yet. */
export interface OwnerAttributes {
  readonly owner: number;
  readonly granted: boolean;
  readonly sequence: number;
}

/** From a sibling: a child has attached to it with this sequence. */
export interface AttachAttributes {
  readonly sequence: number;
  readonly role: 'relay' | 'agent';
}

/** From a sibling: what it told before leaves out what is not its own by this term. */
export interface SaidAttributes {
  readonly term: number;
}

/** Of a source whose space is right above the receiver: revisions that the space knows nothing of, see apiserver/storage/history.ts. */
export interface EraAttributes {
  readonly gaps: readonly Gap[];
}

/** What a node holds under this token is to be deleted, or the alarm of this token is known. */
export interface ReleaseHeldAttributes {
  readonly token: string;
}

/** The newest revision of the source's space that a node below has had. */
export interface SeenAttributes {
  readonly revision: number;
}

export interface StateAttributes {
  /** Origin revision of the content that the state is about. */
  readonly desired: number;
  readonly applied: boolean;
  readonly available: boolean;
  /** It will not become available by itself. */
  readonly failed?: true;
  /** Generation of the origin's object that the cluster has accepted last, and the one that its object has there. */
  readonly generation?: number;
  readonly local?: number;
  readonly reason?: string;
  readonly message?: string;
}

/** Of an object that is owned, over any number of steps, by a placed one; the body is the whole object as its cluster has it. */
export interface AssociatedAttributes {
  /** Key of the placed object. */
  readonly owner: string;
  readonly namespaced: boolean;
  /** Names of the placements, of the key's source, whose rules ask for it, sorted; absent from agents that do not tell. */
  readonly refs?: readonly string[];
}

/** Of an object that was born at the edge; the body is the whole object as its cluster has it. Its names of placements are of the key's source. */
export interface UpsyncedAttributes extends RefsAttributes {
  readonly namespaced: boolean;
  /** Center: handed on from node to node until the one that has the source. */
  readonly returnTo: 'Parent' | 'Center';
}

export interface HeldAttributes {
  readonly entries: number;
  readonly since: string;
  readonly token: string;
  readonly sample: readonly string[];
}

export interface RolledBackAttributes {
  readonly source: string;
  /** The revision that its store had, and the newest that a node below has seen. */
  readonly had: number;
  readonly seen: number;
  readonly since: string;
  readonly token: string;
}

/** Entries from above that are not what their keys say: how many, and some of them in words. */
export interface QuarantinedAttributes {
  readonly count: number;
  readonly sample: readonly string[];
}

/** Of the feed from its parent: that its ends differed, when and in what. */
export interface DivergedAttributes {
  readonly at: string;
  readonly what: string;
}

/** Of a child of siblings: since when it takes nothing from the one that it is attached to, and what that one lacks. */
export interface WaitsAttributes {
  readonly since: string;
  readonly for: string;
}

/** Why an agent's cluster can't be used, or not as it should be, and the like. */
export interface TroubleAttributes {
  /** CamelCase. */
  readonly reason: string;
  readonly message: string;
}

/** What a node tells of itself in `node/PATH`; its parent adds session and lag when it hands a relay's entry on. */
export interface NodeAttributes {
  readonly role: 'relay' | 'agent';
  readonly version: string;
  /** Of a relay: its own children, and the relays and agents anywhere below it. */
  readonly children?: number;
  readonly relays?: number;
  readonly agents?: number;
  readonly session?: { readonly state: 'Connected' | 'Disconnected'; readonly since?: string };
  readonly lag?: { readonly entries: number };
  /** What the node keeps although its parent lacks it, see feed/deletions.ts. */
  readonly held?: HeldAttributes;
  /** Of a relay: sources whose spaces were put back to an older copy. */
  readonly rolledBack?: readonly RolledBackAttributes[];
  readonly quarantined?: QuarantinedAttributes;
  readonly diverged?: DivergedAttributes;
  readonly waits?: WaitsAttributes;
  /** What its parent keeps in its mailbox although it tells of fewer places; the parent's word. */
  readonly keptFor?: HeldAttributes;
  /** The disk of its store is nearly full. */
  readonly diskLow?: true;
  /** What its parent can't take of what it tells; the parent's word. */
  readonly refused?: QuarantinedAttributes;
  /** Of an agent: how its cluster describes itself. */
  readonly kubernetesVersion?: string;
  /** … and why it can't be used, or not as it should be. */
  readonly trouble?: TroubleAttributes;
  /** … and which of the agent's own limits its work waits for. */
  readonly limit?: TroubleAttributes;
  /** … why the agent's own certificate is not renewed, and when it ends. */
  readonly certificateTrouble?: TroubleAttributes;
  /** … and what of it the agent could not learn. */
  readonly incomplete?: TroubleAttributes;
  /** Of its API server: `linux/amd64`. */
  readonly platform?: string;
  readonly nodes?: number;
  readonly nodesReady?: number;
  /** By `formatServed` (served-resources.ts), and how many there are in all. */
  readonly served?: readonly string[];
  readonly servedCount?: number;
  readonly capacity?: Readonly<Record<string, string>>;
  readonly allocatable?: Readonly<Record<string, string>>;
}
