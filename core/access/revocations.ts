/**
 * Users whose certificates were revoked: by Revocations of this node, and by those of the nodes above. A certificate that begins to be valid after the
 * revocation is good again, so a person may get a new one under the old name.
 */

/** The latest time of revocation of each user, in ms of the wall clock. */
export type RevokedUsers = Readonly<Record<string, number>>;

export class Revocations {
  /** Keyed by the name of the Revocation. */
  readonly #own = new Map<string, { readonly user: string; readonly atMs: number }>();
  #above: RevokedUsers = {};
  /** Own revocations and those of the nodes above. Undefined after a change: the next question builds the map, so that a start with many revocations builds one map. */
  #latest: ReadonlyMap<string, number> | undefined;
  #record: RevokedUsers | undefined;

  /** Sets a Revocation of this node. Undefined: it was deleted. */
  set(name: string, revoked: { readonly user: string; readonly atMs: number } | undefined): void {
    if (revoked) this.#own.set(name, revoked);
    else this.#own.delete(name);
    this.#forget();
  }

  setAbove(users: RevokedUsers): void {
    this.#above = users;
    this.#forget();
  }

  /** Whether a certificate of the user that is valid from this time on was revoked. */
  isRevoked(user: string, validFromMs: number): boolean {
    const atMs = this.revokedAtMs(user);
    return atMs !== undefined && validFromMs <= atMs;
  }

  /** The latest time of revocation of the user. Undefined: the user was never revoked. */
  revokedAtMs(user: string): number | undefined {
    return this.#merged().get(user);
  }

  /** The revocations for the nodes below, sorted by user. Without a change between two calls, both return the same object. */
  all(): RevokedUsers {
    this.#record ??= Object.fromEntries([...this.#merged()].sort(([a], [b]) => (a < b ? -1 : 1)));
    return this.#record;
  }

  #merged(): ReadonlyMap<string, number> {
    if (this.#latest) return this.#latest;
    const latest = new Map(Object.entries(this.#above));
    for (const { user, atMs } of this.#own.values()) latest.set(user, Math.max(atMs, latest.get(user) ?? 0));
    this.#latest = latest;
    return latest;
  }

  #forget(): void {
    this.#latest = undefined;
    this.#record = undefined;
  }
}
