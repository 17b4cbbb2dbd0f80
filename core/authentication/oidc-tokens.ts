/** Checks the tokens of people: OpenID Connect. */
import {
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose';
import type { Requester } from '../access/attributes.ts';
import type { Clock } from '../runtime/clock.ts';
import { LogRate } from '../runtime/log-rate.ts';
import type { Logger } from '../runtime/logger.ts';
import { IssuerKeys, type IssuerKeysPorts } from './issuer-keys.ts';
import type { KeptKeys } from './kept-keys.ts';
import type { OidcAuthenticator } from './oidc-config.ts';
import { oidcUser } from './oidc-user.ts';
import { TokenCache } from './token-cache.ts';

export interface OidcTokensPorts {
  readonly authenticators: readonly OidcAuthenticator[];
  readonly clock: Clock;
  readonly log: Logger;
  readonly fetchJson: IssuerKeysPorts['fetchJson'];
  readonly kept: KeptKeys;
}

/** Signatures with a secret, and no signature at all, are not among them: https://www.rfc-editor.org/rfc/rfc8725#section-3.1 */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
/** Clocks of an issuer and of a node may differ. */
const clockTolerance = '10s';
/** Keys that are tried for one token. Issuers have two or three. Anybody can send tokens, and the slowest keys take 1 ms each. */
const keysTriedMax = 16;
/** Between two lines about refused tokens of one issuer. Anybody can send tokens, and an operator needs one line to see the cause. */
const logEveryMs = 10_000;

interface Trusted {
  readonly authenticator: OidcAuthenticator;
  readonly keys: IssuerKeys;
}

interface Known {
  readonly user: Requester;
  readonly expiresMs: number;
  readonly issuer: IssuerKeys;
  readonly keyId: string | undefined;
  /** The keys by which the token was checked. Other keys of the issuer check the token again: its own key may have been withdrawn. */
  readonly keys: JWTVerifyGetKey;
}

export class OidcTokens {
  readonly #ports: OidcTokensPorts;
  readonly #trusted: ReadonlyMap<string, Trusted>;
  readonly #known = new TokenCache<Known>();
  readonly #logRate: LogRate;

  constructor(ports: OidcTokensPorts) {
    this.#ports = ports;
    const { authenticators, ...rest } = ports;
    this.#logRate = new LogRate(ports.clock, logEveryMs);
    this.#trusted = new Map(
      authenticators.map((authenticator) => {
        const { issuer } = authenticator;
        return [issuer.url, { authenticator, keys: new IssuerKeys({ issuer, ...rest }) }];
      }),
    );
  }

  /** Undefined: the token is of another issuer, or not valid. */
  async userOf(text: string): Promise<Requester | undefined> {
    const known = this.#known.get(text, this.#ports.clock.wallMs());
    if (known && (await known.issuer.keysFor(known.keyId)) === known.keys) return known.user;
    const trusted = this.#trusted.get(issuerIn(text) ?? '');
    return trusted && this.#check(text, trusted);
  }

  async #check(text: string, { authenticator, keys }: Trusted): Promise<Requester | undefined> {
    const { clock } = this.#ports;
    const { url, audiences } = authenticator.issuer;
    try {
      const keyId = decodeProtectedHeader(text).kid;
      const rules = { algorithms, issuer: url, audience: [...audiences], clockTolerance, requiredClaims: ['exp'] };
      const checked = await checkedBy(keys, keyId, text, { ...rules, currentDate: new Date(clock.wallMs()) });
      if (!checked) return undefined;
      const { payload, find } = checked;
      const result = oidcUser(authenticator, payload);
      if ('refused' in result) return this.#refused(url, `the rules for its claims refuse it: ${result.refused}`);
      const { user } = result;
      this.#known.keep(text, { user, expiresMs: payload.exp! * 1_000, issuer: keys, keyId, keys: find });
      return user;
    } catch (error) {
      if (!(error instanceof errors.JOSEError || error instanceof TypeError)) throw error;
      return this.#refused(url, error.message);
    }
  }

  /** The client reads only that it is nobody. The reason could help somebody who tries out tokens. */
  #refused(issuer: string, reason: string): undefined {
    if (this.#logRate.allows(issuer))
      this.#ports.log.info({ issuer, reason }, 'a token that names this issuer is refused');
    return undefined;
  }
}

interface Checked {
  readonly payload: JWTPayload;
  readonly find: JWTVerifyGetKey;
}

/** Undefined: no key is known. If no known key has signed the token, the issuer may have newer ones: not every issuer names its keys. */
async function checkedBy(
  keys: IssuerKeys,
  keyId: string | undefined,
  text: string,
  options: JWTVerifyOptions,
): Promise<Checked | undefined> {
  const find = await keys.keysFor(keyId);
  if (!find) return undefined;
  try {
    return { payload: await payloadOf(text, find, options), find };
  } catch (error) {
    if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
    const newer = await keys.keysFor(keyId, find);
    if (!newer || newer === find) throw error;
    return { payload: await payloadOf(text, newer, options), find: newer };
  }
}

/** If several keys fit the head of the token, tries one after the other, as Kubernetes does. A token without `kid` fits every key of its algorithm. */
async function payloadOf(text: string, find: JWTVerifyGetKey, options: JWTVerifyOptions): Promise<JWTPayload> {
  try {
    return (await jwtVerify(text, find, options)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    let tried = 0;
    for await (const key of error) {
      if (++tried > keysTriedMax) break;
      try {
        return (await jwtVerify(text, key, options)).payload;
      } catch (mismatch) {
        if (!(mismatch instanceof errors.JWSSignatureVerificationFailed)) throw mismatch;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

/** Who claims to have issued the token. Nothing is checked yet. */
function issuerIn(text: string): string | undefined {
  try {
    return decodeJwt(text).iss;
  } catch {
    return undefined;
  }
}
