/**
 * The certificate of an agent that runs: it is renewed at its parent when two thirds of its life are over, with the same key, whether it came with a join token or
 * in files. What stands in the way is said, and it is tried again while it lasts.
 */
import { X509Certificate } from 'node:crypto';
import type { TroubleAttributes } from '../../core/entries/up-attributes.ts';
import { type CertificateValidity, validityOf } from '../../core/identity/certificate-validity.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import type { JoinAnswer } from '../../core/wire/join-messages.ts';
import type { NodeCredentials } from '../../core/wire/node-credentials.ts';
import type { Identity } from './identity-store.ts';
import { askEach, type JoiningPorts, validIdentity } from './joining.ts';

/** What is renewed, and where it is kept. */
export interface Renewable {
  /** For messages. */
  readonly shown: string;
  /** As it is used by new connections. */
  present(): Identity;
  credentials(): NodeCredentials;
  /** False: this parent can't give another one like it, and whoever made it renews it. */
  isRenewable(): boolean;
  /** Whether somebody else has kept one there that is young; it is used from now on, or soon. */
  foundYoung(isYoung: (identity: Identity) => boolean): Promise<boolean>;
  /** Throws where another one could not be asked for, or not be kept: none is asked for then. */
  checkRenewable(): void;
  /** As at the beginning, when it has ended: with that one nobody is let in to renew it. Absent: nobody can. */
  getAnew?(): Promise<void>;
  /** On the disk when it returns, and used from now on, or soon. */
  keep(identity: Identity): Promise<void>;
}

export interface CertificateRenewalPorts extends Pick<JoiningPorts, 'path' | 'clock' | 'random' | 'log'> {
  readonly held: Renewable;
  /** Asks the parent and each of its siblings. */
  readonly renewals: readonly ((credentials: NodeCredentials, request: string) => Promise<JoinAnswer>)[];
}

/** How often it is looked at, at the least: wall time may be set, and agents that were started together do not come together. */
const lookMinMs = 3_600_000;
const lookMaxMs = 2 * lookMinMs;
/** When it is time, and little is left, the part of it that passes between two looks; the last ones are a second apart. */
const tryPart = 1 / 10;
const tryMinMs = 1_000;
/** One that has ended is asked for by its token about as often as before an agent runs. */
const againMs = 60_000;

export class Renewal {
  readonly #ports: CertificateRenewalPorts;
  #trouble: TroubleAttributes | undefined;
  #told: () => void = () => {};

  constructor(ports: CertificateRenewalPorts) {
    this.#ports = ports;
  }

  /** Why it is not renewed although it is time. */
  get trouble(): TroubleAttributes | undefined {
    return this.#trouble;
  }

  onTrouble(told: () => void): void {
    this.#told = told;
  }

  /** For as long as the process lasts. */
  start(): void {
    const { clock, random, held } = this.#ports;
    const isToBeGot = held.getAnew && hasEnded(held.present(), clock.wallMs());
    const usualMs = nextLookMs(lifeOfIdentity(held.present()), clock.wallMs(), random.fraction());
    clock.after(isToBeGot ? againMs * (1 + random.fraction()) : usualMs, () => {
      void this.look().finally(() => this.start());
    });
  }

  /** Renews it if it is time. What fails is said, and tried again with the next look. */
  async look(): Promise<void> {
    const { held, log } = this.#ports;
    const isYoung = (identity: Identity) => this.#ports.clock.wallMs() < lifeOfIdentity(identity).renewAtMs;
    if (isYoung(held.present()) || !held.isRenewable()) return this.#say(undefined);
    try {
      if (!(await held.foundYoung(isYoung))) {
        await this.#replace();
      }
      this.#say(undefined);
    } catch (error) {
      const { validTo } = new X509Certificate(held.present().certPem);
      const reason = describeError(error);
      log.warn({ reason, validTo }, 'the certificate was not renewed: it is tried again');
      const code = error instanceof BanyanError ? error.code : 'Internal';
      this.#say({ reason: code, message: `its certificate ends on ${validTo} and was not renewed: ${reason}` });
    }
  }

  async #replace(): Promise<void> {
    const { held, clock } = this.#ports;
    if (held.getAnew && hasEnded(held.present(), clock.wallMs())) return held.getAnew();
    held.checkRenewable();
    await held.keep(await this.#renewed());
  }

  async #renewed(): Promise<Identity> {
    const { path, clock, log, held, renewals } = this.#ports;
    const { keyPem } = held.present();
    const { requestFor } = await import('../../core/identity/certificate-request.ts');
    const request = await requestFor(path, keyPem);
    const { authority, certificate } = await askEach(renewals.map((ask) => () => ask(held.credentials(), request)));
    const identity = validIdentity({ caPem: authority, certPem: certificate, keyPem }, { path, clock, store: held });
    if (!identity) throw new Error('the parent has answered a certificate of another key, or one that has ended');
    const { validTo } = new X509Certificate(certificate);
    log.info({ validTo, where: held.shown }, 'a renewed certificate is used from now on');
    return identity;
  }

  #say(trouble: TroubleAttributes | undefined): void {
    if (this.#trouble?.message === trouble?.message) return;
    this.#trouble = trouble;
    this.#told();
  }
}

function hasEnded(identity: Identity, nowMs: number): boolean {
  return nowMs >= lifeOfIdentity(identity).endsAtMs;
}

function lifeOfIdentity({ certPem }: Identity): CertificateValidity {
  return validityOf(new X509Certificate(certPem));
}

/** How long to wait. `chance`: in [0, 1). */
export function nextLookMs({ renewAtMs, endsAtMs }: CertificateValidity, nowMs: number, chance: number): number {
  const atLeastMs = lookMinMs + chance * (lookMaxMs - lookMinMs);
  // With one that has ended nobody is let in: files that somebody else renews are looked at by whoever connects.
  if (nowMs >= endsAtMs) return atLeastMs;
  const waitMs = Math.max(0, renewAtMs - nowMs);
  const tryMs = (endsAtMs - nowMs - waitMs) * tryPart * (0.5 + chance / 2);
  return Math.min(atLeastMs, Math.max(tryMinMs, waitMs + tryMs));
}
