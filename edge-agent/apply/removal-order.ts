/**
 * The order of a removal. The unwanted objects that belong together form a group, and go stage by stage (order.ts): an object goes when no object of an
 * earlier stage in one of its groups is left. So custom objects are gone before the controllers that have to remove their finalizers, and so on.
 *
 * - A group is a placement, or the source if the record names no placement. A custom object is also in the groups of its definition: the placement that
 *   brings the definition mostly brings the controller too.
 * - Whether an object has finalizers may be unknown, for example after a start. Until the agent has looked at the object, others wait for it.
 * - Objects that are removed together may arrive in several batches: a controller first, its custom objects a moment later. So in groups with definitions or
 *   custom objects, controllers and what they use stay a moment longer.
 * - The objects of a placement in a namespace may be replaced by others, for example the first hooks of a chart by the chart. Between them, nobody wants the
 *   Namespace. It has objects of others too, so it stays longer.
 * - Every wait has a bound: `removalWaitMs` after the last object of the stage has gone, the group goes on without the rest of the stage.
 *
 * The state is in memory. After a restart, the unwanted objects on record enter again, and a wait begins again.
 */
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { removalStages } from './order.ts';

/**
 * How long a group waits for objects that do not go. Most delays end earlier: a grace period, a controller that tidies up, an API server that restarts. After
 * this time, a removal also counts as stuck in the reports.
 */
export const removalWaitMs = 60_000;

/**
 * How long a controller stays after it was withdrawn, so that the withdrawal of its custom objects can arrive. Deleting a handful of placements one after the
 * other takes a person's tool a second or two, and each hop of the tree passes changes on within less than a second.
 */
export const companionsMs = 5_000;

/**
 * How long a Namespace stays after the last object in it was withdrawn, while its placement is still there. Helm deletes the hooks of an installation and then
 * creates the objects of the chart: a second on an idle machine, several on a busy one.
 */
export const namespaceStayMs = 15_000;

export interface Unwanted {
  readonly groups: readonly string[];
  /** If `isKnown` is false, the stage is the one that the object has without finalizers. */
  readonly stage: number;
  /** Whether the agent knows the object's finalizers. */
  readonly isKnown: boolean;
  /** Whether other objects that need this one may follow in a later batch: custom objects that are withdrawn too, or new objects in a Namespace. */
  readonly mayHaveCompanions: boolean;
}

interface Entry extends Unwanted {
  readonly sinceMs: number;
}

interface Group {
  /** Keys by stage. */
  readonly stages: readonly Set<string>[];
  /** Keys that did not go in time. No object waits for them any more. */
  readonly overdue: Set<string>;
  /** Keys that can't go for a reason outside of the group. No object waits for them. */
  readonly aside: Set<string>;
  readonly waiting: Set<string>;
  /** Runs while the cluster has answered about an object of the first stage that has objects. */
  stuck: Timer | undefined;
  stay: Timer | undefined;
}

export class RemovalOrder {
  readonly #clock: Clock;
  readonly #enqueue: (key: string) => void;
  readonly #isPlaced: (group: string) => boolean;
  readonly #entries = new Map<string, Entry>();
  readonly #groups = new Map<string, Group>();

  /** `enqueue` is called with a key whose turn may have come, or that is overdue. `isPlaced`: whether the placement of a group is still there. */
  constructor(clock: Clock, enqueue: (key: string) => void, isPlaced: (group: string) => boolean) {
    this.#clock = clock;
    this.#enqueue = enqueue;
    this.#isPlaced = isPlaced;
  }

  stop(): void {
    for (const { stuck, stay } of this.#groups.values()) {
      stuck?.stop();
      stay?.stop();
    }
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** Whether unwanted objects of the group are left. */
  hasGroup(name: string): boolean {
    return this.#groups.has(name);
  }

  /** Adds an object that nobody wants any more. If the object is there already, nothing changes. */
  add(key: string, unwanted: Unwanted): void {
    if (this.#entries.has(key)) return;
    const entry = { ...unwanted, sinceMs: this.#clock.monotonicMs() };
    this.#entries.set(key, entry);
    for (const name of entry.groups) {
      const group = this.#groups.get(name) ?? newGroup();
      this.#groups.set(name, group);
      // The time of a later stage does not count for this object.
      if (stageOf(entry) < firstStage(group)) stopWatch(group);
      group.stages[stageOf(entry)]!.add(key);
    }
  }

  /** Called when the object is gone, or is wanted again. */
  drop(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    for (const name of entry.groups) {
      const group = this.#groups.get(name)!;
      group.waiting.delete(key);
      group.overdue.delete(key);
      group.aside.delete(key);
      if (group.stages[stageOf(entry)]!.delete(key)) this.#left(group, stageOf(entry));
      if ([...group.stages, group.overdue, group.aside].some(({ size }) => size > 0)) continue;
      group.stuck?.stop();
      group.stay?.stop();
      this.#groups.delete(name);
    }
  }

  /** Whether the agent has to look at the object before it can tell the object's stage. */
  isUnknown(key: string): boolean {
    return this.#entries.get(key)?.isKnown === false;
  }

  /** Notes what the agent has found out about an unknown object. */
  know(key: string, stage: number): void {
    const before = this.#entries.get(key);
    if (!before || before.isKnown) return;
    const entry = { ...before, stage, isKnown: true };
    this.#entries.set(key, entry);
    for (const name of entry.groups) {
      const group = this.#groups.get(name)!;
      if (stageOf(before) === stage || !group.stages[stageOf(before)]!.delete(key)) continue;
      group.stages[stage]!.add(key);
      this.#left(group, stageOf(before));
    }
  }

  /** Whether the object may go now. If not, `enqueue` is called with the key when its turn may have come. */
  mayGo(key: string): boolean {
    const entry = this.#entries.get(key);
    if (!entry) return true;
    const leftMs = entry.sinceMs + this.#stayMs(entry) - this.#clock.monotonicMs();
    const stays = leftMs > 0;
    let mayGo = true;
    for (const name of entry.groups) {
      const group = this.#groups.get(name)!;
      if (group.overdue.has(key) || (firstStage(group) >= entry.stage && !stays)) continue;
      mayGo = false;
      group.waiting.add(key);
      if (!stays) continue;
      // A key that begins to wait while the timer runs may wait for a second turn of the timer: at most twice the time.
      group.stay ??= this.#clock.after(leftMs, () => {
        group.stay = undefined;
        this.#wake(group);
      });
    }
    return mayGo;
  }

  /** How long the object stays at least. */
  #stayMs({ groups, stage, mayHaveCompanions }: Entry): number {
    if (!mayHaveCompanions) return 0;
    if (stage === removalStages.namespaces) return groups.some(this.#isPlaced) ? namespaceStayMs : 0;
    return hasCompanions(stage) ? companionsMs : 0;
  }

  /** Called when the placement of the group is not there any more. */
  withdrawn(name: string): void {
    const group = this.#groups.get(name);
    if (group) this.#wake(group);
  }

  /**
   * Called when the cluster has answered about an object whose turn it is. From now on, the others wait for a bounded time. While the cluster does not answer,
   * no time passes: otherwise all objects would go at once after an outage.
   */
  tried(key: string): void {
    const entry = this.#entries.get(key);
    for (const name of entry?.groups ?? []) {
      const group = this.#groups.get(name)!;
      if (group.stages[stageOf(entry!)]!.has(key)) this.#watch(group);
    }
  }

  /** Called when the object can't go for a reason outside of its groups: objects of others need it. */
  standAside(key: string): void {
    const entry = this.#entries.get(key);
    for (const name of entry?.groups ?? []) {
      const group = this.#groups.get(name)!;
      if (!group.stages[stageOf(entry!)]!.delete(key)) continue;
      group.aside.add(key);
      this.#left(group, stageOf(entry!));
    }
  }

  /** Whether the others have stopped to wait for the object. */
  isOverdue(key: string): boolean {
    return (this.#entries.get(key)?.groups ?? []).some((name) => this.#groups.get(name)!.overdue.has(key));
  }

  /** Called when an object has left the stage. */
  #left(group: Group, stage: number): void {
    const isWatched = group.stuck !== undefined;
    stopWatch(group);
    if (group.stages[stage]!.size === 0) this.#wake(group);
    else if (isWatched) this.#watch(group);
  }

  #watch(group: Group): void {
    group.stuck ??= this.#clock.after(removalWaitMs, () => {
      group.stuck = undefined;
      const late = group.stages[firstStage(group)];
      for (const key of late ?? []) {
        group.overdue.add(key);
        this.#enqueue(key);
      }
      late?.clear();
      this.#wake(group);
    });
  }

  #wake(group: Group): void {
    for (const key of group.waiting) this.#enqueue(key);
    group.waiting.clear();
  }
}

function newGroup(): Group {
  const stages = Object.values(removalStages).map(() => new Set<string>());
  return { stages, overdue: new Set(), aside: new Set(), waiting: new Set(), stuck: undefined, stay: undefined };
}

function stopWatch(group: Group): void {
  group.stuck?.stop();
  group.stuck = undefined;
}

/** An object with unknown finalizers counts as one that has some. */
function stageOf({ stage, isKnown }: Entry): number {
  return isKnown ? stage : Math.min(stage, removalStages.served);
}

/** Infinity: no object is left. */
function firstStage({ stages }: Group): number {
  const first = stages.findIndex(({ size }) => size > 0);
  return first < 0 ? Number.POSITIVE_INFINITY : first;
}

/** Definitions and Namespaces stay anyway while the agent has objects in them. */
function hasCompanions(stage: number): boolean {
  return stage >= removalStages.apiServices && stage <= removalStages.support;
}
