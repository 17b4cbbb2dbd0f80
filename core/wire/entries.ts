/** The entries of the down and up feeds, as docs/architecture.md lists them: keys, and the attributes that the nodes on the way read. */

import type { AssociatedItem, UpsyncItem } from '../apiserver/kinds/edge-placement.ts';
import type { Gap } from '../apiserver/storage/history.ts';
import type { Content } from '../feed/feed.ts';
import type { Move } from '../move/move.ts';
import { formatKey, type ObjectKey, parseKey } from '../object/key.ts';
import type { KubeObject } from '../object/meta.ts';
import { asText } from '../store/bytes.ts';

/** `center.retail/shop-prod`: a placement wherever it has arrived. Names hold no slash, so it splits one way only. */
export type PlacementId = string;

export function placementId(source: string, name: string): PlacementId {
  return `${source}/${name}`;
}

export function splitPlacementId(id: PlacementId): { source: string; name: string } {
  const slash = id.indexOf('/');
  return { source: id.slice(0, slash), name: id.slice(slash + 1) };
}

export type EntryKey =
  | { readonly type: 'tree' }
  | { readonly type: 'placement'; readonly id: PlacementId }
  | { readonly type: 'target'; readonly id: PlacementId }
  | { readonly type: 'rules'; readonly id: PlacementId }
  | { readonly type: 'grant'; readonly id: PlacementId }
  | { readonly type: 'withdrawn'; readonly id: PlacementId }
  | { readonly type: 'gone'; readonly id: PlacementId }
  | { readonly type: 'object'; readonly source: string; readonly object: ObjectKey }
  | { readonly type: 'auxiliary'; readonly source: string; readonly object: ObjectKey }
  | { readonly type: 'promoted'; readonly source: string; readonly id: PlacementId; readonly object: ObjectKey }
  | {
      readonly type: 'promotedCustomizer';
      readonly source: string;
      readonly id: PlacementId;
      readonly object: ObjectKey;
    }
  | { readonly type: 'release'; readonly source: string; readonly id: PlacementId }
  | { readonly type: 'inventory'; readonly source: string; readonly syncTarget: string }
  | { readonly type: 'keep'; readonly source: string; readonly object: ObjectKey }
  | { readonly type: 'era'; readonly source: string }
  | { readonly type: 'release-held'; readonly path: string }
  | { readonly type: 'seen'; readonly source: string }
  | { readonly type: 'labels' }
  | { readonly type: 'counted' }
  | { readonly type: 'partial'; readonly id: PlacementId }
  | { readonly type: 'summary'; readonly id: PlacementId; readonly summarizer: string }
  | { readonly type: 'state'; readonly source: string; readonly object: ObjectKey }
  | { readonly type: 'associated'; readonly source: string; readonly object: ObjectKey }
  | { readonly type: 'upsynced'; readonly source: string; readonly path: string; readonly object: ObjectKey }
  | { readonly type: 'status'; readonly id: PlacementId; readonly object: ObjectKey }
  | { readonly type: 'node'; readonly path: string }
  | { readonly type: 'siblings' }
  | { readonly type: 'owner' | 'attach'; readonly child: string };

export const treeKey = 'tree';
export const labelsKey = 'labels';
export const countedKey = 'counted';
export const siblingsKey = 'siblings';
export const ownerKey = (child: string) => `owner/${child}`;
export const attachKey = (child: string) => `attach/${child}`;
export const placementKey = (id: PlacementId) => `p/${id}`;
export const targetKey = (id: PlacementId) => `t/${id}`;
export const rulesKey = (id: PlacementId) => `u/${id}`;
export const grantKey = (id: PlacementId) => `g/${id}`;
export const withdrawnKey = (id: PlacementId) => `w/${id}`;
export const goneKey = (id: PlacementId) => `gone/${id}`;
export const objectKey = (source: string, key: ObjectKey) => `o/${source}/${formatKey(key)}`;
/** Its object is to stay as the agent has it. */
export const keepKey = (source: string, key: ObjectKey) => `k/${source}/${formatKey(key)}`;
export const auxiliaryKey = (source: string, key: ObjectKey) => `a/${source}/${formatKey(key)}`;
export const promotedKey = (id: PlacementId, key: ObjectKey) => `q/${id}/${formatKey(key)}`;
export const promotedCustomizerKey = (id: PlacementId, key: ObjectKey) => `c/${id}/${formatKey(key)}`;
export const releaseKey = (id: PlacementId) => `r/${id}`;
export const inventoryKey = (source: string, syncTarget: string) => `i/${source}/${syncTarget}`;
export const eraKey = (source: string) => `era/${source}`;
export const releaseHeldKey = (path: string) => `release/${path}`;
export const seenKey = (source: string) => `seen/${source}`;
export const partialKey = (id: PlacementId) => `partial/${id}`;
export const summaryKey = (id: PlacementId, summarizer: string) => `sum/${id}/${summarizer}`;
export const stateKey = (source: string, key: ObjectKey) => `state/${source}/${formatKey(key)}`;
export const associatedKey = (source: string, key: ObjectKey) => `assoc/${source}/${formatKey(key)}`;
/** `path` is of the agent; a path has no slash. */
export const upsyncedKey = (source: string, path: string, key: ObjectKey) => `up/${source}/${path}/${formatKey(key)}`;
export const statusKey = (id: PlacementId, key: ObjectKey) => `status/${id}/${formatKey(key)}`;
export const nodeKey = (path: string) => `node/${path}`;

/** Parts of a key before those of its object, by the first of them. */
const objectsAt: ReadonlyMap<string, number> = new Map([
  ['o', 2],
  ['k', 2],
  ['a', 2],
  ['state', 2],
  ['assoc', 2],
  ['q', 3],
  ['c', 3],
  ['up', 3],
  ['status', 3],
]);
/** Group, resource, namespace and name: see object/key.ts. */
const objectParts = 4;

/** Whether a key is meant to name an object, whatever else is in it. */
export function isObjectEntry(key: string): boolean {
  return objectsAt.has(key.slice(0, key.indexOf('/')));
}

/** Of which there is one in a feed. */
const wholeKeys = [{ type: treeKey }, { type: labelsKey }, { type: countedKey }, { type: siblingsKey }] as const;

/** Undefined for a key that this version does not know, or that names no object where it should: it is kept and passed over. */
export function parseEntryKey(key: string): EntryKey | undefined {
  const objectAt = objectsAt.get(key.slice(0, key.indexOf('/')));
  if (objectAt !== undefined && key.split('/').length !== objectAt + objectParts) return undefined;
  return parsedEntryKey(key);
}

function parsedEntryKey(key: string): EntryKey | undefined {
  const slash = key.indexOf('/');
  if (slash < 0) return wholeKeys.find(({ type }) => type === key);
  const rest = key.slice(slash + 1);
  switch (key.slice(0, slash)) {
    case 'p':
      return { type: 'placement', id: rest };
    case 't':
      return { type: 'target', id: rest };
    case 'u':
      return { type: 'rules', id: rest };
    case 'g':
      return { type: 'grant', id: rest };
    case 'w':
      return { type: 'withdrawn', id: rest };
    case 'gone':
      return { type: 'gone', id: rest };
    case 'partial':
      return { type: 'partial', id: rest };
    case 'sum': {
      const [source = '', name = '', summarizer = ''] = rest.split('/');
      return { type: 'summary', id: placementId(source, name), summarizer };
    }
    case 'node':
      return { type: 'node', path: rest };
    case 'owner':
      return { type: 'owner', child: rest };
    case 'attach':
      return { type: 'attach', child: rest };
    case 'era':
      return { type: 'era', source: rest };
    case 'release':
      return { type: 'release-held', path: rest };
    case 'seen':
      return { type: 'seen', source: rest };
    case 'o':
      return { type: 'object', ...sourceAndObject(rest) };
    case 'k':
      return { type: 'keep', ...sourceAndObject(rest) };
    case 'a':
      return { type: 'auxiliary', ...sourceAndObject(rest) };
    case 'q':
      return { type: 'promoted', source: splitPlacementId(rest).source, ...placementAndObject(rest) };
    case 'c':
      return { type: 'promotedCustomizer', source: splitPlacementId(rest).source, ...placementAndObject(rest) };
    case 'r':
      return { type: 'release', source: splitPlacementId(rest).source, id: rest };
    case 'i': {
      const { source, name } = splitPlacementId(rest);
      return { type: 'inventory', source, syncTarget: name };
    }
    case 'state':
      return { type: 'state', ...sourceAndObject(rest) };
    case 'assoc':
      return { type: 'associated', ...sourceAndObject(rest) };
    case 'up': {
      const [source = '', path = '', ...object] = rest.split('/');
      return { type: 'upsynced', source, path, object: parseKey(object.join('/')) };
    }
    case 'status':
      return { type: 'status', ...placementAndObject(rest) };
    default:
      return undefined;
  }
}

function sourceAndObject(rest: string): { source: string; object: ObjectKey } {
  const slash = rest.indexOf('/');
  return { source: rest.slice(0, slash), object: parseKey(rest.slice(slash + 1)) };
}

function placementAndObject(rest: string): { id: PlacementId; object: ObjectKey } {
  const [source = '', name = '', ...object] = rest.split('/');
  return { id: placementId(source, name), object: parseKey(object.join('/')) };
}

/** What an entry says to the nodes on the way. */
export function attributesOf<T>(content: Content): T {
  return JSON.parse(asText(content.attributes)) as T;
}

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
  /** Of an agent: how its cluster describes itself. */
  readonly kubernetesVersion?: string;
  readonly nodes?: number;
  readonly capacity?: Readonly<Record<string, string>>;
  readonly allocatable?: Readonly<Record<string, string>>;
}
