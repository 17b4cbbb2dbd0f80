/**
 * The keys of one issuer. They are asked for when a token needs them. Keys that are known stay good while the issuer is away: an issuer that is down for a day
 * must not lock people out who have a valid token.
 */
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Clock } from '../runtime/clock.ts';
import { describeError } from '../runtime/errors.ts';
import { isRecord } from '../runtime/is-record.ts';
import type { Logger } from '../runtime/logger.ts';
import type { KeptKeys } from './kept-keys.ts';
import type { OidcAuthenticator } from './oidc-config.ts';

export interface IssuerKeysPorts {
  readonly issuer: OidcAuthenticator['issuer'];
  readonly clock: Clock;
  readonly log: Logger;
  readonly kept: KeptKeys;
  /** Throws if there is no good answer. */
  fetchJson(url: string, ca: string | undefined): Promise<unknown>;
}

/** Between two questions because of a key that is not known. Anybody can send tokens with invented keys. */
const unknownEveryMs = 10_000;
/** Keys that an issuer has withdrawn are not good for longer than this, while the issuer answers. */
const refreshEveryMs = 3_600_000;

interface Keys {
  readonly find: JWTVerifyGetKey;
  readonly ids: ReadonlySet<string>;
  readonly atMs: number;
}

export class IssuerKeys {
  readonly #ports: IssuerKeysPorts;
  #keys: Keys | undefined;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | undefined;

  constructor(ports: IssuerKeysPorts) {
    this.#ports = ports;
  }

  /**
   * Undefined: no key is known, and the issuer gives none. `id`: the id of the key in the head of the token. `failed`: keys of an earlier answer, of which none
   * has signed the token.
   */
  async keysFor(id: string | undefined, failed?: JWTVerifyGetKey): Promise<JWTVerifyGetKey | undefined> {
    const nowMs = this.#ports.clock.monotonicMs();
    this.#keys ??= this.#stored();
    const isKnown =
      this.#keys !== undefined && this.#keys.find !== failed && (id === undefined || this.#keys.ids.has(id));
    const isOld = this.#keys !== undefined && nowMs - this.#keys.atMs > refreshEveryMs;
    if ((!isKnown || isOld) && (this.#asking || nowMs - this.#askedAtMs >= unknownEveryMs)) {
      this.#asking ??= this.#ask(nowMs);
      // Nobody waits for fresher keys while good ones are there.
      if (!isKnown) await this.#asking;
    }
    return this.#keys?.find;
  }

  /** The keys of an earlier run of the process count as old: the issuer is asked in the background. */
  #stored(): Keys | undefined {
    const { issuer, kept } = this.#ports;
    const set = kept.read(issuer.url);
    return set && keysOf(set, Number.NEGATIVE_INFINITY);
  }

  async #ask(nowMs: number): Promise<void> {
    this.#askedAtMs = nowMs;
    const { issuer, kept, log } = this.#ports;
    try {
      const set = await this.#keySet();
      this.#keys = keysOf(set, nowMs);
      kept.write(issuer.url, set);
    } catch (error) {
      log.warn({ issuer: issuer.url, reason: describeError(error) }, 'the keys of an issuer of tokens can not be read');
    } finally {
      this.#asking = undefined;
    }
  }

  async #keySet(): Promise<JSONWebKeySet> {
    const { issuer, fetchJson } = this.#ports;
    const { url, certificateAuthority: ca } = issuer;
    const about = await fetchJson(
      issuer.discoveryURL ?? `${url.replace(/\/$/, '')}/.well-known/openid-configuration`,
      ca,
    );
    if (!isRecord(about) || about.issuer !== url)
      throw new Error(`the discovery document is not about the issuer ${url}`);
    const { jwks_uri: at } = about;
    if (typeof at !== 'string' || !at.startsWith('https://'))
      throw new Error('the discovery document has no jwks_uri with https');
    const set = await fetchJson(at, ca);
    if (!isRecord(set) || !Array.isArray(set.keys) || !set.keys.every(isRecord))
      throw new Error(`${at} has no list of keys`);
    return set as unknown as JSONWebKeySet;
  }
}

function keysOf(set: JSONWebKeySet, atMs: number): Keys {
  return { find: createLocalJWKSet(set), ids: new Set(set.keys.flatMap(({ kid }) => kid ?? [])), atMs };
}
