/**
 * Users and nodes whose certificates were revoked: by Revocations of this node, and by those of the nodes above. A certificate that begins to be valid after the
 * revocation is good again, so a person or a node may get a new one under the old name.
 */
import type { PeerIdentity } from '../identity/peer-identity.ts';

/** The latest time of revocation of each user and of each path, in ms of the wall clock. */
export interface Revoked {
  readonly users: Readonly<Record<string, number>>;
  readonly nodes: Readonly<Record<string, number>>;
}

/** The user or node of one Revocation. The name of a node is its path. */
export interface RevokedSubject {
  readonly kind: keyof Revoked;
  readonly name: string;
  readonly atMs: number;
}

type Latest = Readonly<Record<keyof Revoked, ReadonlyMap<string, number>>>;

const nothing: Revoked = { users: {}, nodes: {} };

export class Revocations {
  /** Keyed by the name of the Revocation. */
  readonly #own = new Map<string, RevokedSubject>();
  #above = nothing;
  /**
   * Own revocations and those of the nodes above. Undefined after a change: the next question builds the maps, so that a start with many revocations builds them
   * once.
   */
  #latest: Latest | undefined;
  #record: Revoked | undefined;

  /** The number of Revocations of this node. */
  get ownCount(): number {
    return this.#own.size;
  }

  /** Sets a Revocation of this node. Undefined: it was deleted. */
  set(name: string, revoked: RevokedSubject | undefined): void {
    if (revoked) this.#own.set(name, revoked);
    else this.#own.delete(name);
    this.#forget();
  }

  setAbove(above: Revoked): void {
    this.#above = above;
    this.#forget();
  }

  /** Whether a certificate of the user that is valid from this time on was revoked. */
  isRevoked(user: string, validFromMs: number): boolean {
    return isBefore(this.revokedAtMs(user), validFromMs);
  }

  /** The latest time of revocation of the user. Undefined: the user was never revoked. */
  revokedAtMs(user: string): number | undefined {
    return this.#merged().users.get(user);
  }

  /** The time of the last revocation of the node at this path, in ms of the wall clock. */
  nodeRevokedAtMs(path: string): number | undefined {
    return this.#merged().nodes.get(path);
  }

  /**
   * Why the certificates of a node do not count. Undefined: they count. A certificate counts only if the issuers of relays that have signed it count too: whoever
   * has the key of a revoked relay can sign for the whole subtree.
   */
  whyRevoked({ path, certificate }: PeerIdentity): string | undefined {
    if (!certificate) return undefined;
    const { nodes } = this.#merged();
    if (isBefore(nodes.get(path), certificate.fromMs)) return `the certificate of "${path}" was revoked`;
    const signer = certificate.signers?.find((one) => isBefore(nodes.get(one.path), one.fromMs));
    if (!signer) return undefined;
    return `the certificate of "${path}" was signed by the relay "${signer.path}", whose authority was revoked`;
  }

  /** The revocations of this node alone, sorted by name. */
  own(): Revoked {
    return recordOf(latestOf(nothing, this.#own.values()));
  }

  /** The revocations for the nodes below, sorted by name. Without a change between two calls, both return the same object. */
  all(): Revoked {
    this.#record ??= recordOf(this.#merged());
    return this.#record;
  }

  #merged(): Latest {
    this.#latest ??= latestOf(this.#above, this.#own.values());
    return this.#latest;
  }

  #forget(): void {
    this.#latest = undefined;
    this.#record = undefined;
  }
}

function isBefore(revokedAtMs: number | undefined, validFromMs: number): boolean {
  return revokedAtMs !== undefined && validFromMs <= revokedAtMs;
}

/** The latest time of each user and node, in the record or in one of the subjects. */
function latestOf({ users, nodes }: Revoked, subjects: Iterable<RevokedSubject>): Latest {
  const latest = { users: new Map(Object.entries(users)), nodes: new Map(Object.entries(nodes)) };
  for (const { kind, name, atMs } of subjects) latest[kind].set(name, Math.max(atMs, latest[kind].get(name) ?? 0));
  return latest;
}

function recordOf({ users, nodes }: Latest): Revoked {
  return { users: sorted(users), nodes: sorted(nodes) };
}

/** Both together, with the latest time of each user and node. */
export function withRevoked(one: Revoked, other: Revoked): Revoked {
  const subjects = (['users', 'nodes'] as const).flatMap((kind) =>
    Object.entries(other[kind]).map(([name, atMs]) => ({ kind, name, atMs })),
  );
  return recordOf(latestOf(one, subjects));
}

function sorted(latest: ReadonlyMap<string, number>): Readonly<Record<string, number>> {
  return Object.fromEntries([...latest].sort(([a], [b]) => (a < b ? -1 : 1)));
}
