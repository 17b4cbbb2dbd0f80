/**
 * An identity that was got with a join token, while the agent runs: it is renewed at its parent when two thirds of its life are over, with the same key, and new
 * connections use it. Who shares the store finds there what another one has renewed.
 */
import { X509Certificate } from 'node:crypto';
import { type Life, lifeOf } from '../../core/identity/certificate-life.ts';
import { describeError } from '../../core/runtime/errors.ts';
import type { JoinAnswer } from '../../core/wire/join/join-words.ts';
import type { NodeCredentials } from '../../core/wire/node-credentials.ts';
import type { Identity } from './identity-store.ts';
import { askEach, type JoiningPorts, whole } from './joining.ts';

export interface RenewalPorts extends Pick<JoiningPorts, 'path' | 'store' | 'clock' | 'random' | 'log'> {
  /** Asks the parent and each of its siblings. */
  readonly renewals: readonly ((credentials: NodeCredentials, request: string) => Promise<JoinAnswer>)[];
}

/** How often it is looked at, at the least: wall time may be set, and agents that were started together do not come together. */
const lookMinMs = 3_600_000;
const lookMaxMs = 2 * lookMinMs;
/** Of a short life, the part that passes between two looks when it is time: ten and more in the third that is left. */
const tryPart = 1 / 30;

export class RenewedIdentity {
  readonly #ports: RenewalPorts;
  #identity: Identity;
  #credentials: NodeCredentials;

  constructor(ports: RenewalPorts, identity: Identity) {
    this.#ports = ports;
    this.#identity = identity;
    this.#credentials = this.#credentialsOf(identity);
  }

  /** As they are now; they follow what is renewed. */
  get credentials(): NodeCredentials {
    return this.#credentials;
  }

  /** For as long as the process lasts. */
  start(): void {
    const { clock, random } = this.#ports;
    clock.after(nextLookMs(lifeOfIdentity(this.#identity), clock.wallMs(), random.fraction()), () => {
      void this.look().finally(() => this.start());
    });
  }

  /** Renews it if it is time. What fails is said, and tried again with the next look. */
  async look(): Promise<void> {
    const { store, log, clock } = this.#ports;
    if (clock.wallMs() < lifeOfIdentity(this.#identity).renewAtMs) return;
    try {
      const shared = whole(await store.read(), this.#ports);
      if (shared && clock.wallMs() < lifeOfIdentity(shared).renewAtMs) return this.#use(shared);
      this.#use(await this.#renewed());
    } catch (error) {
      const { validTo } = new X509Certificate(this.#identity.certPem);
      log.warn({ reason: describeError(error), validTo }, 'the certificate was not renewed: it is tried again');
    }
  }

  async #renewed(): Promise<Identity> {
    const { path, store, renewals } = this.#ports;
    const { keyPem } = this.#identity;
    const { requestFor } = await import('../../core/identity/certificate-request.ts');
    const request = await requestFor(path, keyPem);
    const { authority, certificate } = await askEach(renewals.map((ask) => () => ask(this.#credentials, request)));
    const identity = whole({ caPem: authority, certPem: certificate, keyPem }, this.#ports);
    if (!identity) throw new Error('the parent has answered a certificate of another key, or one that has ended');
    await store.keep(identity);
    return identity;
  }

  #use(identity: Identity): void {
    this.#identity = identity;
    this.#credentials = this.#credentialsOf(identity);
    const { validTo } = new X509Certificate(identity.certPem);
    this.#ports.log.info({ validTo }, 'a renewed certificate is used from now on');
  }

  #credentialsOf({ caPem, certPem, keyPem }: Identity): NodeCredentials {
    const [ca, cert, key] = [caPem, certPem, keyPem].map((pem) => Buffer.from(pem)) as [Buffer, Buffer, Buffer];
    return { caPem: ca, certPem: cert, keyPem: key, renewed: () => this.#credentials };
  }
}

function lifeOfIdentity({ certPem }: Identity): Life {
  return lifeOf(new X509Certificate(certPem));
}

/** How long to wait. `chance`: in [0, 1). */
export function nextLookMs({ renewAtMs, lengthMs }: Life, nowMs: number, chance: number): number {
  const atLeastMs = lookMinMs + chance * (lookMaxMs - lookMinMs);
  const tryMs = lengthMs * tryPart * (0.5 + chance / 2);
  return Math.min(atLeastMs, Math.max(0, renewAtMs - nowMs) + tryMs);
}
