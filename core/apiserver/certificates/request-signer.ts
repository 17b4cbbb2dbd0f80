/** Signs approved CertificateSigningRequests of users, one after the other, and writes the certificate or the reason of the refusal into the status. */

import type { UserSigner } from '../../identity/user-signer.ts';
import { parseBody } from '../../object/canonical.ts';
import { timestamp } from '../../object/conditions.ts';
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { AsyncKeyQueue } from '../lifecycle/async-key-queue.ts';
import type { Space } from '../space.ts';
import { scanPages } from '../storage/scan-pages.ts';
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

const failedReason = 'SignerValidationFailure';

export class RequestSigner {
  readonly #ports: RequestSignerPorts;
  /** Names of requests that may wait for a signature. At most as many as there are requests. */
  readonly #waiting: AsyncKeyQueue;
  #unsubscribe: () => void = () => {};

  constructor(ports: RequestSignerPorts) {
    this.#ports = ports;
    this.#waiting = new AsyncKeyQueue({ ...ports, work: (name) => this.#sign(name) });
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
    this.#waiting.close();
  }

  #note(name: string, body: Uint8Array): void {
    if (awaitsSignature(parseBody(body) as SigningRequest)) this.#waiting.add(name);
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
