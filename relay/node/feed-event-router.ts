/**
 * What a change of a feed sets going in the transaction that applies the change, in this order: from above towards the mailboxes, from below towards the
 * summaries and the parent. subscriptions.ts has what follows after the commit.
 */

import { entryKey } from '../../core/entries/entry-keys.ts';
import { checkReporter } from '../../core/entries/up-check.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import type { Transaction } from '../../core/store/store.ts';
import type { GuardRoom } from '../guard/guard-room.ts';
import type { NodeReports } from '../inventory-status/node-reports.ts';
import { noteSourceChange } from '../schedule/source-changes.ts';
import { markDirty } from '../work/dirty.ts';
import { childReportTopic, parentFeedTopic } from '../work/topics.ts';
import type { Downsync } from './downsync.ts';
import type { NodeState } from './node-state.ts';
import type { StatusAggregation } from './status-aggregation.ts';

/** What is made behind this in a node is asked for when something comes. */
export interface FeedEventRouterParts {
  readonly nodeState: NodeState;
  readonly down: Downsync;
  readonly up: StatusAggregation;
  guard(): GuardRoom;
  reports(): NodeReports;
}

export class FeedEventRouter {
  readonly #parts: FeedEventRouterParts;

  constructor(parts: FeedEventRouterParts) {
    this.#parts = parts;
  }

  /** What the parent sends, in the transaction that applies it. */
  fromAbove(t: Transaction, changes: readonly AppliedChange[]): void {
    const { nodeState, guard } = this.#parts;
    nodeState.place.fromAbove(t, changes);
    nodeState.matched.fromAbove(t, changes);
    for (const change of changes) {
      noteSourceChange(t, change);
      if (change.key === entryKey.tree()) nodeState.childRegistry.inheritedChanged(t);
    }
    guard().fromAbove(t, changes);
    for (const change of changes) t.announce(parentFeedTopic, change);
  }

  /** What a child says, in the transaction that applies it. */
  fromBelow(t: Transaction, child: string, changes: readonly AppliedChange[]): void {
    const { nodeState, guard, reports, down, up } = this.#parts;
    for (const change of changes) checkReporter(nodeState.lookups.pathOf(child), change);
    guard().labelsFromBelow(t, child, changes);
    if (changes.some(({ key }) => key === entryKey.labels())) {
      // Siblings get what any of them needs.
      for (const replica of nodeState.mailboxes.replicasOf(child)) markDirty(t, 'child', replica);
      nodeState.childRegistry.widen(t, child);
      nodeState.matched.heard(child);
    }
    nodeState.groups.pass(t, child, changes);
    if (changes.length === 0) return;
    reports().pass(t, child, changes);
    guard().fromBelow(t, child, changes);
    down.fromBelow(t, child, changes);
    up.pass(t, child, changes);
    t.announce(childReportTopic, { child, changes });
  }
}
