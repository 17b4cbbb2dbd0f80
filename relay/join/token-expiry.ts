/**
 * Ends join tokens that nobody uses: marks a token as expired when its time is over, and removes it a day later. A used token stays as long as the SyncTarget
 * of its agent, which owns the token. All tokens are read once, at the start; after that, only changed tokens are read.
 */
import type { Space } from '../../core/apiserver/space.ts';
import type { StorageEvent, StoredObject } from '../../core/apiserver/storage.ts';
import type { GroupResource } from '../../core/object/key.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import { ifRoom } from '../../core/store/room.ts';
import { updateStatus } from '../gather/status/update-status.ts';
import { DueTimes } from './due-times.ts';
import { isExpired, joinTokenResource, type StoredToken } from './judge.ts';

export interface TokenExpiryPorts {
  /** The system space. */
  readonly space: Space;
  readonly clock: Clock;
  readonly log: Logger;
}

/** An expired token stays for a day. So people who look the next day see why an agent has not joined. */
export const expiredKeptMs = 24 * 3_600_000;
/**
 * Longest time between two checks. A timer does not notice when somebody sets the wall clock. So a token may be marked as expired this much too late. From its
 * end on, it admits nobody, whether it is marked or not.
 */
const lookAgainMs = 30_000;
/** Limit for the tokens of one turn. Each costs one write, about 0.2 ms. If a thousand tokens were made at the same time, they also expire at the same time. */
const perTurnMax = 100;

export class TokenExpiry {
  readonly #ports: TokenExpiryPorts;
  readonly #times = new DueTimes();
  #unsubscribe: () => void = () => {};
  #timer: Timer | undefined;

  constructor(ports: TokenExpiryPorts) {
    this.#ports = ports;
  }

  start(): void {
    const { storage } = this.#ports.space;
    this.#unsubscribe = storage.subscribe((events) => this.#note(events));
    for (const stored of storage.scan(joinTokenResource)) this.#set(stored);
    this.#arm();
  }

  stop(): void {
    this.#unsubscribe();
    this.#timer?.stop();
  }

  #note(events: readonly StorageEvent[]): void {
    const tokenEvents = events.filter(({ object }) => isJoinToken(object.key));
    if (tokenEvents.length === 0) return;
    for (const { type, object } of tokenEvents) {
      if (type === 'DELETED') this.#times.set(object.key.name, undefined);
      else this.#set(object);
    }
    this.#arm();
  }

  #set(stored: StoredObject): void {
    this.#times.set(stored.key.name, dueAtMs(this.#ports.space.parse(stored) as StoredToken));
  }

  #arm(): void {
    const { clock } = this.#ports;
    this.#timer?.stop();
    const { nextMs } = this.#times;
    if (nextMs === undefined) return;
    const delayMs = Math.min(lookAgainMs, Math.max(0, nextMs - clock.wallMs()));
    this.#timer = clock.after(delayMs, () => this.#look());
  }

  #look(): void {
    const { clock } = this.#ports;
    const nowMs = clock.wallMs();
    for (const name of this.#times.due(nowMs, perTurnMax)) {
      // A successful write sets another time. A write that was rejected, or for which there was no room, is tried again at this time.
      this.#times.set(name, nowMs + lookAgainMs);
      ifRoom(() => this.#end(name, nowMs));
    }
    this.#arm();
  }

  #end(name: string, nowMs: number): void {
    const { space, log } = this.#ports;
    const key = { ...joinTokenResource, namespace: '', name };
    const token = space.get(key) as StoredToken | undefined;
    if (!token || token.status?.key !== undefined || !isExpired(token.spec, nowMs)) return;
    if (token.status?.state === undefined) {
      updateStatus(space, token, { state: 'Expired' }, log);
    } else {
      space.delete(key);
      log.info({ token: name, child: token.spec.path }, 'a join token that nobody has used is removed');
    }
  }
}

/** Undefined: the token was used, so nothing is due. A time that can't be parsed counts as passed. */
function dueAtMs({ spec, status }: StoredToken): number | undefined {
  if (status?.key !== undefined) return undefined;
  const expiresMs = Date.parse(spec.expires) || 0;
  return status?.state === undefined ? expiresMs : expiresMs + expiredKeptMs;
}

function isJoinToken({ group, resource }: GroupResource): boolean {
  return group === joinTokenResource.group && resource === joinTokenResource.resource;
}
