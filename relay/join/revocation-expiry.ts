/**
 * Removes a Revocation when every certificate that it refuses has expired. All Revocations are read once, at the start; after that, only changed ones are read.
 */
import {
  isRevocation,
  revocationEndsMs,
  revocationResource,
  revokedBy,
} from '../../core/apiserver/kinds/revocation-kind.ts';
import type { Space } from '../../core/apiserver/space.ts';
import type { StorageEvent, StoredObject } from '../../core/apiserver/storage.ts';
import { parseBody } from '../../core/object/canonical.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import { ifRoom } from '../../core/store/room.ts';
import { DueTimes } from './due-times.ts';

/** Time between two checks. A Revocation may stay for some hours longer, because it only repeats what the calendar says. */
const lookEveryMs = 6 * 3_600_000;
/** Limit for the Revocations of one check. Each costs one write. */
const perLookMax = 100;

export interface RevocationExpiryPorts {
  /** The system space. */
  readonly space: Space;
  readonly clock: Clock;
  readonly log: Logger;
}

export class RevocationExpiry {
  readonly #ports: RevocationExpiryPorts;
  readonly #times = new DueTimes();
  #unsubscribe: () => void = () => {};
  #timer: Timer | undefined;

  constructor(ports: RevocationExpiryPorts) {
    this.#ports = ports;
  }

  start(): void {
    const { storage } = this.#ports.space;
    this.#unsubscribe = storage.subscribe((events) => this.#note(events));
    for (const stored of storage.scan(revocationResource)) this.#set(stored);
    this.#look();
  }

  stop(): void {
    this.#unsubscribe();
    this.#timer?.stop();
  }

  #note(events: readonly StorageEvent[]): void {
    for (const { type, object } of events) {
      if (!isRevocation(object.key)) continue;
      if (type === 'DELETED') this.#times.set(object.key.name, undefined);
      else this.#set(object);
    }
  }

  #set({ key, body }: StoredObject): void {
    this.#times.set(key.name, revocationEndsMs(revokedBy(parseBody(body)).atMs));
  }

  #look(): void {
    const { clock, space, log } = this.#ports;
    for (const name of this.#times.due(clock.wallMs(), perLookMax)) {
      ifRoom(() => {
        space.delete({ ...revocationResource, namespace: '', name });
        log.info({ revocation: name }, 'a Revocation is removed: all certificates that it refuses have expired');
      });
    }
    this.#timer = clock.after(lookEveryMs, () => this.#look());
  }
}
