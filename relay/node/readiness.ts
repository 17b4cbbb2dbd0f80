/**
 * Readiness of the feeds in both directions. A feed is ready when a row that it lacks is meant to be missing.
 * - The feed to a child is ready when everything from above has arrived, the child has reported what is below it, and all of this is processed.
 * - The feed to the parent is ready when, in addition, every relay in the configuration has reported, however long that takes. Until then the parent keeps the
 *   earlier reports, and so goes on sending everything that the silent relay needs.
 *
 * A ready feed stays ready while the node runs, unless children or the parent show that the store of the node was restored from an older copy.
 */
import type { Store } from '../../core/store/store.ts';
import type { Child } from '../children/children.ts';
import { feedReadyTopic } from '../work/topics.ts';

export interface ReadinessPorts {
  readonly children: ReadonlyMap<string, Child>;
  /** The names of the child relays in the configuration. */
  relays(): readonly string[];
  /** Returns whether another replica of this node has the relay. If so, this node does not wait for the relay's report. */
  isElsewhere(relay: string): boolean;
  /** Returns whether the scheduler has no work left. */
  quiet(): boolean;
  readonly store: Pick<Store, 'announce'>;
  /** Called when `up` may have changed. */
  upChanged(): void;
}

export class Readiness {
  readonly #ports: ReadinessPorts;
  readonly #readyChildren = new Set<string>();
  /** Children that have changed since the last check. Undefined: the next check covers all children. */
  #toCheck: Set<string> | undefined;
  /** True: the store has everything that a ready parent had, received in this run of the process or in an earlier one. */
  #caughtUp: boolean;
  #caughtUpInThisRun = false;
  /** Children that attached with rows of another history before this node had caught up in this run. */
  readonly #withOtherHistory = new Set<string>();
  #everQuiet = false;
  /** True: the first check has happened, after everything from above and from the children was processed. The check shows which relays have not reported. */
  #hasCheckedRelays = false;
  #allReported = false;

  constructor(ports: ReadinessPorts, caughtUp: boolean) {
    this.#ports = ports;
    this.#caughtUp = caughtUp;
  }

  /** Returns whether the feed to the child is ready. */
  down(child: string): boolean {
    return this.#readyChildren.has(child) && !this.#withOtherHistory.has(child);
  }

  /** True: the feed to the parent is ready. Undefined: this is known when the present work is done, and this work waits for no other node. */
  get up(): boolean | undefined {
    return this.#allReported || (this.#caughtUp && !this.#hasCheckedRelays ? undefined : false);
  }

  /** True: everything that a ready parent had is in the store. */
  get isCaughtUp(): boolean {
    return this.#caughtUp;
  }

  /** True: everything that a ready parent had is in the store, and this run of the process has received it. */
  get hasReceivedFromParent(): boolean {
    return this.#caughtUpInThisRun;
  }

  /** Returns why the node is not ready to serve; its readiness probe shows this message. */
  notReady(): string | undefined {
    if (!this.#caughtUp) return 'waiting for the parent';
    return this.#everQuiet ? undefined : 'finishing the work that is left from the last run';
  }

  /** Call it when everything that a ready parent has is stored at this node. */
  caughtUp(): void {
    this.#caughtUp = true;
    this.#caughtUpInThisRun = true;
  }

  /**
   * Call it when a child shows that the store was restored from an older copy. The store lacks rows again, so the children keep their rows until the node has
   * caught up again.
   */
  storeRestored(): void {
    if (this.#caughtUpInThisRun) return;
    this.#caughtUp = false;
    this.#toCheck = undefined;
    const before = [...this.#readyChildren];
    this.#readyChildren.clear();
    this.#ports.store.announce(feedReadyTopic, before);
  }

  /**
   * Call it when the parent shows that the store was restored or lost. The reports to the parent may then lack rows too, until this node has received and
   * processed everything that the parent has.
   */
  storeRestoredPerParent(): void {
    if (this.#caughtUpInThisRun) return;
    this.storeRestored();
    this.#allReported = false;
    this.#hasCheckedRelays = false;
  }

  /**
   * Call it when the child has rows that this node did not send, or no longer has. If the store of this node was restored from an older copy, these rows may be
   * newer than all rows of this node. The parent has the newest rows. So the child keeps its rows until this run of the process has received the parent's rows.
   * Returns true if the child has to wait.
   */
  hasOtherHistory(child: string): boolean {
    if (this.#caughtUpInThisRun) return false;
    this.#withOtherHistory.add(child);
    return true;
  }

  /** Call it when the node has read the child again, from the inventory or from the child's report. */
  childRead(child: string): void {
    this.#toCheck?.add(child);
  }

  /** Call it when the child has left for good. A new child of this name begins with an empty mailbox, which is not ready. */
  childRemoved(child: string): void {
    this.#readyChildren.delete(child);
    this.#withOtherHistory.delete(child);
  }

  idle(): void {
    this.#everQuiet = true;
    const { children, relays, quiet, isElsewhere, store, upChanged } = this.#ports;
    if (!this.#caughtUp || !quiet()) return;
    const newlyReady: string[] = [];
    for (const name of this.#toCheck ?? children.keys()) {
      const child = children.get(name);
      if (child && (child.role === 'agent' || child.hasReportedLabels) && !this.#readyChildren.has(name))
        newlyReady.push(name);
    }
    this.#toCheck = new Set();
    for (const name of newlyReady) this.#readyChildren.add(name);
    if (this.#caughtUpInThisRun) {
      newlyReady.push(...this.#withOtherHistory);
      this.#withOtherHistory.clear();
    }
    store.announce(feedReadyTopic, newlyReady);
    if (this.#allReported) return;
    const isFirstCheck = !this.#hasCheckedRelays;
    this.#hasCheckedRelays = true;
    this.#allReported = relays().every((name) => this.#readyChildren.has(name) || isElsewhere(name));
    if (this.#allReported || isFirstCheck) upChanged();
  }
}
