/**
 * Whose objects are whose: from the owner references of what was seen to the placed object at the end of each chain (a Pod, its ReplicaSet, its
 * Deployment). What is seen in whatever order ends in the same chains.
 *
 * Work for a change is proportional to the objects below the one that changed. A cluster may have tens of thousands of Pods that are nobody's here: what is
 * kept of one is little, and what many have in common is kept once.
 */
import type { OwnerReference } from '../../core/object/meta.ts';

/** Longer than any chain of controllers; ends a cycle of owners, which nothing forbids. */
const chainMax = 8;

/** What counts of a reference. */
export type OwnerLink = Pick<OwnerReference, 'apiVersion' | 'kind' | 'uid'>;

interface OwnerNode {
  owners: readonly OwnerLink[];
  root: string | undefined;
}

/** What refers to one owner. All of it does so by the same words, mostly, and has no other owner: the list of this one is shared. */
interface Owned {
  readonly uids: Set<string>;
  readonly list: readonly [OwnerLink];
}

export class OwnerGraph {
  /** By uid. */
  readonly #nodes = new Map<string, OwnerNode>();
  /** Placed objects: uid -> key. */
  readonly #roots = new Map<string, string>();
  /** The same the other way round. */
  readonly #uids = new Map<string, string>();
  /** By the owner's uid: what it owns, as far as it was seen. */
  readonly #owned = new Map<string, Owned>();
  readonly #moved: (uid: string, before: string | undefined, after: string | undefined) => void;

  /** `moved` is told of each object that has another placed object at its end than before. */
  constructor(moved: (uid: string, before: string | undefined, after: string | undefined) => void) {
    this.#moved = moved;
  }

  /** An object with its owners as they are now. */
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
    if (node.root !== undefined) this.#moved(uid, node.root, undefined);
    this.#followOwned(uid);
  }

  /** A placed object has come, or has gone, or is another one under its old name. */
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

  /** Owners that were not seen and are no placed object: where the chain of the object breaks off. */
  unknownOwners(uid: string): OwnerLink[] {
    const owners = this.#nodes.get(uid)?.owners ?? [];
    return owners.filter((owner) => !this.#nodes.has(owner.uid) && !this.#roots.has(owner.uid));
  }

  /** The same of the object and of all that own it. */
  unknownAbove(uid: string): OwnerLink[] {
    // A set, so that each is looked at once where owners own each other.
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
    this.#moved(uid, before, node.root);
    if (depth < chainMax) this.#followOwned(uid, depth + 1);
  }

  #followOwned(uid: string, depth = 0): void {
    for (const owned of this.#owned.get(uid)?.uids ?? []) this.#follow(owned, depth);
  }

  /** `looked`: after how many steps each was come to. Where everything owns everything there are more ways than could ever be gone. */
  #find(uid: string, depth: number, looked: Map<string, number>): string | undefined {
    if (depth >= (looked.get(uid) ?? chainMax)) return undefined;
    looked.set(uid, depth);
    for (const owner of this.#nodes.get(uid)?.owners ?? []) {
      const root = this.#roots.get(owner.uid) ?? this.#find(owner.uid, depth + 1, looked);
      if (root !== undefined) return root;
    }
    return undefined;
  }

  /** The reference as all have it that say the same. */
  #link({ apiVersion, kind, uid: owner }: OwnerReference, uid: string): readonly [OwnerLink] {
    const own = [{ apiVersion, kind, uid: owner }] as const;
    const owned = this.#owned.get(owner) ?? { uids: new Set(), list: own };
    this.#owned.set(owner, owned);
    owned.uids.add(uid);
    const [first] = owned.list;
    return first.apiVersion === apiVersion && first.kind === kind ? owned.list : own;
  }

  #unlink(owner: string, uid: string): void {
    const owned = this.#owned.get(owner);
    owned?.uids.delete(uid);
    if (owned?.uids.size === 0) this.#owned.delete(owner);
  }
}

/** The owner that controls an object says whose it is; the others may keep it only from being collected. */
function controllerFirst(owners: readonly OwnerReference[]): OwnerReference[] {
  return [...owners].sort((a, b) => Number(b.controller ?? false) - Number(a.controller ?? false));
}
