/**
 * Children that come to one of several siblings, and agents that come with what this node's store does not know of, since it was lost or put back: they take
 * nothing from this one before it has heard what they have to say, and has made its mailbox fit that; with siblings, before it has all that the labels there
 * match as well, and below siblings before as much of the spaces above has come here as they have seen, and all that the labels there match. What another
 * sibling, or this one before, handed to them would be taken away by the first reconciliation otherwise.
 *
 * Bound: one name for each child that has come and not been heard out.
 */

import type { WaitsAttributes } from '../../core/entries/up-attributes.ts';
import { timestamp } from '../../core/object/conditions.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Store } from '../../core/store/store.ts';
import { feedReadyTopic } from '../work/topics.ts';

export interface ChildCatchUpGatePorts {
  readonly hasReplicas: boolean;
  readonly clock: Clock;
  /** In words, what this node still has to hear before it can tell the child anything. */
  behind(child: string): string | undefined;
  /**
   * These came with rows of another history than this node's, and are about to reconcile: what stands in their mailboxes is what they are to have. Returns with
   * how many of them it is done, from the first on: one at least. There will be another idle moment for the others.
   */
  decided(children: readonly string[]): number;
  readonly store: Pick<Store, 'announce'>;
}

export class ChildCatchUpGate {
  readonly #ports: ChildCatchUpGatePorts;
  /** Since when, by wall time, all that they had to say is here; undefined: it is not. */
  readonly #waiting = new Map<string, number | undefined>();
  /** Of these, those that came with rows of another history. */
  readonly #others = new Set<string>();

  constructor(ports: ChildCatchUpGatePorts) {
    this.#ports = ports;
  }

  /** A session begins. */
  begin(child: string): void {
    this.#others.delete(child);
    if (this.#ports.hasReplicas) this.#waiting.set(child, undefined);
  }

  /** And what it has of its feed is of another history than this node's. */
  beginWithOther(child: string): void {
    this.#others.add(child);
    this.#waiting.set(child, undefined);
  }

  /** What the child had to say is stored here. */
  heard(child: string): void {
    if (this.#waiting.has(child)) this.#waiting.set(child, this.#ports.clock.wallMs());
  }

  mayFollow(child: string): boolean {
    return !this.#waiting.has(child);
  }

  /** Why the child has to wait, if all it had to say has come. */
  waits(child: string): WaitsAttributes | undefined {
    const sinceMs = this.#waiting.get(child);
    const reason = sinceMs === undefined ? undefined : this.#ports.behind(child);
    return sinceMs === undefined || reason === undefined ? undefined : { since: timestamp(sinceMs), for: reason };
  }

  /** What was heard is worked off. */
  idle(): void {
    const heard = [...this.#waiting].flatMap(([child, sinceMs]) =>
      sinceMs !== undefined && this.#ports.behind(child) === undefined ? [child] : [],
    );
    // Before they are let go: it may fail.
    const others = heard.filter((child) => this.#others.has(child));
    const left = new Set(others.length > 0 ? others.slice(this.#ports.decided(others)) : []);
    const now = heard.filter((child) => !left.has(child));
    for (const child of now) {
      this.#waiting.delete(child);
      this.#others.delete(child);
    }
    this.#ports.store.announce(feedReadyTopic, ...now);
  }
}
