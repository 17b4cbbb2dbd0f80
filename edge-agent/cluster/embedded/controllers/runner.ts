/**
 * Runs the controllers of a space. The runner subscribes to the changes of the space, keeps one waiting entry for each object and controller, and lets the
 * controllers work in turns. Without changes, nothing runs. Failed work is tried again after a backoff.
 */
import type { StorageEvent } from '../../../../core/apiserver/storage.ts';
import { formatKey, type GroupResource, type ObjectKey } from '../../../../core/object/key.ts';
import { isTerminating } from '../../../../core/object/terminating.ts';
import type { Clock, Timer } from '../../../../core/runtime/clock.ts';
import { describeError } from '../../../../core/runtime/errors.ts';
import type { Logger } from '../../../../core/runtime/logger.ts';
import type { Controller, OwnerWatch } from './controller.ts';
import { type ControlledSpace, Objects } from './objects.ts';

export interface RunnerOptions {
  readonly space: ControlledSpace;
  readonly controllers: readonly Controller[];
  readonly clock: Clock;
  readonly logger: Logger;
  /** Calls `turn` in a later turn of the event loop, after the commit that runs now. */
  readonly schedule: (turn: () => void) => void;
}

/** The number of objects that are worked on before other work of the event loop gets a turn: requests must not wait for a rollout. */
const workPerTurn = 20;
/**
 * Backoff of failed work. A first refusal is often only a matter of order, such as a namespace that is being deleted. So the first retry follows quickly, and
 * the time between further retries grows.
 */
const retryMinMs = 200;
const retryMaxMs = 60_000;

interface RunningController {
  readonly controller: Controller;
  readonly objects: Objects;
}

interface Item extends RunningController {
  readonly key: ObjectKey;
}

export class ControllerRunner {
  readonly #options: RunnerOptions;
  readonly #primaries = new Map<string, RunningController[]>();
  readonly #concerns = new Map<string, { member: RunningController; concern: OwnerWatch }[]>();
  readonly #waiting = new Map<string, Item>();
  readonly #delayed = new Map<string, { atMs: number; timer: Timer }>();
  readonly #failures = new Map<string, number>();
  #scheduled = false;
  #stopped = false;
  #unsubscribe: (() => void) | undefined;

  constructor(options: RunnerOptions) {
    this.#options = options;
    for (const controller of options.controllers) {
      const member = { controller, objects: new Objects(options.space, controller.name) };
      push(this.#primaries, nameOf(controller.resource), member);
      for (const concern of controller.watches) push(this.#concerns, nameOf(concern.resource), { member, concern });
    }
  }

  start(): void {
    const { storage } = this.#options.space;
    this.#unsubscribe = storage.subscribe((events) => this.#on(events));
    for (const members of this.#primaries.values()) {
      for (const { key } of storage.scan(members[0]!.controller.resource)) this.#addAll(members, key);
    }
  }

  stop(): void {
    this.#unsubscribe?.();
    this.#stopped = true;
    for (const { timer } of this.#delayed.values()) timer.stop();
    this.#delayed.clear();
    this.#waiting.clear();
  }

  #on(events: readonly StorageEvent[]): void {
    for (const { object } of events) {
      const resource = nameOf(object.key);
      this.#addAll(this.#primaries.get(resource) ?? [], object.key);
      const concerns = this.#concerns.get(resource);
      if (!concerns) continue;
      const parsed = this.#options.space.parse(object);
      for (const { member, concern } of concerns) {
        for (const key of concern.concerned(parsed, member.objects)) this.#add({ ...member, key });
      }
    }
  }

  #addAll(members: readonly RunningController[], key: ObjectKey): void {
    for (const member of members) this.#add({ ...member, key });
  }

  #add(item: Item): void {
    this.#waiting.set(idOf(item), item);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.#stopped) return;
    this.#scheduled = true;
    this.#options.schedule(() => {
      this.#scheduled = false;
      if (!this.#stopped) this.#run();
    });
  }

  #run(): void {
    let remaining = workPerTurn;
    for (const [id, item] of this.#waiting) {
      if (remaining-- === 0) break;
      this.#waiting.delete(id);
      this.#work(id, item);
    }
    if (this.#waiting.size > 0) this.#schedule();
  }

  #work(id: string, item: Item): void {
    this.#delayed.get(id)?.timer.stop();
    this.#delayed.delete(id);
    try {
      const object = item.objects.get(item.key);
      // The garbage collector works on objects that are being deleted.
      const alive = object && !isTerminating(object);
      const againMs = alive ? item.controller.reconcile(object, item.key, item.objects) : undefined;
      this.#failures.delete(id);
      if (againMs !== undefined) this.#addAfter(id, item, againMs);
    } catch (error) {
      const failures = this.#failures.get(id) ?? 0;
      this.#failures.set(id, Math.min(failures + 1, 16));
      const fields = { controller: item.controller.name, object: formatKey(item.key), error: describeError(error) };
      this.#options.logger.debug(fields, 'a controller of the embedded cluster has to try again');
      this.#addAfter(id, item, Math.min(retryMaxMs, retryMinMs * 2 ** failures));
    }
  }

  #addAfter(id: string, item: Item, delayMs: number): void {
    const atMs = this.#options.clock.monotonicMs() + delayMs;
    const earlier = this.#delayed.get(id);
    if (earlier && earlier.atMs <= atMs) return;
    earlier?.timer.stop();
    this.#delayed.set(id, { atMs, timer: this.#options.clock.after(delayMs, () => this.#add(item)) });
  }
}

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

function nameOf({ group, resource }: GroupResource): string {
  return `${group}/${resource}`;
}

function idOf(item: Item): string {
  return `${item.controller.name} ${formatKey(item.key)}`;
}
