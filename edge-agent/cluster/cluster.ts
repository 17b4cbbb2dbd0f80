/**
 * The edge cluster as the agent sees it: a place to apply objects to and to watch. Implementations: `embedded/` (the mesh's own
 * API server in the agent's process) and `kubernetes/` (a real one). Asynchronous, since a real cluster is far away.
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
  /** All that is there has been told: the objects of these keys. Also after an interruption that was told of by all that is there, and not by what was missed alone. */
  synced(there: ReadonlySet<string>): void;
  /** Why it can't be watched now, which is tried again and again; undefined: it is watched again. */
  trouble?(error: BanyanError | undefined): void;
  /** The cluster is as it was at an earlier time, as after its store was put back to a backup: what has gone since may be there again. Told before `synced`. */
  wentBack?(): void;
}

export interface ClusterWatchOptions {
  readonly marked?: boolean;
  readonly metadataOnly?: boolean;
}

/** An object at one time. */
export interface AsItWas {
  readonly uid: string;
  readonly resourceVersion: string;
}

export interface ClusterApplyOptions {
  /** Nothing is changed, and the answer is what it would be. */
  readonly dryRun?: boolean;
  /** Only to this object as it was then: Conflict otherwise, also where there is none. */
  readonly at?: AsItWas;
  /** There was none when it was looked for, which may be long ago by the time it is sent: what somebody else has set meanwhile is not taken. Conflict then. */
  readonly isNew?: boolean;
}

export interface Cluster extends AsyncDisposable {
  /** Server-side apply as field manager `banyan`, forced but for what is new. Throws a BanyanError with the cluster's own words when it is refused. */
  apply(object: KubeObject, options?: ClusterApplyOptions): Promise<KubeObject>;
  /**
   * As `apply`, of an object that is to be new, in one step with the look whether it is. Undefined: it is not made, since there is one of that name or it is refused, and
   * nothing has changed; `get` and `apply` say more. Of a Namespace or definition, and of what `mayCreate` says.
   */
  create?(object: KubeObject): Promise<KubeObject | undefined>;
  /** Whether `create` keeps its promise for other kinds of objects. Said of many, it is found out. Absent: of none. */
  mayCreate?(object: KubeObject): boolean;
  /** Changes an object by a merge patch, only as it was then: Conflict otherwise. Absent: it tells every object in the version that was applied. */
  patch?(key: ObjectKey, change: object, at: AsItWas): Promise<void>;
  /** `version`: of those that are served; absent: the one that the cluster prefers. One that converts nothing answers in its own. */
  get(key: ObjectKey, version?: string): Promise<KubeObject | undefined>;
  /** Resolves when the deletion is accepted (not when finalizers are done); false if the object was not there. */
  remove(key: ObjectKey, propagation: 'Foreground' | 'Background' | 'Orphan', uid?: string): Promise<boolean>;
  /** The resource of a kind, or undefined when the cluster does not serve it (now). */
  resourceOf(apiVersion: string, kind: string): Promise<ServedResource | undefined>;
  served(): Promise<readonly ServedResource[]>;
  /** API groups of which it is not known now what is served, with the reason in words: their objects are there all the same. Absent: there are never any. */
  unknownGroups?(): Promise<ReadonlyMap<string, string>>;
  /**
   * Events of one resource: first an ADDED for each object, then `synced`, then changes. Reconnects by itself, with ADDED and DELETED
   * for what it missed. Returns the function that ends it. With `marked`, objects without the agent's mark may be left out: one that loses the mark is told
   * as DELETED, one that gets it as ADDED. With `metadataOnly`, objects may come without anything but their metadata.
   */
  watch(resource: GroupResource, events: WatchEvents, options?: ClusterWatchOptions): () => void;
  /** Every object of a resource, of which no more than the metadata is told; none, or NotFound is thrown, where it is not served. Absent: nobody but the agent has any. */
  metadataOf?(resource: GroupResource): AsyncIterable<Pick<KubeObject, 'metadata'>>;
  describe(): Promise<ClusterDescription>;
  /** Something of the description other than what is served may have changed, or the cluster has not answered. Absent: it never does. Returns the function that ends it. */
  onDescription?(listener: () => void): () => void;
  /** What is used of the limits that the agent keeps towards the cluster; absent: there are none. */
  limitUses?(): readonly LimitUse[];
}

/** What an implementation may need of the agent's process. */
export interface ClusterPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Has `turn` called soon, after the commit that runs now. */
  readonly schedule: (turn: () => void) => void;
}

/** An object that carries the mark of the agent of `path`. */
export interface AppliedObject {
  readonly key: ObjectKey;
  readonly uid: string;
  readonly source: string;
  /** Of what goes with others' objects: it came with the agent. */
  readonly created: boolean;
  /** How it is to be removed; absent: Background. */
  readonly deletion?: PropagationPolicy;
  /** Hash of the body that was applied; absent: it does not say. */
  readonly content?: string;
}

/** Everything there that the agent has applied, as far as it could be learned. */
export interface FoundObjects {
  readonly objects: readonly AppliedObject[];
  /** What can't be listed now although the cluster answers, with its words: `tills.shop.example: the webhook does not answer`. */
  readonly unknown: readonly string[];
}

/** Why nothing may be changed now; undefined: it may. Asked at the moment of sending, after all waiting. */
export type WriteGuard = () => BanyanError | undefined;

export interface OpenCluster extends AsyncDisposable {
  /** By whatever store; absent: the cluster lives and dies with the store. Throws where the cluster itself does not answer. */
  applied?(path: string): Promise<FoundObjects>;
  readonly cluster: Cluster;
  /** Its API, where it is served by this process. */
  readonly space?: Space;
  /** Otherwise: HTTP on a connection is handed on to its API server, in the name of the user. */
  take?(connection: Duplex, user: UserInfo): void;
}

/** Why a cluster can't be used, or not as it should be, in words for whoever looks after it. */
export interface ClusterTrouble {
  readonly reason: string;
  readonly message: string;
}

export interface ClusterDescription {
  readonly trouble?: ClusterTrouble;
  /** What of the rest could not be learned, and why. */
  readonly incomplete?: ClusterTrouble;
  readonly kubernetesVersion?: string;
  /** Of the API server: `linux/amd64`. */
  readonly platform?: string;
  readonly nodes?: number;
  readonly nodesReady?: number;
  readonly capacity?: Record<string, string>;
  readonly allocatable?: Record<string, string>;
}
