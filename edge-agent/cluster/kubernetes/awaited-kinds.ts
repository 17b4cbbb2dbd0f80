/**
 * Asks discovery again after a change of a definition. A definition is established or gone a moment before discovery shows this. If a reader asked for the
 * served kinds at the change of the definition, it would ask too early, and then not again. So this class asks discovery until discovery shows the change,
 * and then sends the change once more. The class does not check whether a definition is established, because definitions arrive without their status. When a
 * definition is established, this is a change too. For a definition that is never established, the class makes all its requests in vain.
 *
 * Bound: one entry for each definition whose change discovery does not show yet, and at most one look for each of `delaysMs`. One request answers for all
 * entries.
 */
import type { GroupResource } from '../../../core/object/key.ts';
import type { Clock, Timer } from '../../../core/runtime/clock.ts';
import { describeError } from '../../../core/runtime/errors.ts';
import type { Logger } from '../../../core/runtime/logger.ts';
import type { ClusterEvent } from '../cluster.ts';

export interface AwaitedKindsPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether discovery has the resource. After `forget`, this asks the cluster again. */
  isServed(resource: GroupResource): Promise<boolean>;
  /** Makes the next look ask the cluster. */
  forget(): void;
}

/**
 * Waits between the looks. The first look comes after all definitions of a list have arrived. Usually the second look finds the change. A busy API server
 * needs some seconds.
 */
const delaysMs = [100, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000] as const;

interface Awaited {
  readonly resource: GroupResource;
  readonly isToBeServed: boolean;
  readonly notify: () => void;
  /** The number of looks so far. */
  looks: number;
  /** The time of the next look. */
  dueMs: number;
}

export class AwaitedKinds {
  readonly #ports: AwaitedKindsPorts;
  /** Keyed by the name of the definition. A newer event replaces an older one. */
  readonly #awaited = new Map<string, Awaited>();
  #timer: Timer | undefined;

  constructor(ports: AwaitedKindsPorts) {
    this.#ports = ports;
  }

  /**
   * Called when a definition was created, changed or deleted. When discovery shows some of the changes, the class calls the `notify` of one of these changes.
   */
  changed({ type, key }: ClusterEvent, notify: () => void): void {
    this.#awaited.delete(key.name);
    const isToBeServed = type !== 'DELETED';
    const resource = resourceOf(key.name);
    if (!resource) return;
    const dueMs = this.#ports.clock.monotonicMs() + delaysMs[0];
    this.#awaited.set(key.name, { resource, isToBeServed, notify, looks: 0, dueMs });
    this.#arm();
  }

  stop(): void {
    this.#awaited.clear();
    this.#timer?.stop();
  }

  /** Arms the timer for the entry that is due first. */
  #arm(): void {
    this.#timer?.stop();
    this.#timer = undefined;
    const due = [...this.#awaited.values()].map(({ dueMs }) => dueMs);
    if (due.length === 0) return;
    const delayMs = Math.max(0, Math.min(...due) - this.#ports.clock.monotonicMs());
    this.#timer = this.#ports.clock.after(delayMs, () => void this.#look());
  }

  async #look(): Promise<void> {
    const nowMs = this.#ports.clock.monotonicMs();
    const looked = [...this.#awaited].filter(([, { dueMs }]) => dueMs <= nowMs);
    if (looked.some(([, { looks }]) => looks > 0)) this.#ports.forget();
    for (const [, awaited] of looked) awaited.dueMs = nowMs + (delaysMs[++awaited.looks] ?? 0);
    // All look-ups run in one turn, so that they share one request.
    const served = await Promise.all(looked.map(([, { resource }]) => this.#isServed(resource)));
    const settled: (() => void)[] = [];
    for (const [i, [name, awaited]] of looked.entries()) {
      if (this.#awaited.get(name) !== awaited) continue;
      const isAsItIsToBe = served[i] === awaited.isToBeServed;
      if (isAsItIsToBe) settled.push(awaited.notify);
      if (isAsItIsToBe || awaited.looks >= delaysMs.length) this.#awaited.delete(name);
    }
    this.#arm();
    settled.at(-1)?.();
  }

  async #isServed(resource: GroupResource): Promise<boolean | undefined> {
    try {
      return await this.#ports.isServed(resource);
    } catch (error) {
      this.#ports.logger.debug({ ...resource, error: describeError(error) }, 'what the cluster serves is not known');
      return undefined;
    }
  }
}

/** The resource that the definition defines, from its name `PLURAL.GROUP`. For a deleted definition, the name may be all that is known. */
function resourceOf(name: string): GroupResource | undefined {
  const dot = name.indexOf('.');
  return dot < 0 ? undefined : { group: name.slice(dot + 1), resource: name.slice(0, dot) };
}
