/**
 * The edge cluster as the agent uses it: objects are applied to it and watched in it. Implementations: `embedded/` (the mesh's own API server in the agent's
 * process) and `kubernetes/` (a real cluster). All methods are asynchronous, because a real cluster is far away.
 */

import type { Duplex } from 'node:stream';
import type { Space, UserInfo } from '../../core/apiserver/space.ts';
import type { PropagationPolicy } from '../../core/entries/down-attributes.ts';
import type { GroupResource, ObjectKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
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
   * All existing objects have been reported: the objects of these keys. Also called after an interruption, if the watch then reported all existing objects
   * and not only the missed changes.
   */
  synced(there: ReadonlySet<string>): void;
  /** Why the watch does not work now; it tries again and again. Undefined: the watch works again. */
  trouble?(error: BanyanError | undefined): void;
  /**
   * The cluster is in the state of an earlier time, for example after its store was restored from a backup. Objects that were deleted since may be there
   * again. Called before `synced`.
   */
  wentBack?(): void;
}

export interface ClusterWatchOptions {
  readonly marked?: boolean;
  readonly metadataOnly?: boolean;
}

/** An object at one time. */
export interface ObjectVersion {
  readonly uid: string;
  readonly resourceVersion: string;
}

export interface ClusterApplyOptions {
  /** Changes nothing. The answer is the object that the apply would make. */
  readonly dryRun?: boolean;
  /** Applies only if the object is still in this state. Otherwise throws Conflict, also if there is no object. */
  readonly at?: ObjectVersion;
  /**
   * The object did not exist when the agent looked, which may be long ago when the request is sent. Does not take over fields that somebody else has set
   * meanwhile: throws Conflict then.
   */
  readonly isNew?: boolean;
}

export interface Cluster extends AsyncDisposable {
  /**
   * Server-side apply as field manager `banyan`, forced unless the object is new. Throws a BanyanError with the cluster's own message if the cluster
   * refuses.
   */
  apply(object: KubeObject, options?: ClusterApplyOptions): Promise<KubeObject>;
  /**
   * Like `apply`, for an object that has to be new: the check and the write are one step. Undefined: the object was not created, because an object of that
   * name exists or the cluster refuses it. Nothing has changed then, and `get` and `apply` give the reason. For Namespaces and definitions, and for objects
   * for which `mayCreate` returns true.
   */
  create?(object: KubeObject): Promise<KubeObject | undefined>;
  /**
   * Whether `create` keeps its promise for this kind of object. After calls for many objects of a kind, the cluster finds this out. Absent: `create` works
   * for no other kind.
   */
  mayCreate?(object: KubeObject): boolean;
  /**
   * Changes an object by a merge patch, only if the object is still in this state. Otherwise throws Conflict. Absent: the cluster returns every object in
   * the applied version.
   */
  patch?(key: ObjectKey, change: object, at: ObjectVersion): Promise<void>;
  /** `version`: one of the served versions. Absent: the version that the cluster prefers. A cluster that converts nothing answers in its own version. */
  get(key: ObjectKey, version?: string): Promise<KubeObject | undefined>;
  /** Resolves when the deletion is accepted (not when finalizers are done). False: the object was not there. */
  remove(key: ObjectKey, propagation: 'Foreground' | 'Background' | 'Orphan', uid?: string): Promise<boolean>;
  /** The resource of a kind. Undefined: the cluster does not serve the kind now. */
  resourceOf(apiVersion: string, kind: string): Promise<ServedResource | undefined>;
  served(): Promise<readonly ServedResource[]>;
  /**
   * API groups for which it is not known now what the cluster serves, with the reason. Objects of these groups may exist all the same. Absent: there are
   * never such groups.
   */
  unknownGroups?(): Promise<ReadonlyMap<string, string>>;
  /**
   * Events of one resource: first an ADDED for each object, then `synced`, then the changes. Reconnects by itself, and sends ADDED and DELETED for the
   * changes that it missed. Returns the function that ends the watch. With `marked`, objects without the agent's mark may be left out: an object that loses
   * the mark is reported as DELETED, and an object that gets the mark as ADDED. With `metadataOnly`, objects may have nothing but their metadata.
   */
  watch(resource: GroupResource, events: WatchEvents, options?: ClusterWatchOptions): () => void;
  /**
   * Every object of a resource, with its metadata at least. If the cluster does not serve the resource, returns none or throws NotFound. Absent: nobody but
   * the agent has objects.
   */
  metadataOf?(resource: GroupResource): AsyncIterable<Pick<KubeObject, 'metadata'>>;
  describe(): Promise<ClusterDescription>;
  /**
   * The description may have changed, except for the served kinds, or the cluster has not answered. Absent: this never happens. Returns the function that
   * ends the subscription.
   */
  onDescription?(listener: () => void): () => void;
  /** How much is used of the limits that the agent keeps towards the cluster. Absent: there are no such limits. */
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

/** An object that carries the mark of the agent of `path`. */
export interface AppliedObject {
  readonly key: ObjectKey;
  readonly uid: string;
  readonly source: string;
  /** For a container (apply/order.ts): the agent created it. */
  readonly created: boolean;
  /** How to remove the object. Absent: Background. */
  readonly deletion?: PropagationPolicy;
  /** The hash of the body that was applied. Absent: the object does not have it. */
  readonly content?: string;
}

/** Everything in the cluster that the agent has applied, as far as the agent could learn it. */
export interface FoundObjects {
  readonly objects: readonly AppliedObject[];
  /** Resources that the cluster can't list now although it answers, with the cluster's message: `tills.shop.example: the webhook does not answer`. */
  readonly unknown: readonly string[];
}

/** Why nothing may be changed now. Undefined: changes are allowed. Asked at the moment of sending, after all waiting. */
export type WriteGuard = () => BanyanError | undefined;

export interface OpenCluster extends AsyncDisposable {
  /** The objects that the agent has applied, with any store. Absent: the cluster is part of the store. Throws if the cluster itself does not answer. */
  applied?(path: string): Promise<FoundObjects>;
  readonly cluster: Cluster;
  /** The cluster's API, if this process serves it. */
  readonly space?: Space;
  /** If another process serves the API: passes HTTP on a connection to the API server, in the name of the user. */
  take?(connection: Duplex, user: UserInfo): void;
}

/** Why the agent can't use the cluster, or not as it should. The message is for the people who operate the cluster. */
export interface ClusterTrouble {
  readonly reason: string;
  readonly message: string;
}

export interface ClusterDescription {
  readonly trouble?: ClusterTrouble;
  /** Which parts could not be learned, and why. */
  readonly incomplete?: ClusterTrouble;
  readonly kubernetesVersion?: string;
  /** The platform of the API server: `linux/amd64`. */
  readonly platform?: string;
  readonly nodes?: number;
  readonly nodesReady?: number;
  readonly capacity?: Record<string, string>;
  readonly allocatable?: Record<string, string>;
}
