/**
 * Holds back the down feed of a child that may have more than this node's mailbox for the child. Otherwise the first reconciliation could take away what
 * another replica, or this node before a loss of its store, handed to the child. These children wait:
 * - every child that attaches to a node with replicas,
 * - a child with rows of another history, which the store of this node does not know because it was lost or restored.
 *
 * A child waits until this node has stored the child's reports and worked them off, and misses nothing that missing-from-child.ts names.
 *
 * Bound: one name for each child that has attached and waits.
 */

import type { WaitsAttributes } from '../../core/entries/up-attributes.ts';
import { timestamp } from '../../core/object/conditions.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Store } from '../../core/store/store.ts';
import { feedReadyTopic } from '../work/topics.ts';

export interface ChildCatchUpGatePorts {
  readonly hasReplicas: boolean;
  readonly clock: Clock;
  /** Returns a message about what this node still has to receive before it may send anything to the child. Undefined: nothing. */
  missing(child: string): string | undefined;
  /**
   * These children have rows of another history, and are about to reconcile. Marks the rows in their mailboxes as the newest decisions, so that the children
   * take them. Handles the first children of the list, at least one, and returns how many. The gate passes the others at the next call of `idle`.
   */
  raiseRevisions(children: readonly string[]): number;
  readonly store: Pick<Store, 'announce'>;
}

export class ChildCatchUpGate {
  readonly #ports: ChildCatchUpGatePorts;
  /** Children that wait, with the wall time at which this node had stored all their reports. Undefined: it has not. */
  readonly #waiting = new Map<string, number | undefined>();
  /** The children in `#waiting` that attached with rows of another history. */
  readonly #withOtherHistory = new Set<string>();

  constructor(ports: ChildCatchUpGatePorts) {
    this.#ports = ports;
  }

  /** A session of the child begins. */
  begin(child: string): void {
    this.#withOtherHistory.delete(child);
    if (this.#ports.hasReplicas) this.#waiting.set(child, undefined);
  }

  /** A session of the child begins, and the child's rows of its feed are of another history than this node's. */
  beginWithOtherHistory(child: string): void {
    this.#withOtherHistory.add(child);
    this.#waiting.set(child, undefined);
  }

  /** All reports that the child had at the beginning of its session are stored here. */
  reportsStored(child: string): void {
    if (this.#waiting.has(child)) this.#waiting.set(child, this.#ports.clock.wallMs());
  }

  mayFollow(child: string): boolean {
    return !this.#waiting.has(child);
  }

  /** Returns why the child waits, once all its reports are stored. */
  waits(child: string): WaitsAttributes | undefined {
    const sinceMs = this.#waiting.get(child);
    const reason = sinceMs === undefined ? undefined : this.#ports.missing(child);
    return sinceMs === undefined || reason === undefined ? undefined : { since: timestamp(sinceMs), for: reason };
  }

  /** The scheduler has worked off all stored reports. Lets the children go that miss nothing. */
  idle(): void {
    const complete = [...this.#waiting].flatMap(([child, sinceMs]) =>
      sinceMs !== undefined && this.#ports.missing(child) === undefined ? [child] : [],
    );
    // The mailboxes come first, because this write may fail. Then the children still wait.
    const toRaise = complete.filter((child) => this.#withOtherHistory.has(child));
    const postponed = new Set(toRaise.length > 0 ? toRaise.slice(this.#ports.raiseRevisions(toRaise)) : []);
    const released = complete.filter((child) => !postponed.has(child));
    for (const child of released) {
      this.#waiting.delete(child);
      this.#withOtherHistory.delete(child);
    }
    this.#ports.store.announce(feedReadyTopic, ...released);
  }
}
