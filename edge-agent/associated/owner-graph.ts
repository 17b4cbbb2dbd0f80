/**
 * Finds the placed object at the end of each chain of owners: a Pod, its ReplicaSet, its Deployment. The input are the owner references of the objects that
 * the agent has seen, in any order. The chains are the same for every order.
 *
 * The work for a change is proportional to the number of objects below the changed object. A cluster may have tens of thousands of Pods that belong to no
 * placed object. So the graph stores little for each object, and stores one copy of values that many objects have in common.
 */
import type { OwnerReference } from '../../core/object/meta.ts';

/** More steps than any chain of controllers has. This limit ends a cycle of owners, which the API server allows. */
const chainMax = 8;

/** The parts of an owner reference that the graph needs. */
export type OwnerLink = Pick<OwnerReference, 'apiVersion' | 'kind' | 'uid'>;

interface OwnerNode {
  owners: readonly OwnerLink[];
  root: string | undefined;
}

/** The objects that refer to one owner. Most of these objects have the same reference and no other owner, so they share one list with this reference. */
interface Owned {
  readonly uids: Set<string>;
  readonly list: readonly [OwnerLink];
}

export class OwnerGraph {
  /** The objects that the agent has seen, keyed by uid. */
  readonly #nodes = new Map<string, OwnerNode>();
  /** The keys of the placed objects, keyed by uid. */
  readonly #roots = new Map<string, string>();
  /** The uids of the placed objects, keyed by object key. */
  readonly #uids = new Map<string, string>();
  /** The objects that the agent has seen, keyed by the uid of their owner. */
  readonly #owned = new Map<string, Owned>();
  readonly #rootChanged: (uid: string, before: string | undefined, after: string | undefined) => void;

  /** `rootChanged` is called for each object whose placed object has changed. */
  constructor(rootChanged: (uid: string, before: string | undefined, after: string | undefined) => void) {
    this.#rootChanged = rootChanged;
  }

  /** Adds or updates an object with its present owners. */
  set(uid: string, owners: readonly OwnerReference[]): void {
    const node = this.#nodes.get(uid) ?? { owners: [], root: undefined };
    this.#nodes.set(uid, node);
    for (const { uid: owner } of node.owners) this.#unlink(owner, uid);
    const lists = controllerFirst(owners).map((owner) => this.#link(owner, uid));
    node.owners = lists.length === 1 ? lists[0]! : lists.flat();
    this.#follow(uid);
  }

  delete(uid: string): void {
    const node = this.#nodes.get(uid);
    if (!node) return;
    for (const { uid: owner } of node.owners) this.#unlink(owner, uid);
    this.#nodes.delete(uid);
    if (node.root !== undefined) this.#rootChanged(uid, node.root, undefined);
    this.#followOwned(uid);
  }

  /** Called when a placed object was created or deleted, or when another object has its name now. */
  setRoot(key: string, uid: string | undefined): void {
    const old = this.#uids.get(key);
    if (old === uid) return;
    if (old !== undefined) {
      this.#roots.delete(old);
      this.#uids.delete(key);
      this.#followOwned(old);
    }
    if (uid === undefined) return;
    this.#roots.set(uid, key);
    this.#uids.set(key, uid);
    this.#followOwned(uid);
  }

  rootOf(uid: string): string | undefined {
    return this.#nodes.get(uid)?.root;
  }

  /** The object's owners that are not placed, and that the agent has not seen. The graph knows no owner above them. */
  unknownOwners(uid: string): OwnerLink[] {
    const owners = this.#nodes.get(uid)?.owners ?? [];
    return owners.filter((owner) => !this.#nodes.has(owner.uid) && !this.#roots.has(owner.uid));
  }

  /** The unknown owners of the object, and of all objects that own it directly or through others. */
  unknownAbove(uid: string): OwnerLink[] {
    // A set, so that the loop visits each object once, even if objects own each other.
    const chain = new Set([uid]);
    for (const one of chain) for (const owner of this.#nodes.get(one)?.owners ?? []) chain.add(owner.uid);
    return [...chain].flatMap((one) => this.unknownOwners(one));
  }

  isRoot(uid: string): boolean {
    return this.#roots.has(uid);
  }

  #follow(uid: string, depth = 0): void {
    const node = this.#nodes.get(uid);
    if (!node) return;
    const before = node.root;
    node.root = this.#find(uid, 0, new Map());
    if (before === node.root) return;
    this.#rootChanged(uid, before, node.root);
    if (depth < chainMax) this.#followOwned(uid, depth + 1);
  }

  #followOwned(uid: string, depth = 0): void {
    for (const owned of this.#owned.get(uid)?.uids ?? []) this.#follow(owned, depth);
  }

  /**
   * Returns the key of the placed object at the end of the chain. `visitedAt` has, for each visited uid, the number of steps after which the search reached
   * it. Without `visitedAt`, objects that own each other would give more paths than any search could follow.
   */
  #find(uid: string, depth: number, visitedAt: Map<string, number>): string | undefined {
    if (depth >= (visitedAt.get(uid) ?? chainMax)) return undefined;
    visitedAt.set(uid, depth);
    for (const owner of this.#nodes.get(uid)?.owners ?? []) {
      const root = this.#roots.get(owner.uid) ?? this.#find(owner.uid, depth + 1, visitedAt);
      if (root !== undefined) return root;
    }
    return undefined;
  }

  /** Links the object to the owner, and returns the reference. Objects with an equal reference share one copy. */
  #link({ apiVersion, kind, uid: owner }: OwnerReference, uid: string): readonly [OwnerLink] {
    const link = [{ apiVersion, kind, uid: owner }] as const;
    const owned = this.#owned.get(owner) ?? { uids: new Set(), list: link };
    this.#owned.set(owner, owned);
    owned.uids.add(uid);
    const [first] = owned.list;
    return first.apiVersion === apiVersion && first.kind === kind ? owned.list : link;
  }

  #unlink(owner: string, uid: string): void {
    const owned = this.#owned.get(owner);
    owned?.uids.delete(uid);
    if (owned?.uids.size === 0) this.#owned.delete(owner);
  }
}

/** The controller of an object is its real owner. Other owners may only protect the object from garbage collection. */
function controllerFirst(owners: readonly OwnerReference[]): OwnerReference[] {
  return [...owners].sort((a, b) => Number(b.controller ?? false) - Number(a.controller ?? false));
}
