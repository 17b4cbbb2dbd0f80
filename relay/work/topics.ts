/**
 * The changes that the rooms of a node announce. A room announces in the transaction of the change, or at once when the change is not in the store;
 * relay/node/subscriptions.ts lists which room acts on each topic, and in which order. core/feed/topics.ts has the topics of the feeds.
 */
import type { PlacementId } from '../../core/entries/placement-id.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import { Topic } from '../../core/store/topics.ts';

/** The scheduler has work, or something has happened for which its idle steps wait. The key: how many ms the work may wait for more work. */
export const workTopic = new Topic<number>('work');

/** A change of the parent's feed has been applied. */
export const parentFeedTopic = new Topic<AppliedChange>('parent feed');

/** Reports of a child have been applied. */
export interface ChildReport {
  readonly child: string;
  readonly changes: readonly AppliedChange[];
}
export const childReportTopic = new Topic<ChildReport>('child report');

/** A child by name: the node has read the child anew, from the inventory or from the child's report. */
export const childTopic = new Topic<string>('child');

/** A child by name: what the node shows of the child's session, mailbox or report may have changed. */
export const childShownTopic = new Topic<string>('child shown');

/** A child by name: its session began or ended. */
export const connectionTopic = new Topic<string>('connection');

/** A child by name: whether the child may receive its feed, or whether the feed is complete, may have changed. */
export const feedReadyTopic = new Topic<string>('feed ready');

/** A child by name: the child was removed from the inventory, and its mailbox with it. */
export const childRemovedTopic = new Topic<string>('child removed');

/** A child by name: whether its reports count in the sums of this node may have changed. */
export const countedTopic = new Topic<string>('counted');

/** What the node's own Node object shows may have changed. The key is always `self`. */
export const ownNodeTopic = new Topic<'self'>('own node');

/** A placement whose children, target or existence may have changed with any child. */
export const placementTopic = new Topic<PlacementId>('placement');

/** A placement at one child (`atChild`): whether the child has the placement may have changed. */
export const bindingTopic = new Topic<PlacementAtChild>('binding');

/** A placement at one child (`atChild`): what the child adds to the sums of the placement may have changed. */
export const contributionTopic = new Topic<PlacementAtChild>('contribution');

/** A placement whose status may have changed by something that this node itself adds. */
export const ownContributionTopic = new Topic<PlacementId>('own contribution');

/** An object that this node makes for the read-only space of a source above. */
export interface MadeObject {
  readonly source: string;
  readonly key: ObjectKey;
}
export const shownTopic = new Topic<MadeObject>('shown object');

/** Both names in one string, so that two announcements of the same pair are one key. Neither name has a blank. */
export type PlacementAtChild = `${PlacementId} ${string}`;

export function atChild(id: PlacementId, child: string): PlacementAtChild {
  return `${id} ${child}`;
}

export function splitAtChild(key: PlacementAtChild): { readonly id: PlacementId; readonly child: string } {
  const [id, child] = key.split(' ') as [PlacementId, string];
  return { id, child };
}
