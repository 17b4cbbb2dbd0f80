/**
 * A definition is established, or gone, a moment before discovery says so. Whoever looks at what is served when the definition changes would look too
 * early and never again: so discovery is asked again until it has followed, and the change is told once more. Whether a definition is established is not
 * looked at, since it comes without its status: that it was, is a change of it too, and one that never is costs its looks.
 *
 * Bound: one entry for each definition that discovery has not followed, and as many looks as there are `delaysMs` for it; one question answers for all.
 */
import type { GroupResource } from '../../../core/object/key.ts';
import type { Clock, Timer } from '../../../core/runtime/clock.ts';
import { describeError } from '../../../core/runtime/errors.ts';
import type { Logger } from '../../../core/runtime/logger.ts';
import type { ClusterEvent } from '../cluster.ts';

export interface AwaitedKindsPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** By what discovery says, asked anew where it was forgotten. */
  isServed(resource: GroupResource): Promise<boolean>;
  /** The next question is asked of the cluster. */
  forget(): void;
}

/** The first look is behind all definitions that a list tells of; usually the second finds it, and a busy API server has taken some seconds. */
const delaysMs = [100, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000] as const;

interface Awaited {
  readonly resource: GroupResource;
  readonly isToBeServed: boolean;
  readonly tell: () => void;
  /** Looks so far. */
  looks: number;
  /** Of the next one. */
  dueMs: number;
}

export class AwaitedKinds {
  readonly #ports: AwaitedKindsPorts;
  /** By name of the definition; a later event takes the place of an earlier one. */
  readonly #awaited = new Map<string, Awaited>();
  #timer: Timer | undefined;

  constructor(ports: AwaitedKindsPorts) {
    this.#ports = ports;
  }

  /** A definition has come, changed or gone. When discovery has followed, the `tell` of one of those that it has followed by then is called. */
  changed({ type, key }: ClusterEvent, tell: () => void): void {
    this.#awaited.delete(key.name);
    const isToBeServed = type !== 'DELETED';
    const resource = resourceOf(key.name);
    if (!resource) return;
    const dueMs = this.#ports.clock.monotonicMs() + delaysMs[0];
    this.#awaited.set(key.name, { resource, isToBeServed, tell, looks: 0, dueMs });
    this.#arm();
  }

  stop(): void {
    this.#awaited.clear();
    this.#timer?.stop();
  }

  /** The next look is when the first of them is due. */
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
    // All in one turn, so that they share one question.
    const served = await Promise.all(looked.map(([, { resource }]) => this.#isServed(resource)));
    const settled: (() => void)[] = [];
    for (const [i, [name, awaited]] of looked.entries()) {
      if (this.#awaited.get(name) !== awaited) continue;
      const isAsItIsToBe = served[i] === awaited.isToBeServed;
      if (isAsItIsToBe) settled.push(awaited.tell);
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

/** By its name, which is `PLURAL.GROUP`: of one that has gone there may be nothing else. */
function resourceOf(name: string): GroupResource | undefined {
  const dot = name.indexOf('.');
  return dot < 0 ? undefined : { group: name.slice(dot + 1), resource: name.slice(0, dot) };
}
