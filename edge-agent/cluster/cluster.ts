/**
 * The edge cluster as the agent uses it: the agent applies objects to the cluster and watches them. Implementations: `embedded/` (the mesh's own API server
 * in the agent's process) and `kubernetes/` (a real cluster). All methods are asynchronous, because a real cluster is another process.
 */

import type { Duplex } from 'node:stream';
import type { Authorizer } from '../../core/access/authorizer.ts';
import type { TokenIssuer } from '../../core/apiserver/http/token-requests.ts';
import type { Space, UserInfo } from '../../core/apiserver/space.ts';
import type { PropagationPolicy } from '../../core/entries/down-attributes.ts';
import type { GroupResource, ObjectKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import type { LabelSelector } from '../../core/object/selector.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { BanyanError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import type { Store } from '../../core/store/store.ts';
import type { LimitUse } from '../limits/limit-use.ts';

export interface ServedResource extends GroupResource {
  readonly kind: string;
  readonly versions: readonly string[];
  readonly namespaced: boolean;
}

export interface ClusterEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly key: ObjectKey;
  readonly object: KubeObject;
}

export interface WatchEvents {
  on(event: ClusterEvent): void;
  /**
   * Called when all existing objects have been reported: the objects with these keys. Also called after an interruption, if the watch then reported all
   * existing objects, and not only the missed changes.
   */
  synced(there: ReadonlySet<string>): void;
  /** Called with the reason why the watch does not work now. The watch tries again and again. Undefined: the watch works again. */
  trouble?(error: BanyanError | undefined): void;
  /**
   * Called when the cluster is in the state of an earlier time, for example because its store was restored from a backup. Objects that were deleted since
   * that time may exist again. Called before `synced`.
   */
  wentBack?(): void;
}

export interface ClusterWatchOptions {
  readonly marked?: boolean;
  readonly metadataOnly?: boolean;
}

export interface ClusterQuery {
  readonly namespace: string;
  readonly selector?: LabelSelector;
  /** Values by path: `{ 'involvedObject.uid': '…' }`. The kind must allow these fields in field selectors. */
  readonly fields?: Readonly<Record<string, string>>;
  readonly limit: number;
}

/** One state of one object. */
export interface ObjectVersion {
  readonly uid: string;
  readonly resourceVersion: string;
}

export interface ClusterApplyOptions {
  /** True: the call changes nothing. The answer is the object that the apply would make. */
  readonly dryRun?: boolean;
  /** Applies only if the object is still in this state. Otherwise throws Conflict, also if the object does not exist. */
  readonly at?: ObjectVersion;
  /**
   * True: the apply takes no field from another manager. If another manager has set a field of the object to another value, the apply changes nothing and
   * throws Conflict. Equal values, and fields that nobody has set, are no conflict.
   */
  readonly yields?: boolean;
}

export interface Cluster extends AsyncDisposable {
  /**
   * Server-side apply as field manager `banyan`, forced unless the options say that the apply yields. If the cluster refuses, throws a BanyanError with the cluster's own
   * message.
   */
  apply(object: KubeObject, options?: ClusterApplyOptions): Promise<KubeObject>;
  /**
   * Creates an object that has to be new. Like `apply`, but the check and the write are one step. Undefined: the object was not created, because an object of
   * this name exists or because the cluster refuses the object. In this case nothing has changed, and `get` and `apply` give the reason. May be called for
   * Namespaces and definitions, and for objects for which `mayCreate` returns true.
   */
  create?(object: KubeObject): Promise<KubeObject | undefined>;
  /**
   * Whether `create` keeps its promise for this kind of object. The cluster learns this only after calls for many objects of the kind. Absent: `create` works
   * only for Namespaces and definitions.
   */
  mayCreate?(object: KubeObject): boolean;
  /**
   * Changes an object by a merge patch (RFC 7386), only if the object is still in this state. Otherwise throws Conflict. Changed fields belong to the manager
   * `returnedFieldManager` of mark.ts. `version`: the version in which the patch is written. Absent: the version that the cluster prefers.
   */
  patch(key: ObjectKey, change: object, at: ObjectVersion, version?: string): Promise<void>;
  /**
   * `version`: one of the served versions. Absent: the version that the cluster prefers. A cluster that does not convert objects answers in its own version.
   */
  get(key: ObjectKey, version?: string): Promise<KubeObject | undefined>;
  /** Resolves when the cluster has accepted the deletion, and not when the finalizers are done. False: the object did not exist. */
  remove(key: ObjectKey, propagation: 'Foreground' | 'Background' | 'Orphan', uid?: string): Promise<boolean>;
  /** Returns the resource of a kind. Undefined: the cluster does not serve the kind now. */
  resourceOf(apiVersion: string, kind: string): Promise<ServedResource | undefined>;
  served(): Promise<readonly ServedResource[]>;
  /**
   * Returns the API groups for which it is not known now which resources the cluster serves, with the reason. Objects of these groups may still exist.
   * Absent: there are never such groups.
   */
  unknownGroups?(): Promise<ReadonlyMap<string, string>>;
  /**
   * Sends the events of one resource: first ADDED for each object, then `synced`, then the changes. The watch reconnects by itself, and sends ADDED and
   * DELETED for the changes that it missed. Returns the function that ends the watch. With `marked`, the watch may leave out objects without the agent's
   * mark: if an object loses the mark, the event is DELETED; if an object gets the mark, the event is ADDED. With `metadataOnly`, objects may have nothing
   * except their metadata.
   */
  watch(resource: GroupResource, events: WatchEvents, options?: ClusterWatchOptions): () => void;
  /**
   * Returns every object of a resource, at least with its metadata. If the cluster does not serve the resource, returns no objects or throws NotFound.
   * Absent: only the agent has objects.
   */
  metadataOf?(resource: GroupResource): AsyncIterable<Pick<KubeObject, 'metadata'>>;
  /**
   * Returns objects of a namespace that match, in any order, and no more than `limit`. Throws Forbidden if the agent may not list the resource. Absent: the
   * cluster can't be asked.
   */
  find?(resource: GroupResource, query: ClusterQuery): Promise<readonly KubeObject[]>;
  describe(): Promise<ClusterDescription>;
  /**
   * Calls the listener when the description may have changed, except for the served kinds, or when the cluster has not answered. Returns the function that
   * ends the subscription. Absent: this never happens.
   */
  onDescription?(listener: () => void): () => void;
  /** The use of the limits that the agent keeps towards the cluster. Absent: there are no such limits. */
  limitUses?(): readonly LimitUse[];
}

/** The parts of the agent's process that an implementation may need. */
export interface ClusterPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Calls `turn` in a later turn of the event loop, after the commit that runs now. */
  readonly schedule: (turn: () => void) => void;
}

/** An object that has the mark of this agent. */
export interface AppliedObject {
  readonly key: ObjectKey;
  readonly uid: string;
  /** The path of the agent in the signature: the present path, or a former one. */
  readonly agent: string;
  readonly source: string;
  /** Whether the agent created the object. */
  readonly created: boolean;
  /** How to remove the object. Absent: Background. */
  readonly deletion?: PropagationPolicy;
  /** The hash of the body that was applied. Absent: the object does not have this hash. */
  readonly content?: string;
}

/** All objects of the cluster that the agent has applied, as far as the agent could find them. */
export interface FoundObjects {
  readonly objects: readonly AppliedObject[];
  /** Resources that the cluster can't list now, although it answers. With the cluster's message: `tills.shop.example: the webhook does not answer`. */
  readonly unknown: readonly string[];
}

/** Returns why the agent must not change anything now. Undefined: changes are allowed. The client asks immediately before it sends, after all waiting. */
export type WriteGuard = () => BanyanError | undefined;

export interface OpenCluster extends AsyncDisposable {
  /**
   * Returns the objects that the agent has applied, with any store and under any of its paths. Throws if the cluster does not answer. Absent: the cluster is
   * part of the store.
   */
  applied?(paths: readonly string[]): Promise<FoundObjects>;
  readonly cluster: Cluster;
  /** The cluster's API, if this process serves it. */
  readonly space?: Space;
  /** Decides about requests to this API. Present together with `space`. */
  readonly authorizer?: Authorizer;
  /** The tokens of the ServiceAccounts of the cluster. Present together with `space`. */
  readonly tokens?: TokenIssuer;
  /** Passes HTTP on a connection to the API server, in the name of the user. Present if another process serves the API. */
  take?(connection: Duplex, user: UserInfo): void;
}

/** Why the agent can't use the cluster, or can't use it fully. The message is for the people who operate the cluster. */
export interface ClusterTrouble {
  readonly reason: string;
  readonly message: string;
}

export interface ClusterDescription {
  readonly trouble?: ClusterTrouble;
  /** Which parts of the description the agent could not find out, and why. */
  readonly incomplete?: ClusterTrouble;
  readonly kubernetesVersion?: string;
  /** The platform of the API server: `linux/amd64`. */
  readonly platform?: string;
  readonly nodes?: number;
  readonly nodesReady?: number;
  readonly capacity?: Record<string, string>;
  readonly allocatable?: Record<string, string>;
}
