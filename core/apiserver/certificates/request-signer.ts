/** Signs approved CertificateSigningRequests of users, one after the other, and writes the certificate or the reason of the refusal into the status. */

import type { UserSigner } from '../../identity/user-signer.ts';
import { parseBody } from '../../object/canonical.ts';
import { timestamp } from '../../object/conditions.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { BanyanError, describeError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { scanPages } from '../lifecycle/scan-pages.ts';
import type { Space } from '../space.ts';
import { usageProblem } from './request-check.ts';
import {
  awaitsSignature,
  isSigningRequest,
  pemOf,
  type SigningRequest,
  signingRequestResource,
} from './signing-request.ts';

export interface RequestSignerPorts {
  /** The system space. */
  readonly space: Space;
  readonly signer: UserSigner;
  readonly clock: Clock;
  readonly log: Logger;
  /** The time of the last revocation of the user. A new certificate begins later. */
  revokedAtMs(user: string): number | undefined;
}

/** Time until the next try if a signature fails for a reason outside the request: the disk is full, or the authority has expired. */
const tryAgainMs = 60_000;
const failedReason = 'SignerValidationFailure';

export class RequestSigner {
  readonly #ports: RequestSignerPorts;
  /** Names of requests that may wait for a signature. At most as many as there are requests. */
  readonly #waiting = new Set<string>();
  readonly #timers = new Set<Timer>();
  #isWorking = false;
  #unsubscribe: () => void = () => {};

  constructor(ports: RequestSignerPorts) {
    this.#ports = ports;
  }

  /** Signs what was approved before the node started, and follows all later changes. */
  start(): void {
    const { storage } = this.#ports.space;
    this.#unsubscribe = storage.subscribe((events) => {
      for (const { type, object } of events)
        if (type !== 'DELETED' && isSigningRequest(object.key)) this.#note(object.key.name, object.body);
    });
    for (const { key, body } of scanPages(storage, signingRequestResource)) this.#note(key.name, body);
  }

  stop(): void {
    this.#unsubscribe();
    this.#waiting.clear();
    for (const timer of this.#timers) timer.stop();
  }

  #note(name: string, body: Uint8Array): void {
    if (awaitsSignature(parseBody(body) as SigningRequest)) this.#add(name);
  }

  #add(name: string): void {
    this.#waiting.add(name);
    if (!this.#isWorking) void this.#work();
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    for (const name of this.#waiting) {
      this.#waiting.delete(name);
      await this.#trySign(name);
    }
    this.#isWorking = false;
  }

  async #trySign(name: string): Promise<void> {
    try {
      await this.#sign(name);
    } catch (error) {
      // Every other error is a broken invariant, and ends the process.
      if (!(error instanceof BanyanError)) throw error;
      this.#ports.log.warn({ request: name, reason: describeError(error) }, 'a request for a certificate waits');
      const timer = this.#ports.clock.after(tryAgainMs, () => {
        this.#timers.delete(timer);
        this.#add(name);
      });
      this.#timers.add(timer);
    }
  }

  async #sign(name: string): Promise<void> {
    const { signer, revokedAtMs, log } = this.#ports;
    const request = this.#read(name);
    if (!request) return;
    const { usages = [], expirationSeconds } = request.spec;
    const problem = usageProblem(usages);
    if (problem !== undefined) return this.#fail(request, problem);
    try {
      const certificate = await signer.sign({
        pem: pemOf(request),
        encipherment: usages.includes('key encipherment'),
        lifeMs: expirationSeconds && expirationSeconds * 1_000,
        afterMsOf: revokedAtMs,
      });
      this.#write(request, { certificate: Buffer.from(certificate).toString('base64') });
      log.info({ request: name, requester: request.spec.username }, 'the certificate of a user was signed');
    } catch (error) {
      if (!(error instanceof BanyanError) || error.code !== 'Invalid') throw error;
      this.#fail(request, error.message);
    }
  }

  #fail(request: SigningRequest, message: string): void {
    const now = timestamp(this.#ports.clock.wallMs());
    const times = { lastUpdateTime: now, lastTransitionTime: now };
    const failed = { type: 'Failed', status: 'True', reason: failedReason, message, ...times };
    this.#write(request, { conditions: [...(request.status?.conditions ?? []), failed] });
  }

  /** The request may have changed, or may be another one of the same name, since it was read. */
  #write({ metadata }: SigningRequest, status: SigningRequest['status']): void {
    const present = this.#read(metadata.name!);
    if (!present || present.metadata.uid !== metadata.uid) return;
    this.#ports.space.update({ ...present, status: { ...present.status, ...status } }, { subresource: 'status' });
  }

  /** Undefined: the request does not wait for a signature any more. */
  #read(name: string): SigningRequest | undefined {
    const found = this.#ports.space.get({ ...signingRequestResource, namespace: '', name });
    return found && awaitsSignature(found as SigningRequest) ? (found as SigningRequest) : undefined;
  }
}
