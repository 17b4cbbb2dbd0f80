/**
 * Finds the objects that placed objects own, directly or through other owners. This class watches the resources that the rules name, and the kinds between
 * these resources and the placed objects. It also keeps the reports about the objects.
 *
 * Bound: for each placed object and resource, the greatest `limit` among the rules of the object's placements.
 */
import type { ReportRules } from '../../core/entries/down-attributes.ts';
import { type PlacementId, splitPlacementId } from '../../core/entries/placement-id.ts';
import { namesResource } from '../../core/match/resource-rules.ts';
import { formatKey, type GroupResource, parseKey } from '../../core/object/key.ts';
import { parseApiVersion } from '../../core/object/meta.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Cluster, ClusterEvent, ServedResource } from '../cluster/cluster.ts';
import { Bodies } from '../observe/bodies.ts';
import { ResourceWatches, resourceName } from '../observe/resource-watches.ts';
import { TimedHealth } from '../observe/timed-health.ts';
import { chooseMembers } from './choice.ts';
import { OwnerGraph, type OwnerLink } from './owner-graph.ts';

export type AssociatedRules = ReadonlyMap<PlacementId, ReportRules['associated']>;

export interface AssociatedPorts {
  readonly cluster: Cluster;
  readonly clock: Clock;
  /** Returns the source that delivers a placed object, and the placements that want the object. */
  deliveryOf(key: string): { readonly source: string; readonly placements: readonly PlacementId[] } | undefined;
}

export interface AssociatedEvents {
  /** Called when the report about the object for this source has changed. */
  changed(source: string, key: string): void;
  /** Called when the agent may know more objects of the cluster than before. */
  synced(): void;
  /** Called when the cluster does not answer which resource a kind has. */
  failed(error: unknown): void;
  /** Called when an object that has to be reported can't be read. The agent tries again. */
  readFailed(key: string, error: unknown): void;
}

interface AssociatedObject {
  readonly key: string;
  readonly failing: boolean;
  readonly namespaced: boolean;
}

export interface AssociatedReport {
  /** The key of the placed object. */
  readonly owner: string;
  readonly namespaced: boolean;
  /** The names of the placements whose rules ask for the object, sorted. */
  readonly refs: readonly string[];
  readonly body: Uint8Array;
}

interface Chosen {
  readonly uid: string;
  readonly refs: readonly string[];
}

export class Associated {
  readonly #ports: AssociatedPorts;
  readonly #events: AssociatedEvents;
  readonly #watches: ResourceWatches;
  readonly #health: TimedHealth;
  readonly #graph = new OwnerGraph((uid, before, after) => this.#rootChanged(uid, before, after));
  /** All objects with owners that the agent has seen, keyed by uid. */
  readonly #ownedObjects = new Map<string, AssociatedObject>();
  /** The uids of the objects in `#ownedObjects`, keyed by object key. */
  readonly #uids = new Map<string, string>();
  /** The bodies of objects whose resource a rule names and that belong to a placed object. */
  readonly #bodies: Bodies;
  /** The uids of the objects below a placed object. Keyed by the key of the placed object, then by resource. */
  readonly #members = new Map<string, Map<string, Set<string>>>();
  /** The keys of the reported objects. Keyed by the key of the placed object. */
  readonly #chosen = new Map<string, ReadonlySet<string>>();
  /** The reported objects, keyed by object key. */
  readonly #reported = new Map<string, Chosen & { readonly source: string }>();
  readonly #between = new Map<string, ServedResource>();
  /**
   * Kinds of owners that the agent has asked for, so that it asks once for each kind. The value is the resource that the cluster serves for the kind.
   * Undefined: the cluster serves no such resource.
   */
  readonly #kinds = new Map<string, ServedResource | 'asking' | undefined>();
  readonly #dirty = new Set<string>();
  #rules: AssociatedRules = new Map();
  #named: readonly ServedResource[] = [];
  /** True while the agent does not know which of the named resources the cluster serves. */
  #isAskingServed = false;
  /** API groups for which the cluster does not answer which resources it serves. The value is the reason. */
  #unknownGroups: ReadonlyMap<string, string> = new Map();
  #servedRequest = 0;

  constructor(ports: AssociatedPorts, events: AssociatedEvents) {
    this.#ports = ports;
    this.#events = events;
    this.#health = new TimedHealth(ports.clock, (key) => this.#overdue(key));
    this.#bodies = new Bodies({
      clock: ports.clock,
      get: (key) => ports.cluster.get(key),
      read: (uid, key) => this.#read(uid, key),
      failed: (key, error) => events.readFailed(key, error),
    });
    this.#watches = new ResourceWatches(ports.cluster, {
      on: (event, resource) => this.#on(event, resource),
      synced: () => this.#settled(),
      refused: () => this.#settled(),
      ended: (resource) => this.#forgetAll(resource),
    });
  }

  async setRules(rules: AssociatedRules): Promise<void> {
    this.#rules = rules;
    for (const root of this.#members.keys()) this.#markDirty(root);
    await this.kindsChanged();
  }

  async kindsChanged(): Promise<void> {
    const request = ++this.#servedRequest;
    const items = [...this.#rules.values()].flat();
    this.#isAskingServed = items.length > 0;
    if (items.length === 0) {
      this.#named = [];
      this.#unknownGroups = new Map();
      this.#between.clear();
    } else {
      const served = await this.#ports.cluster.served();
      const unknown = await this.#ports.cluster.unknownGroups?.();
      if (request !== this.#servedRequest) return;
      this.#unknownGroups = unknown ?? new Map();
      this.#named = served.filter((resource) => items.some((item) => namesResource(item, resource)));
    }
    this.#isAskingServed = false;
    this.#kinds.clear();
    this.#watches.set(this.#named, this.#between.values());
    for (const uid of this.#ownedObjects.keys()) this.#askOwners(uid);
    for (const [key, { uid }] of this.#reported) this.#bodies.want(uid, parseKey(key));
    this.#settled();
  }

  /** Notes the uid of a placed object on the cluster. Undefined: the object is not on the cluster. */
  place(key: string, uid: string | undefined): void {
    if (this.#rules.size === 0 && uid !== undefined) return;
    this.#graph.setRoot(key, uid);
    this.#markDirty(key);
  }

  get isActive(): boolean {
    return this.#rules.size > 0;
  }

  /**
   * Whether the agent has seen all objects of the resource, and knows the owners of this object. If the object then has no report, it must have none. Unknown
   * owners of other objects delay nothing.
   */
  isComplete(key: string): boolean {
    const resource = parseKey(key);
    if (this.#isAskingServed || this.#dirty.size > 0 || this.#unknownGroups.has(resource.group)) return false;
    if (!this.#watches.isSeen(resource)) return false;
    const reported = this.#reported.get(key);
    // Without its body, the object can't be reported yet.
    if (reported && this.#bodies.of(reported.uid) === undefined) return false;
    const uid = this.#uids.get(key);
    return uid === undefined || !this.#graph.unknownAbove(uid).some((owner) => this.#isExpected(owner));
  }

  /** Whether the agent may still see this owner. The agent never sees owners of a kind that the cluster does not serve, or does not let the agent list. */
  #isExpected(owner: OwnerLink): boolean {
    if (this.#unknownGroups.has(parseApiVersion(owner.apiVersion).group)) return true;
    const resource = this.#kinds.get(kindOf(owner));
    return resource === 'asking' || (resource !== undefined && this.#watches.isPending(resource));
  }

  reportOf(source: string, key: string): AssociatedReport | undefined {
    const reported = this.#reported.get(key);
    const owned = reported && this.#ownedObjects.get(reported.uid);
    const owner = reported && this.#graph.rootOf(reported.uid);
    const body = reported && this.#bodies.of(reported.uid);
    if (!reported || !owned || !body || owner === undefined || reported.source !== source) return undefined;
    return { owner, namespaced: owned.namespaced, refs: reported.refs, body };
  }

  /** The number of objects whose body is in memory. */
  get bodies(): number {
    return this.#bodies.size;
  }

  stop(): void {
    this.#servedRequest++;
    this.#health.stop();
    this.#bodies.stop();
    this.#watches.stop();
  }

  // ---------------------------------------------------------------------------------------------- events of the cluster

  #on({ type, key, object }: ClusterEvent, resource: ServedResource): void {
    const name = formatKey(key);
    // Aggregated API servers may return objects without a uid.
    const { uid = name, ownerReferences: owners = [] } = object.metadata;
    if (type === 'DELETED' || owners.length === 0) {
      this.#forget(uid);
      return;
    }
    const before = this.#ownedObjects.get(uid);
    const named = this.#named.some((one) => resourceName(one) === resourceName(resource));
    const failing = named && this.#health.of(name, object).state === 'Failed';
    this.#ownedObjects.set(uid, { key: name, failing, namespaced: resource.namespaced });
    this.#uids.set(name, uid);
    this.#graph.set(uid, owners);
    this.#askOwners(uid);
    const root = this.#graph.rootOf(uid);
    if (root === undefined || !named) return;
    const isOther = this.#bodies.set(uid, object);
    if (before?.failing !== failing) this.#markDirty(root);
    const reported = this.#reported.get(name);
    if (isOther && reported?.uid === uid) this.#events.changed(reported.source, name);
  }

  #overdue(key: string): void {
    const uid = this.#uids.get(key) ?? '';
    const owned = this.#ownedObjects.get(uid);
    const root = this.#graph.rootOf(uid);
    if (owned) this.#ownedObjects.set(uid, { ...owned, failing: true });
    if (root !== undefined) this.#markDirty(root);
  }

  #read(uid: string, key: string): void {
    const reported = this.#reported.get(key);
    if (reported?.uid === uid) this.#events.changed(reported.source, key);
    this.#settled();
  }

  #forget(uid: string): void {
    const owned = this.#ownedObjects.get(uid);
    if (!owned) return;
    this.#graph.delete(uid);
    this.#ownedObjects.delete(uid);
    if (this.#uids.get(owned.key) !== uid) return;
    this.#uids.delete(owned.key);
    this.#health.forget(owned.key);
  }

  #forgetAll(of: GroupResource): void {
    for (const [uid, { key }] of [...this.#ownedObjects]) {
      if (resourceName(parseKey(key)) === resourceName(of)) this.#forget(uid);
    }
  }

  /** Asks for the kinds of unknown owners. An owner that the agent has not seen does not exist, or has a kind that the agent does not watch yet. */
  #askOwners(uid: string): void {
    for (const owner of this.#graph.unknownOwners(uid)) {
      if (this.#kinds.has(kindOf(owner))) continue;
      this.#kinds.set(kindOf(owner), 'asking');
      // If the request for a kind fails, the kind stays marked as asked for until the agent asks for all kinds again.
      this.#askKind(owner).then(
        () => this.#settled(),
        (error: unknown) => this.#events.failed(error),
      );
    }
  }

  async #askKind(owner: OwnerLink): Promise<void> {
    const request = this.#servedRequest;
    const resource = await this.#ports.cluster.resourceOf(owner.apiVersion, owner.kind);
    if (request !== this.#servedRequest) return;
    this.#kinds.set(kindOf(owner), resource);
    if (!resource) return;
    this.#between.set(resourceName(resource), resource);
    // For kinds between the rules and the placed objects, only the owners matter. A watch of the metadata costs little, even for the Pods of the cluster's
    // other ReplicaSets.
    this.#watches.add(resource, true);
  }

  #settled(): void {
    if (!this.#isAskingServed && this.#dirty.size === 0) this.#events.synced();
  }

  // ---------------------------------------------------------------------------------------------- the reports

  #rootChanged(uid: string, before: string | undefined, after: string | undefined): void {
    const owned = this.#ownedObjects.get(uid);
    if (!owned) return;
    const resource = resourceName(parseKey(owned.key));
    if (before !== undefined) {
      const ofRoot = this.#members.get(before);
      const uids = ofRoot?.get(resource);
      uids?.delete(uid);
      if (uids?.size === 0) ofRoot?.delete(resource);
      if (ofRoot?.size === 0) this.#members.delete(before);
      this.#markDirty(before);
    }
    if (after === undefined) {
      this.#bodies.delete(uid);
      return;
    }
    const ofRoot = this.#members.get(after) ?? new Map<string, Set<string>>();
    this.#members.set(after, ofRoot.set(resource, (ofRoot.get(resource) ?? new Set()).add(uid)));
    this.#markDirty(after);
  }

  #markDirty(root: string): void {
    // The choice runs after the present call stack, so that many changes cause one choice.
    if (this.#dirty.size === 0) queueMicrotask(() => this.#chooseDirty());
    this.#dirty.add(root);
  }

  #chooseDirty(): void {
    const roots = [...this.#dirty];
    this.#dirty.clear();
    for (const root of roots) this.#choose(root);
    this.#settled();
  }

  #choose(root: string): void {
    const source = this.#ports.deliveryOf(root)?.source;
    const before = this.#chosen.get(root) ?? new Set<string>();
    const after = source === undefined ? new Map<string, Chosen>() : this.#choice(root);
    if (after.size === 0) this.#chosen.delete(root);
    else this.#chosen.set(root, new Set(after.keys()));
    for (const key of before)
      if (!after.has(key) && !this.#isChosenElsewhere(key, root)) this.#setReported(key, undefined);
    for (const [key, chosen] of after) this.#setReported(key, { ...chosen, source: source! });
  }

  /** The objects to report below a placed object, keyed by object key. */
  #choice(root: string): Map<string, Chosen> {
    const choice = new Map<string, Chosen>();
    const ofRoot = this.#members.get(root) ?? new Map<string, Set<string>>();
    for (const [resource, uids] of ofRoot) {
      const { limit, refs } = this.#askedFor(root, resource);
      if (limit === 0) continue;
      const members = new Map<string, AssociatedObject & { uid: string }>();
      for (const uid of uids) {
        const owned = this.#ownedObjects.get(uid);
        // A placed object has its own report.
        if (owned && !this.#graph.isRoot(uid)) members.set(owned.key, { ...owned, uid });
      }
      for (const key of chooseMembers(members.values(), limit)) choice.set(key, { uid: members.get(key)!.uid, refs });
    }
    return choice;
  }

  #setReported(key: string, next: (Chosen & { readonly source: string }) | undefined): void {
    const before = this.#reported.get(key);
    const isSame = before?.uid === next?.uid && before?.source === next?.source;
    if (next) this.#bodies.want(next.uid, parseKey(key));
    if (isSame && before?.refs.join() === next?.refs.join()) return;
    if (next) this.#reported.set(key, next);
    else this.#reported.delete(key);
    for (const source of new Set([before?.source, next?.source])) {
      if (source !== undefined) this.#events.changed(source, key);
    }
  }

  /** Whether the object belongs to another placed object now, and is reported there. */
  #isChosenElsewhere(key: string, notOf: string): boolean {
    const root = this.#graph.rootOf(this.#reported.get(key)?.uid ?? '');
    return root !== undefined && root !== notOf && (this.#chosen.get(root)?.has(key) ?? false);
  }

  /** The placements whose rules name the resource, and the greatest limit among these rules. 0: no rule names the resource. */
  #askedFor(root: string, resource: string): { limit: number; refs: readonly string[] } {
    const [group = '', plural = ''] = resource.split('/');
    let limit = 0;
    const refs = new Set<string>();
    for (const id of this.#ports.deliveryOf(root)?.placements ?? []) {
      for (const item of this.#rules.get(id) ?? []) {
        if (!namesResource(item, { group, resource: plural })) continue;
        limit = Math.max(limit, item.limit);
        refs.add(splitPlacementId(id).name);
      }
    }
    return { limit, refs: [...refs].sort() };
  }
}

function kindOf({ apiVersion, kind }: OwnerLink): string {
  return `${apiVersion} ${kind}`;
}
