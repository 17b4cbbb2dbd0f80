/** Issues and checks the tokens of the ServiceAccounts of a space (`kubectl create token`, TokenReview). A token ends with its ServiceAccount and its bound object. */
import { decodeProtectedHeader, errors, jwtVerify, SignJWT } from 'jose';
import type { Requester } from '../../access/attributes.ts';
import {
  type AccountToken,
  accountUser,
  type BoundObject,
  claimsOf,
  tokenOf,
} from '../../authentication/account-token.ts';
import { TokenCache } from '../../authentication/token-cache.ts';
import type { TokenKeys } from '../../authentication/token-key.ts';
import { type GivenTokenSpec, readTokenRequest, type TokenRequestSpec } from '../../authentication/token-request.ts';
import { timestamp } from '../../object/conditions.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type Random, uuid } from '../../runtime/random.ts';
import type { Space } from '../space.ts';
import { conflict, invalidObject, notFound } from '../status-errors.ts';

/** https://kubernetes.io/docs/concepts/configuration/secret/#serviceaccount-token-secrets */
export const tokenSecretType = 'kubernetes.io/service-account-token';

export interface AccountTokensPorts {
  readonly space: Space;
  readonly clock: Clock;
  readonly random: Random;
  /** Who issues the tokens, and the audience of a token whose request names none. */
  readonly issuer: string;
  /** Makes the key when it is needed for the first time. */
  keys(): TokenKeys;
  /**
   * True: other replicas of the node sign with the same keys. Each of them has ServiceAccounts of its own, with other uids. Their tokens are good for the account of
   * the same name if they were made after this account. Absent: false.
   */
  readonly hasReplicas?: boolean;
}

const algorithm = 'ES256';
/** Clocks of the machines that keep a token may differ. The clock of this node made the token, so a few seconds are enough. */
const clockTolerance = '5s';
/** A token ends so long after the deletion time of its account or bound object, as on Kubernetes: a finalizer can't keep it. */
const deletionLeewayMs = 60_000;

export class AccountTokens {
  readonly #ports: AccountTokensPorts;
  readonly #known = new TokenCache<AccountToken>();
  #keys: TokenKeys | undefined;

  constructor(ports: AccountTokensPorts) {
    this.#ports = ports;
  }

  /** Answers a TokenRequest. Throws NotFound, Invalid, Conflict and BadRequest. */
  async issue(namespace: string, name: string, given: GivenTokenSpec): Promise<object> {
    const { clock, random, issuer } = this.#ports;
    const account = this.#object('serviceaccounts', namespace, name);
    const { spec, causes } = readTokenRequest(given, issuer);
    if (causes.length > 0) throw invalidObject({ group: 'authentication.k8s.io', kind: 'TokenRequest' }, '', causes);
    const issuedMs = clock.wallMs();
    const bound = spec.bound && this.#bind(namespace, spec.bound);
    const token: AccountToken = {
      namespace,
      account: { name, uid: account.metadata.uid! },
      ...(bound ? { bound } : {}),
      audiences: spec.audiences,
      id: uuid(random),
      issuedMs,
      expiresMs: issuedMs + spec.expirationSeconds * 1_000,
    };
    const { audiences, expirationSeconds } = spec;
    return {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: { name, namespace, creationTimestamp: timestamp(issuedMs) },
      spec: {
        audiences,
        expirationSeconds,
        boundObjectRef: bound ? { kind: bound.kind, apiVersion: 'v1', name: bound.name, uid: bound.uid } : null,
      },
      status: { token: await this.#sign(token), expirationTimestamp: timestamp(token.expiresMs) },
    };
  }

  /**
   * The user of a token for one of these audiences. Without audiences, the token must be for this node. Undefined: the token is not valid here; the reason
   * helps only those who try out tokens.
   */
  async userOf(text: string, audiences: readonly string[] = [this.#ports.issuer]): Promise<Requester | undefined> {
    const token = await this.#tokenIn(text);
    if (!token?.audiences.some((audience) => audiences.includes(audience)) || !this.#isAlive(token, text))
      return undefined;
    return accountUser(token);
  }

  async audiencesOf(text: string): Promise<readonly string[]> {
    return (await this.#tokenIn(text))?.audiences ?? [];
  }

  /** A token with a right signature. Its account may be gone. */
  async #tokenIn(text: string): Promise<AccountToken | undefined> {
    return this.#known.get(text, this.#ports.clock.wallMs()) ?? (await this.#check(text));
  }

  /** The token for a Secret of the type `kubernetes.io/service-account-token`. It is good as long as the Secret has it. */
  async ofSecret(secret: KubeObject, account: KubeObject): Promise<string> {
    const { clock, random, issuer } = this.#ports;
    const { name, namespace, uid } = secret.metadata;
    return this.#sign({
      namespace: namespace!,
      account: { name: account.metadata.name!, uid: account.metadata.uid! },
      bound: { kind: 'Secret', name: name!, uid: uid! },
      audiences: [issuer],
      id: uuid(random),
      issuedMs: clock.wallMs(),
      expiresMs: Number.POSITIVE_INFINITY,
    });
  }

  #sign(token: AccountToken): Promise<string> {
    const { id, privateKey } = this.#present().signing;
    return new SignJWT(claimsOf(token, this.#ports.issuer))
      .setProtectedHeader({ alg: algorithm, kid: id })
      .sign(privateKey);
  }

  async #check(text: string): Promise<AccountToken | undefined> {
    const { clock, issuer } = this.#ports;
    try {
      const { kid } = decodeProtectedHeader(text);
      const key = this.#present().accepted.find(({ id }) => id === kid);
      if (!key) return undefined;
      const { payload } = await jwtVerify(text, key.publicKey, {
        algorithms: [algorithm],
        issuer,
        currentDate: new Date(clock.wallMs()),
        clockTolerance,
      });
      const token = tokenOf(payload);
      if (token) this.#known.keep(text, token);
      return token;
    } catch (error) {
      if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
      throw error;
    }
  }

  #isAlive(token: AccountToken, text: string): boolean {
    const { namespace, account, bound, expiresMs } = token;
    const living = (resource: string, { name, uid }: { readonly name: string; readonly uid: string }) => {
      const found = this.#ports.space.get({ group: '', resource, namespace, name });
      return found?.metadata.uid === uid && !this.#isOver(found) ? found : undefined;
    };
    if (!living('serviceaccounts', account)) return !bound && this.#isOfReplica(token);
    if (!bound) return true;
    const holder = living(resourceOf[bound.kind], bound);
    return holder !== undefined && (Number.isFinite(expiresMs) || tokenIn(holder) === text);
  }

  /** Whether the object only waits for finalizers. A Pod has until then to end, and its deletion time is the end of its grace period. */
  #isOver({ metadata: { deletionTimestamp } }: KubeObject): boolean {
    return (
      deletionTimestamp !== undefined && Date.parse(deletionTimestamp) + deletionLeewayMs < this.#ports.clock.wallMs()
    );
  }

  /**
   * Whether another replica may have made the token, for the account that this replica knows by the same name. An account that was deleted and made again is younger
   * than the tokens of the former one. Both times are whole seconds.
   */
  #isOfReplica({ namespace, account: { name }, issuedMs }: AccountToken): boolean {
    if (!this.#ports.hasReplicas) return false;
    const own = this.#ports.space.get({ group: '', resource: 'serviceaccounts', namespace, name });
    return own !== undefined && !this.#isOver(own) && issuedMs > Date.parse(own.metadata.creationTimestamp ?? '');
  }

  #bind(namespace: string, { kind, name, uid }: NonNullable<TokenRequestSpec['bound']>): BoundObject {
    const key = { group: '', resource: resourceOf[kind], namespace, name };
    const found = this.#object(key.resource, namespace, name);
    const foundUid = found.metadata.uid!;
    if (uid !== '' && uid !== foundUid) {
      throw conflict(
        key,
        `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
      );
    }
    return { kind, name, uid: foundUid };
  }

  #object(resource: string, namespace: string, name: string): KubeObject {
    const key = { group: '', resource, namespace, name };
    const found = this.#ports.space.get(key);
    if (!found) throw notFound(key);
    return found;
  }

  #present(): TokenKeys {
    this.#keys ??= this.#ports.keys();
    return this.#keys;
  }
}

const resourceOf = { Pod: 'pods', Secret: 'secrets' } as const;

/** The token that a Secret has. Undefined: the Secret is not of the type, or has none. */
function tokenIn({ type, data }: KubeObject): string | undefined {
  const { token } = (data ?? {}) as { token?: unknown };
  return type === tokenSecretType && typeof token === 'string' ? Buffer.from(token, 'base64').toString() : undefined;
}
