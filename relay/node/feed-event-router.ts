/**
 * Passes the changes of a feed to the rooms that act on them in the transaction that applies the changes. The order matters: changes from above go towards the
 * mailboxes, changes from below towards the summaries and the parent. subscriptions.ts lists what happens after the commit.
 */

import { entryKey } from '../../core/entries/entry-keys.ts';
import { checkReporter } from '../../core/entries/up-check.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import type { Transaction } from '../../core/store/store.ts';
import type { GuardRoom } from '../guard/guard-room.ts';
import type { NodeReports } from '../inventory-status/node-reports.ts';
import { noteSourceChange } from '../schedule/source-changes.ts';
import { markDirty } from '../work/dirty.ts';
import {
  authoritiesTopic,
  childReportTopic,
  metricsIssuersTopic,
  parentFeedTopic,
  revocationsTopic,
} from '../work/topics.ts';
import type { Downsync } from './downsync.ts';
import type { NodeState } from './node-state.ts';
import type { StatusAggregation } from './status-aggregation.ts';

/** `guard` and `reports` are made after the router, so the router asks for them when a change arrives. */
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

  /** Runs in the transaction that applies changes of the parent's feed. */
  receivedFromParent(t: Transaction, changes: readonly AppliedChange[]): void {
    const { nodeState, guard } = this.#parts;
    nodeState.replicas.received(t, 'parent', changes);
    nodeState.labelSummaryAcknowledgement.receivedFromParent(t, changes);
    for (const change of changes) {
      noteSourceChange(t, change);
      if (change.key === entryKey.tree()) nodeState.childRegistry.inheritedChanged(t);
      if (change.key === entryKey.revoked()) {
        nodeState.childRegistry.inheritedChanged(t);
        t.announce(revocationsTopic, 'self');
      }
      if (change.key === entryKey.authorities()) t.announce(authoritiesTopic, 'self');
      if (change.key === entryKey.metrics()) {
        nodeState.childRegistry.inheritedChanged(t);
        t.announce(metricsIssuersTopic, 'self');
      }
    }
    guard().fromAbove(t, changes);
    for (const change of changes) t.announce(parentFeedTopic, change);
  }

  /** Runs in the transaction that applies reports of a child, or moves the cursor of the child's feed. */
  receivedFromChild(t: Transaction, child: string, changes: readonly AppliedChange[]): void {
    const { nodeState, guard, reports, down, up } = this.#parts;
    for (const change of changes) checkReporter(nodeState.lookups.pathOf(child), change);
    guard().labelsFromBelow(t, child, changes);
    if (changes.some(({ key }) => key === entryKey.labels())) {
      // All replicas get everything that any of them needs.
      for (const replica of nodeState.mailboxes.replicasOf(child)) markDirty(t, 'child', replica);
      nodeState.childRegistry.widen(t, child);
      nodeState.labelSummaryAcknowledgement.labelsReceived(child);
    }
    if (changes.some(({ key }) => key === entryKey.ownRevoked()))
      for (const replica of nodeState.mailboxes.replicasOf(child)) markDirty(t, 'child', replica);
    nodeState.replicas.received(t, { child }, changes);
    if (changes.length === 0) return;
    reports().pass(t, child, changes);
    guard().fromBelow(t, child, changes);
    down.receivedFromChild(t, child, changes);
    up.receivedFromChild(t, child, changes);
    t.announce(childReportTopic, { child, changes });
  }
}
