/** Checks the tokens of people: OpenID Connect. */
import { decodeJwt, decodeProtectedHeader, errors, type JWTVerifyGetKey, jwtVerify } from 'jose';
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
      const find = await keys.keysFor(keyId);
      if (!find) return undefined;
      const options = { algorithms, issuer: url, audience: [...audiences], clockTolerance, requiredClaims: ['exp'] };
      const { payload } = await jwtVerify(text, find, { ...options, currentDate: new Date(clock.wallMs()) });
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

/** Who claims to have issued the token. Nothing is checked yet. */
function issuerIn(text: string): string | undefined {
  try {
    return decodeJwt(text).iss;
  } catch {
    return undefined;
  }
}
