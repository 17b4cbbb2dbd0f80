/**
 * Renews the certificate of a running node at its parent, when two thirds of the certificate's lifetime are over, or when the parent signs with another
 * authority. The key stays the same, and so do the trusted authorities: the parent hands those down in another way (tree-trust.ts). The certificate may come
 * from a join token or from files. While something hinders the renewal, the node reports this and tries again.
 */
import { X509Certificate } from 'node:crypto';
import type { TroubleAttributes } from '../../entries/up-attributes.ts';
import { hostsMissing, hostsNotCovered } from '../../identity/certificate-hosts.ts';
import { type CertificateValidity, validityOf } from '../../identity/certificate-validity.ts';
import { cliCommand } from '../../runtime/cli-command.ts';
import type { Timer } from '../../runtime/clock.ts';
import { BanyanError, describeError } from '../../runtime/errors.ts';
import type { JoinAnswer } from '../join-messages.ts';
import type { NodeCredentials } from '../node-credentials.ts';
import type { TreeTrust } from '../tree-trust.ts';
import type { Identity } from './identity-store.ts';
import { askEach, type JoiningPorts, validIdentity } from './joining.ts';

/** The certificate to renew, and the place where it is stored. */
export interface Renewable {
  /** The name of the place, for messages. */
  readonly shown: string;
  /** The identity that new connections use. */
  present(): Identity;
  credentials(): NodeCredentials;
  /** Whether this parent can issue such a certificate. False: whoever made the certificate has to renew it. */
  isRenewable(): boolean;
  /** Whether somebody else has stored a young certificate. If so, the node uses it from now on, or shortly after. */
  foundYoung(isYoung: (identity: Identity) => boolean): Promise<boolean>;
  /** Throws if the node could not ask for another certificate, or could not store it. Then the node does not ask. */
  checkRenewable(): void;
  /** Joins again after the certificate has expired: with an expired certificate, the parent does not renew. Absent: the node can't join again. */
  rejoin?(): Promise<void>;
  /** Stores the identity. It is on disk when the promise resolves. The node uses it from now on, or shortly after. */
  keep(identity: Identity): Promise<void>;
}

export interface CertificateRenewalPorts extends Pick<JoiningPorts, 'path' | 'role' | 'clock' | 'random' | 'log'> {
  readonly renewable: Renewable;
  readonly trust: Pick<TreeTrust, 'isOutdated' | 'onChange' | 'credentials'>;
  /** Hosts that the certificate has to have. A node without one of them asks for another certificate until its parent admits the host. */
  readonly names?: readonly string[] | undefined;
  /** Functions that ask the replicas of the parent. */
  readonly renewals: readonly ((credentials: NodeCredentials, request: string) => Promise<JoinAnswer>)[];
}

/**
 * Shortest and longest pause between two looks at the certificate. The wall clock may be changed, and nodes that were started together must not ask
 * together.
 */
const lookMinMs = 3_600_000;
const lookMaxMs = 2 * lookMinMs;
/** After the renewal is due, this share of the remaining lifetime passes between two tries. */
const tryPart = 1 / 10;
const tryMinMs = 1_000;
/**
 * The nodes below one parent renew within this time after the parent has begun to sign with another authority: a parent renews 20 certificates in a second. Nodes
 * that the parent refuses for this reason come again after `againMs`. A relay below which another host has come renews as soon.
 */
const outdatedWithinMs = 10_000;
/** Pause between two tries to join again with the token after the certificate has expired, and to get a certificate of another authority or for further names. */
const againMs = 60_000;

export class Renewal {
  readonly #ports: CertificateRenewalPorts;
  #trouble: TroubleAttributes | undefined;
  #troubleChanged: () => void = () => {};
  #renewed: () => void = () => {};
  #timer: Timer | undefined;
  #hostsBelow: readonly string[] = [];

  constructor(ports: CertificateRenewalPorts) {
    this.#ports = ports;
    ports.trust.onChange(() => this.#lookSoonIf((identity) => this.#isOutdated(identity)));
  }

  /** Why the renewal is due and has not happened. Undefined: nothing hinders it. */
  get trouble(): TroubleAttributes | undefined {
    return this.#trouble;
  }

  onTrouble(changed: () => void): void {
    this.#troubleChanged = changed;
  }

  /** `renewed` is called after each renewal. */
  onRenewed(renewed: () => void): void {
    this.#renewed = renewed;
  }

  /** `hosts`: those of the relays below. The node asks for another certificate until its parent admits all of them, because its authority signs for no others. */
  requireBelow(hosts: readonly string[]): void {
    this.#hostsBelow = hosts;
    this.#lookSoonIf((identity) => this.#lacks(identity).length > 0);
  }

  /** Begins to look at the certificate, and continues until the process ends. */
  start(): void {
    const { clock, random, renewable } = this.#ports;
    const { rejoin } = renewable;
    const isUrgent =
      (rejoin && hasEnded(renewable.present(), clock.wallMs())) || this.#lacks(renewable.present()).length > 0;
    const usualMs = nextLookMs(lifeOfIdentity(renewable.present()), clock.wallMs(), random.fraction());
    const againInMs = againMs * (1 + random.fraction());
    const isOutdated = renewable.isRenewable() && this.#isOutdated(renewable.present());
    this.#lookIn(isUrgent ? againInMs : isOutdated ? Math.min(usualMs, againInMs) : usualMs);
  }

  #lookIn(ms: number): void {
    this.#timer = this.#ports.clock.after(ms, () => {
      this.#timer = undefined;
      void this.look().finally(() => this.start());
    });
  }

  /** If a look runs at this moment, the next one finds the change. */
  #lookSoonIf(isDue: (identity: Identity) => boolean): void {
    if (!this.#timer || !isDue(this.#ports.renewable.present())) return;
    this.#timer.stop();
    this.#lookIn(this.#ports.random.fraction() * outdatedWithinMs);
  }

  #isOutdated({ certPem }: Identity): boolean {
    return this.#ports.trust.isOutdated(certPem);
  }

  /** Renews the certificate if it is due. After a failure, the node reports it, and the next look tries again. */
  async look(): Promise<void> {
    const { renewable, log } = this.#ports;
    const isYoung = (identity: Identity) =>
      !this.#isDue(identity) && !this.#isOutdated(identity) && this.#lacks(identity).length === 0;
    if (isYoung(renewable.present()) || !renewable.isRenewable()) return this.#reportTrouble(undefined);
    try {
      if (!(await renewable.foundYoung(isYoung))) {
        await this.#replace();
      }
      this.#renewed();
      this.#reportTrouble(undefined);
    } catch (error) {
      const { validTo } = new X509Certificate(renewable.present().certPem);
      const reason = describeError(error);
      log.warn({ reason, validTo }, 'the certificate was not renewed: this node tries again');
      const code = error instanceof BanyanError ? error.code : 'Internal';
      this.#reportTrouble({
        reason: code,
        message: `its certificate ends on ${validTo} and was not renewed: ${reason}`,
      });
    }
  }

  async #replace(): Promise<void> {
    const { renewable, clock } = this.#ports;
    if (renewable.rejoin && hasEnded(renewable.present(), clock.wallMs())) return renewable.rejoin();
    renewable.checkRenewable();
    const before = renewable.present();
    const renewed = await this.#fromParent();
    const missing = this.#lacks(renewed);
    // A host that nobody admits must not keep others away.
    const isBetter = missing.length < this.#lacks(before).length;
    if (isBetter || missing.length === 0 || this.#isDue(before) || this.#isOutdated(before))
      await renewable.keep(renewed);
    if (missing.length > 0) throw this.#notAdmitted(missing);
  }

  #isDue(identity: Identity): boolean {
    return this.#ports.clock.wallMs() >= lifeOfIdentity(identity).renewAtMs;
  }

  #lacks({ certPem }: Identity): string[] {
    const { names = [] } = this.#ports;
    if (names.length + this.#hostsBelow.length === 0) return [];
    const certificate = new X509Certificate(certPem);
    return [...hostsMissing(certificate, names), ...hostsNotCovered(certificate, this.#hostsBelow)];
  }

  #notAdmitted(missing: readonly string[]): BanyanError {
    const { path, names = [] } = this.#ports;
    const hosts = [...new Set([...names, ...this.#hostsBelow])].flatMap((name) => ['--host', name]);
    const remedy = cliCommand('join-token', '--relay', path, '--again', ...hosts);
    const of = missing.some((host) => names.includes(host)) ? 'pki.names' : 'a relay below';
    const message = `${of}: the parent does not admit ${missing.join(', ')} for this relay: ${remedy}`;
    return new BanyanError('Forbidden', message);
  }

  async #fromParent(): Promise<Identity> {
    const { path, role, clock, log, renewable, renewals, trust } = this.#ports;
    const { keyPem, caPem } = renewable.present();
    const { requestFor } = await import('../../identity/certificate-request.ts');
    const request = await requestFor(path, keyPem);
    const { certificate, issuer } = await askEach(renewals.map((ask) => () => ask(trust.credentials, request)));
    const identity = validIdentity(
      { caPem, certPem: certificate, keyPem, issuerPem: issuer },
      { path, role, clock, store: renewable },
    );
    if (!identity) throw new Error('the parent has sent a certificate of another key, or an expired one');
    const { validTo } = new X509Certificate(certificate);
    log.info({ validTo, where: renewable.shown }, 'a renewed certificate is used from now on');
    return identity;
  }

  #reportTrouble(trouble: TroubleAttributes | undefined): void {
    if (this.#trouble?.message === trouble?.message) return;
    this.#trouble = trouble;
    this.#troubleChanged();
  }
}

function hasEnded(identity: Identity, nowMs: number): boolean {
  return nowMs >= lifeOfIdentity(identity).endsAtMs;
}

function lifeOfIdentity({ certPem }: Identity): CertificateValidity {
  return validityOf(new X509Certificate(certPem));
}

/** How long to wait before the next look. `chance`: a random number in [0, 1). */
export function nextLookMs({ renewAtMs, endsAtMs }: CertificateValidity, nowMs: number, chance: number): number {
  const atLeastMs = lookMinMs + chance * (lookMaxMs - lookMinMs);
  // The certificate has expired, so the node gets no connection for a renewal. Somebody else may renew the files, and each new connection reads them.
  if (nowMs >= endsAtMs) return atLeastMs;
  const waitMs = Math.max(0, renewAtMs - nowMs);
  const tryMs = (endsAtMs - nowMs - waitMs) * tryPart * (0.5 + chance / 2);
  return Math.min(atLeastMs, Math.max(tryMinMs, waitMs + tryMs));
}
