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
  /** Own ones and those of nodes above. */
  #all: ReadonlyMap<string, number> = new Map();

  /** Sets a Revocation of this node. Undefined: it was deleted. */
  set(name: string, revoked: { readonly user: string; readonly atMs: number } | undefined): void {
    if (revoked) this.#own.set(name, revoked);
    else this.#own.delete(name);
    this.#merge();
  }

  setAbove(users: RevokedUsers): void {
    this.#above = users;
    this.#merge();
  }

  /** Whether a certificate of the user that is valid from this time on was revoked. */
  isRevoked(user: string, validFromMs: number): boolean {
    const atMs = this.#all.get(user);
    return atMs !== undefined && validFromMs <= atMs;
  }

  /** What the nodes below need to know. */
  all(): RevokedUsers {
    return Object.fromEntries([...this.#all].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #merge(): void {
    const all = new Map(Object.entries(this.#above));
    for (const { user, atMs } of this.#own.values()) all.set(user, Math.max(atMs, all.get(user) ?? 0));
    this.#all = all;
  }
}
