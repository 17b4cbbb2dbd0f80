/**
 * Finds the objects that placed objects own, over any number of steps. It watches the resources that the rules name, and the kinds between those and the
 * placed objects, and keeps the reports.
 *
 * Bound: for each placed object and resource, the greatest `limit` among the rules of its placements.
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
  /** For a placed object: the source that delivers it, and the placements that want it. */
  deliveryOf(key: string): { readonly source: string; readonly placements: readonly PlacementId[] } | undefined;
}

export interface AssociatedEvents {
  /** The report about the object for this source has changed. */
  changed(source: string, key: string): void;
  /** The agent knows more objects of the cluster than before. */
  synced(): void;
  /** The cluster does not answer. */
  failed(error: unknown): void;
  /** An object that has to be reported can't be read. The agent tries again. */
  unread(key: string, error: unknown): void;
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
  readonly #graph = new OwnerGraph((uid, before, after) => this.#moved(uid, before, after));
  /** All objects with owners that the agent has seen, by uid. */
  readonly #held = new Map<string, AssociatedObject>();
  /** The uids of the objects in `#held`, by key. */
  readonly #uids = new Map<string, string>();
  /** The bodies of objects that rules name and that belong to a placed object. */
  readonly #bodies: Bodies;
  /** By the key of the placed object, then by resource: uids. */
  readonly #members = new Map<string, Map<string, Set<string>>>();
  /** By the key of the placed object: the keys of the reported objects. */
  readonly #chosen = new Map<string, ReadonlySet<string>>();
  /** By the key of the reported object. */
  readonly #told = new Map<string, Chosen & { readonly source: string }>();
  readonly #between = new Map<string, ServedResource>();
  /**
   * Kinds of owners that the agent has asked for: so it asks once for each. The value is the resource that the cluster serves for the kind. Undefined: the
   * cluster serves none.
   */
  readonly #kinds = new Map<string, ServedResource | 'asking' | undefined>();
  readonly #dirty = new Set<string>();
  #rules: AssociatedRules = new Map();
  #named: readonly ServedResource[] = [];
  /** The agent does not know yet which of the named resources the cluster serves. */
  #looking = false;
  /** API groups for which the cluster does not answer what it serves. */
  #unknown: ReadonlyMap<string, string> = new Map();
  #look = 0;

  constructor(ports: AssociatedPorts, events: AssociatedEvents) {
    this.#ports = ports;
    this.#events = events;
    this.#health = new TimedHealth(ports.clock, (key) => this.#overdue(key));
    this.#bodies = new Bodies({
      clock: ports.clock,
      get: (key) => ports.cluster.get(key),
      read: (uid, key) => this.#read(uid, key),
      failed: (key, error) => events.unread(key, error),
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
    for (const root of this.#members.keys()) this.#mark(root);
    await this.kindsChanged();
  }

  async kindsChanged(): Promise<void> {
    const look = ++this.#look;
    const items = [...this.#rules.values()].flat();
    this.#looking = items.length > 0;
    if (items.length === 0) {
      this.#named = [];
      this.#unknown = new Map();
      this.#between.clear();
    } else {
      const served = await this.#ports.cluster.served();
      const unknown = await this.#ports.cluster.unknownGroups?.();
      if (look !== this.#look) return;
      this.#unknown = unknown ?? new Map();
      this.#named = served.filter((resource) => items.some((item) => namesResource(item, resource)));
    }
    this.#looking = false;
    this.#kinds.clear();
    this.#watches.set(this.#named, this.#between.values());
    for (const uid of this.#held.keys()) this.#askOwners(uid);
    for (const [key, { uid }] of this.#told) this.#bodies.want(uid, parseKey(key));
    this.#settled();
  }

  /** Reports the uid of a placed object on the cluster. Undefined: the object is not there. */
  place(key: string, uid: string | undefined): void {
    if (this.#rules.size === 0 && uid !== undefined) return;
    this.#graph.setRoot(key, uid);
    this.#mark(key);
  }

  get isActive(): boolean {
    return this.#rules.size > 0;
  }

  /**
   * Whether the agent has seen all objects of the resource and knows the owners of this object. If such an object has no report, it must have none. Unknown
   * owners of other objects delay nothing.
   */
  knows(key: string): boolean {
    const resource = parseKey(key);
    if (this.#looking || this.#dirty.size > 0 || this.#unknown.has(resource.group)) return false;
    if (!this.#watches.isSeen(resource)) return false;
    const told = this.#told.get(key);
    // The object is reported as soon as its body is there.
    if (told && this.#bodies.of(told.uid) === undefined) return false;
    const uid = this.#uids.get(key);
    return uid === undefined || !this.#graph.unknownAbove(uid).some((owner) => this.#isExpected(owner));
  }

  /** Whether the agent may still see this owner. It never sees the owners of a kind that the cluster does not serve or does not let the agent list. */
  #isExpected(owner: OwnerLink): boolean {
    if (this.#unknown.has(parseApiVersion(owner.apiVersion).group)) return true;
    const resource = this.#kinds.get(kindOf(owner));
    return resource === 'asking' || (resource !== undefined && this.#watches.isPending(resource));
  }

  say(source: string, key: string): AssociatedReport | undefined {
    const told = this.#told.get(key);
    const held = told && this.#held.get(told.uid);
    const owner = told && this.#graph.rootOf(told.uid);
    const body = told && this.#bodies.of(told.uid);
    if (!told || !held || !body || owner === undefined || told.source !== source) return undefined;
    return { owner, namespaced: held.namespaced, refs: told.refs, body };
  }

  /** How many objects are in memory with their body. */
  get bodies(): number {
    return this.#bodies.size;
  }

  stop(): void {
    this.#look++;
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
    const before = this.#held.get(uid);
    const named = this.#named.some((one) => resourceName(one) === resourceName(resource));
    const failing = named && this.#health.of(name, object).state === 'Failed';
    this.#held.set(uid, { key: name, failing, namespaced: resource.namespaced });
    this.#uids.set(name, uid);
    this.#graph.set(uid, owners);
    this.#askOwners(uid);
    const root = this.#graph.rootOf(uid);
    if (root === undefined || !named) return;
    const isOther = this.#bodies.set(uid, object);
    if (before?.failing !== failing) this.#mark(root);
    const told = this.#told.get(name);
    if (isOther && told?.uid === uid) this.#events.changed(told.source, name);
  }

  #overdue(key: string): void {
    const uid = this.#uids.get(key) ?? '';
    const held = this.#held.get(uid);
    const root = this.#graph.rootOf(uid);
    if (held) this.#held.set(uid, { ...held, failing: true });
    if (root !== undefined) this.#mark(root);
  }

  #read(uid: string, key: string): void {
    const told = this.#told.get(key);
    if (told?.uid === uid) this.#events.changed(told.source, key);
    this.#settled();
  }

  #forget(uid: string): void {
    const held = this.#held.get(uid);
    if (!held) return;
    this.#graph.delete(uid);
    this.#held.delete(uid);
    if (this.#uids.get(held.key) !== uid) return;
    this.#uids.delete(held.key);
    this.#health.forget(held.key);
  }

  #forgetAll(of: GroupResource): void {
    for (const [uid, { key }] of [...this.#held]) {
      if (resourceName(parseKey(key)) === resourceName(of)) this.#forget(uid);
    }
  }

  /** An owner that the agent has not seen is of a kind that it does not watch yet, or does not exist. */
  #askOwners(uid: string): void {
    for (const owner of this.#graph.unknownOwners(uid)) {
      if (this.#kinds.has(kindOf(owner))) continue;
      this.#kinds.set(kindOf(owner), 'asking');
      // A kind whose request failed stays marked as asked for until the next request for all kinds.
      this.#askKind(owner).then(
        () => this.#settled(),
        (error: unknown) => this.#events.failed(error),
      );
    }
  }

  async #askKind(owner: OwnerLink): Promise<void> {
    const look = this.#look;
    const resource = await this.#ports.cluster.resourceOf(owner.apiVersion, owner.kind);
    if (look !== this.#look) return;
    this.#kinds.set(kindOf(owner), resource);
    if (!resource) return;
    this.#between.set(resourceName(resource), resource);
    // For kinds between the rules and the placed objects, only the owners matter. A watch of the metadata costs little, even for the Pods of a cluster's
    // other ReplicaSets.
    this.#watches.add(resource, true);
  }

  #settled(): void {
    if (!this.#looking && this.#dirty.size === 0) this.#events.synced();
  }

  // ---------------------------------------------------------------------------------------------- the reports

  #moved(uid: string, before: string | undefined, after: string | undefined): void {
    const held = this.#held.get(uid);
    if (!held) return;
    const resource = resourceName(parseKey(held.key));
    if (before !== undefined) {
      const ofRoot = this.#members.get(before);
      const uids = ofRoot?.get(resource);
      uids?.delete(uid);
      if (uids?.size === 0) ofRoot?.delete(resource);
      if (ofRoot?.size === 0) this.#members.delete(before);
      this.#mark(before);
    }
    if (after === undefined) {
      this.#bodies.delete(uid);
      return;
    }
    const ofRoot = this.#members.get(after) ?? new Map<string, Set<string>>();
    this.#members.set(after, ofRoot.set(resource, (ofRoot.get(resource) ?? new Set()).add(uid)));
    this.#mark(after);
  }

  #mark(root: string): void {
    // After the present call stack, so that many changes cause one choice.
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
    for (const key of before) if (!after.has(key) && !this.#isChosenElsewhere(key, root)) this.#tell(key, undefined);
    for (const [key, chosen] of after) this.#tell(key, { ...chosen, source: source! });
  }

  /** The objects to report below a placed object, by key. */
  #choice(root: string): Map<string, Chosen> {
    const choice = new Map<string, Chosen>();
    const ofRoot = this.#members.get(root) ?? new Map<string, Set<string>>();
    for (const [resource, uids] of ofRoot) {
      const { limit, refs } = this.#askedFor(root, resource);
      if (limit === 0) continue;
      const members = new Map<string, AssociatedObject & { uid: string }>();
      for (const uid of uids) {
        const held = this.#held.get(uid);
        // A placed object has a report of its own.
        if (held && !this.#graph.isRoot(uid)) members.set(held.key, { ...held, uid });
      }
      for (const key of chooseMembers(members.values(), limit)) choice.set(key, { uid: members.get(key)!.uid, refs });
    }
    return choice;
  }

  #tell(key: string, next: (Chosen & { readonly source: string }) | undefined): void {
    const before = this.#told.get(key);
    const isSame = before?.uid === next?.uid && before?.source === next?.source;
    if (next) this.#bodies.want(next.uid, parseKey(key));
    if (isSame && before?.refs.join() === next?.refs.join()) return;
    if (next) this.#told.set(key, next);
    else this.#told.delete(key);
    for (const source of new Set([before?.source, next?.source])) {
      if (source !== undefined) this.#events.changed(source, key);
    }
  }

  /** The object belongs to another placed object now, which reports it. */
  #isChosenElsewhere(key: string, notOf: string): boolean {
    const root = this.#graph.rootOf(this.#told.get(key)?.uid ?? '');
    return root !== undefined && root !== notOf && (this.#chosen.get(root)?.has(key) ?? false);
  }

  /** The placements whose rules name the resource, and the greatest limit among them. 0: no rule names it. */
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
