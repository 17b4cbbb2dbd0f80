/** Deletes old CertificateSigningRequests, as the controller of Kubernetes does. Otherwise everybody who may ask for certificates could fill the disk. */
import { X509Certificate } from 'node:crypto';
import { parseBody } from '../../object/canonical.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { ifRoom } from '../../store/room.ts';
import type { Space } from '../space.ts';
import { scanPages } from '../storage/scan-pages.ts';
import { isRequestOver, type SigningRequest, signingRequestResource } from './signing-request.ts';

export interface RequestCleanupPorts {
  /** The system space. */
  readonly space: Space;
  readonly clock: Clock;
}

/** As in Kubernetes. Each time, all requests are read: a thousand of them take some milliseconds. */
const lookEveryMs = 3_600_000;
/** The first time comes soon, because a node may start more often than once an hour. */
const firstLookMs = 60_000;
/** Limit for the deletions of one turn, which takes some 100 ms. The others wait for the next turn. */
const perTurnMax = 500;

export class RequestCleanup {
  readonly #ports: RequestCleanupPorts;
  #timer: Timer | undefined;

  constructor(ports: RequestCleanupPorts) {
    this.#ports = ports;
  }

  start(): void {
    this.#wait(firstLookMs);
  }

  stop(): void {
    this.#timer?.stop();
  }

  #wait(ms: number): void {
    this.#timer = this.#ports.clock.after(ms, () => {
      const isDone = this.#look();
      this.#wait(isDone ? lookEveryMs : firstLookMs);
    });
  }

  /** Returns false if some requests are left. */
  #look(): boolean {
    const { space, clock } = this.#ports;
    const nowMs = clock.wallMs();
    const old = Array.from(scanPages(space.storage, signingRequestResource))
      .filter(({ body }) => {
        const request = parseBody(body) as SigningRequest;
        return isRequestOver(request, nowMs, endOf(request));
      })
      .slice(0, perTurnMax + 1);
    const deleted = old.slice(0, perTurnMax).every(({ key }) => ifRoom(() => void space.delete(key)));
    return deleted && old.length <= perTurnMax;
  }
}

/** Undefined: the request has no certificate, or one that can't be read. */
function endOf({ status }: SigningRequest): number | undefined {
  if (!status?.certificate) return undefined;
  try {
    return Date.parse(new X509Certificate(Buffer.from(status.certificate, 'base64')).validTo);
  } catch {
    return undefined;
  }
}
