/**
 * Owners and their dependents, keyed by uid. The garbage collector needs these facts for every object that has owners. Other objects are not in the index.
 */
import type { OwnerReference } from '../../object/meta.ts';

export class OwnerIndex {
  /** Uid of an owner → keys of its dependents. The value is true if the dependent blocks a foreground deletion. */
  readonly #dependents = new Map<string, Map<string, boolean>>();
  /** Key of a dependent → uids of its owners. */
  readonly #owners = new Map<string, readonly string[]>();

  /** Sets the owners of a dependent. Returns the uids of the owners whose dependents have changed. */
  set(key: string, references: readonly OwnerReference[]): readonly string[] {
    const before = this.#owners.get(key) ?? [];
    for (const uid of before) this.#forget(uid, key);
    for (const { uid, blockOwnerDeletion } of references) {
      const dependents = this.#dependents.get(uid) ?? new Map<string, boolean>();
      dependents.set(key, blockOwnerDeletion === true);
      this.#dependents.set(uid, dependents);
    }
    const after = references.map(({ uid }) => uid);
    if (after.length > 0) this.#owners.set(key, after);
    else this.#owners.delete(key);
    return [...before, ...after];
  }

  has(key: string): boolean {
    return this.#owners.has(key);
  }

  isEmpty(): boolean {
    return this.#owners.size === 0;
  }

  dependentsOf(uid: string): string[] {
    return [...(this.#dependents.get(uid)?.keys() ?? [])];
  }

  /** `self` is the key of the owner itself. An object that is its own owner must not wait for itself. */
  hasBlockingDependents(uid: string, self: string): boolean {
    for (const [key, blocks] of this.#dependents.get(uid) ?? []) if (blocks && key !== self) return true;
    return false;
  }

  #forget(uid: string, key: string): void {
    const dependents = this.#dependents.get(uid);
    dependents?.delete(key);
    if (dependents?.size === 0) this.#dependents.delete(uid);
  }
}
