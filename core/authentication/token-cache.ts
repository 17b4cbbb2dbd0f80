/**
 * Keeps what valid tokens say, so that a client that sends the same token with each request costs one check of the signature. What a token says never changes
 * until it expires. Whether its account still exists is asked for each request, and is not kept here.
 */
import { createHash } from 'node:crypto';

/** Limit for the kept results: more clients than a node serves at once. The oldest one goes first. */
const keptMax = 1_000;

export class TokenCache<T extends { readonly expiresMs: number }> {
  /** Keyed by the hash of the token: a dump of the memory should not contain the tokens. */
  readonly #kept = new Map<string, T>();

  /** Returns what the token says, if it has not expired. */
  get(token: string, nowMs: number): T | undefined {
    const key = hashOf(token);
    const kept = this.#kept.get(key);
    if (kept && kept.expiresMs > nowMs) return kept;
    this.#kept.delete(key);
    return undefined;
  }

  keep(token: string, what: T): void {
    if (this.#kept.size >= keptMax) this.#kept.delete(this.#kept.keys().next().value!);
    this.#kept.set(hashOf(token), what);
  }
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}
