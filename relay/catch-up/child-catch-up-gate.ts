/**
 * Holds back the down feed of a child that may have more rows than this node's mailbox for the child. Otherwise the first reconciliation could take away rows
 * that the child got from another replica, or from this node before a loss of its store. These children wait:
 * - every child that attaches to a node with replicas,
 * - a child with rows of another history, which the store of this node does not know because it was lost or restored.
 *
 * A child waits until this node has stored and processed the child's reports, and nothing is missing that missing-from-child.ts names.
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
  /** Returns a message that names what this node still has to receive before it may send anything to the child. Undefined: nothing. */
  missing(child: string): string | undefined;
  /**
   * Called for children that have rows of another history and are about to reconcile. Marks the rows in their mailboxes as the newest decisions, so that the
   * children accept the rows. Handles the first children of the list, at least one, and returns how many. The gate passes the others at the next call of
   * `idle`.
   */
  raiseRevisions(children: readonly string[]): number;
  readonly store: Pick<Store, 'announce'>;
}

export class ChildCatchUpGate {
  readonly #ports: ChildCatchUpGatePorts;
  /** Children that wait, each with the wall time at which this node had stored all reports of the child. Undefined: it has not stored them yet. */
  readonly #waiting = new Map<string, number | undefined>();
  /** The children in `#waiting` that attached with rows of another history. */
  readonly #withOtherHistory = new Set<string>();

  constructor(ports: ChildCatchUpGatePorts) {
    this.#ports = ports;
  }

  /** Call it when a session of the child begins. */
  begin(child: string): void {
    this.#withOtherHistory.delete(child);
    if (this.#ports.hasReplicas) this.#waiting.set(child, undefined);
  }

  /** Call it when a session of the child begins, and the child's copy of its feed is of another history than this node's. */
  beginWithOtherHistory(child: string): void {
    this.#withOtherHistory.add(child);
    this.#waiting.set(child, undefined);
  }

  /** Call it when this node has stored all reports that the child had at the beginning of its session. */
  reportsStored(child: string): void {
    if (this.#waiting.has(child)) this.#waiting.set(child, this.#ports.clock.wallMs());
  }

  mayFollow(child: string): boolean {
    return !this.#waiting.has(child);
  }

  /** Returns why the child still waits after all its reports are stored. Undefined: the reports are not stored yet, or nothing is missing. */
  waits(child: string): WaitsAttributes | undefined {
    const sinceMs = this.#waiting.get(child);
    const reason = sinceMs === undefined ? undefined : this.#ports.missing(child);
    return sinceMs === undefined || reason === undefined ? undefined : { since: timestamp(sinceMs), for: reason };
  }

  /** Call it when the scheduler has processed all stored reports. The children for which nothing is missing may then follow their mailboxes. */
  idle(): void {
    const complete = [...this.#waiting].flatMap(([child, sinceMs]) =>
      sinceMs !== undefined && this.#ports.missing(child) === undefined ? [child] : [],
    );
    // The mailboxes are written first, because this write may fail. If it fails, the children still wait.
    const toRaise = complete.filter((child) => this.#withOtherHistory.has(child));
    const postponed = new Set(toRaise.length > 0 ? toRaise.slice(this.#ports.raiseRevisions(toRaise)) : []);
    const released = complete.filter((child) => !postponed.has(child));
    for (const child of released) {
      this.#waiting.delete(child);
      this.#withOtherHistory.delete(child);
    }
    this.#ports.store.announce(feedReadyTopic, released);
  }
}
