/**
 * One token for the metrics of a whole subtree. A ServiceAccount that has the ClusterRole `banyan:metrics` at a node can read the metrics of all nodes below with a
 * token for the audience `urn:banyan:metrics`. The node sends its public keys and the accounts down the tree, so each node below checks the token alone. Such a token
 * is good for `/metrics` and for nothing else: a node below can't ask whether the account has more rights.
 */
import { createPublicKey, type KeyObject } from 'node:crypto';
import type { Requester } from '../access/attributes.ts';
import type { Clock } from '../runtime/clock.ts';
import { type AccountToken, accountUser, issuerOf, tokenOf } from './account-token.ts';
import { TokenCache } from './token-cache.ts';

export const metricsAudience = 'urn:banyan:metrics';

/** Limit for the accounts of one node: every change of them goes to every node below. A tree has one or two programs that collect metrics. */
export const metricsAccountsMax = 16;

/** A node above, as the parent describes it. */
export interface MetricsIssuer {
  readonly path: string;
  /** `spki`: the public key (SubjectPublicKeyInfo, DER) in base64. */
  readonly keys: readonly { readonly id: string; readonly spki: string }[];
  readonly accounts: readonly { readonly namespace: string; readonly name: string; readonly uid: string }[];
}

export interface MetricsTokensPorts {
  readonly clock: Clock;
  /** The user as this node names the user of the node at the path. Undefined: no user of that node has rights here. */
  named(path: string, user: Requester): Requester | undefined;
}

interface Known extends AccountToken {
  readonly from: MetricsIssuer;
}

const algorithm = 'ES256';
/** Clocks of two nodes may differ. Sites without a time server differ by minutes, and have other problems. */
const clockTolerance = '60s';

export class MetricsTokens {
  readonly #ports: MetricsTokensPorts;
  #keys = new Map<string, { readonly key: KeyObject; readonly from: MetricsIssuer }>();
  #known = new TokenCache<Known>();

  constructor(ports: MetricsTokensPorts) {
    this.#ports = ports;
  }

  /** The nodes above, as far as they have such accounts. Accounts and keys that are not here have no valid tokens any more. */
  setIssuers(issuers: readonly MetricsIssuer[]): void {
    this.#known = new TokenCache();
    this.#keys = new Map(
      issuers.flatMap((from) =>
        from.keys.flatMap(({ id, spki }) => {
          const key = publicKeyOf(spki);
          return key ? [[id, { key, from }] as const] : [];
        }),
      ),
    );
  }

  /** The user of a token for metrics that a node above has issued. Undefined: the token is not valid here. */
  async userOf(text: string): Promise<Requester | undefined> {
    const token = this.#known.get(text, this.#ports.clock.wallMs()) ?? (await this.#check(text));
    if (!token) return undefined;
    const { extra: _, uid: _uid, ...user } = accountUser(token);
    return this.#ports.named(token.from.path, user);
  }

  async #check(text: string): Promise<Known | undefined> {
    if (this.#keys.size === 0) return undefined;
    // Loaded with the first token: most agents never see one, and have little memory (decision 0038).
    const { decodeProtectedHeader, errors, jwtVerify } = await import('jose');
    try {
      const { kid = '' } = decodeProtectedHeader(text);
      const found = this.#keys.get(kid);
      if (!found) return undefined;
      const { key, from } = found;
      const { payload } = await jwtVerify(text, key, {
        algorithms: [algorithm],
        issuer: issuerOf(from.path),
        audience: metricsAudience,
        currentDate: new Date(this.#ports.clock.wallMs()),
        clockTolerance,
      });
      const token = tokenOf(payload);
      // This node does not know the objects to which tokens are bound.
      if (!token || token.bound || !isOfAccount(from, token)) return undefined;
      const known = { ...token, from };
      this.#known.keep(text, known);
      return known;
    } catch (error) {
      if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
      throw error;
    }
  }
}

function isOfAccount({ accounts }: MetricsIssuer, { namespace, account }: AccountToken): boolean {
  return accounts.some((one) => one.namespace === namespace && one.name === account.name && one.uid === account.uid);
}

/** Undefined: the parent has sent something else. */
function publicKeyOf(spki: string): KeyObject | undefined {
  try {
    return createPublicKey({ key: Buffer.from(spki, 'base64'), format: 'der', type: 'spki' });
  } catch {
    return undefined;
  }
}
