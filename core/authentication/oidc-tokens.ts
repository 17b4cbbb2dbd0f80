/** Checks the tokens of people: OpenID Connect. */
import { decodeJwt, decodeProtectedHeader, errors, jwtVerify } from 'jose';
import type { Requester } from '../access/attributes.ts';
import type { Clock } from '../runtime/clock.ts';
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

interface Trusted {
  readonly authenticator: OidcAuthenticator;
  readonly keys: IssuerKeys;
}

interface Known {
  readonly user: Requester;
  readonly expiresMs: number;
}

export class OidcTokens {
  readonly #ports: OidcTokensPorts;
  readonly #trusted: ReadonlyMap<string, Trusted>;
  readonly #known = new TokenCache<Known>();

  constructor(ports: OidcTokensPorts) {
    this.#ports = ports;
    const { authenticators, ...rest } = ports;
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
    if (known) return known.user;
    const trusted = this.#trusted.get(issuerIn(text) ?? '');
    return trusted && this.#check(text, trusted);
  }

  async #check(text: string, { authenticator, keys }: Trusted): Promise<Requester | undefined> {
    const { clock, log } = this.#ports;
    const { url, audiences } = authenticator.issuer;
    try {
      const find = await keys.keysFor(decodeProtectedHeader(text).kid);
      if (!find) return undefined;
      const options = { algorithms, issuer: url, audience: [...audiences], clockTolerance, requiredClaims: ['exp'] };
      const { payload } = await jwtVerify(text, find, { ...options, currentDate: new Date(clock.wallMs()) });
      const result = oidcUser(authenticator, payload);
      if ('refused' in result) {
        log.info({ issuer: url, reason: result.refused }, 'a token is valid, and the rules for its claims refuse it');
        return undefined;
      }
      this.#known.keep(text, { user: result.user, expiresMs: payload.exp! * 1_000 });
      return result.user;
    } catch (error) {
      if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
      throw error;
    }
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
