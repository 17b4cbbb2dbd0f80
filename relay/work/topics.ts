/**
 * The changes that the rooms of a node announce. A room announces in the transaction of the change, or at once when the change is not in the store;
 * relay/node/subscriptions.ts lists which room acts on each topic, and in which order. core/feed/topics.ts has the topics of the feeds.
 */
import type { PlacementId } from '../../core/entries/placement-id.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import { Topic } from '../../core/store/topics.ts';

/** The scheduler has work, or something has happened for which its idle steps wait. The key is the number of ms for which the work may wait for more work. */
export const workTopic = new Topic<number>('work');

/** A change of the parent's feed has been applied. */
export const parentFeedTopic = new Topic<AppliedChange>('parent feed');

/** Reports of a child have been applied. */
export interface ChildReport {
  readonly child: string;
  readonly changes: readonly AppliedChange[];
}
export const childReportTopic = new Topic<ChildReport>('child report');

/** The name of a child that the node has read again, from the inventory or from the child's report. */
export const childTopic = new Topic<string>('child');

/** The name of a child whose session, mailbox or report may have changed: the objects that show them may have to change. */
export const childShownTopic = new Topic<string>('child shown');

/** The name of a child whose session began or ended. */
export const connectionTopic = new Topic<string>('connection');

/** The name of a child for which one of two answers may have changed: whether the child may receive its feed, and whether the feed is complete. */
export const feedReadyTopic = new Topic<string>('feed ready');

/** The name of a child that was removed from the inventory, together with its mailbox. */
export const childRemovedTopic = new Topic<string>('child removed');

/** The source of a space of this node, or of a node above, that was removed. */
export const sourceRemovedTopic = new Topic<string>('source removed');

/** The name of a child whose reports may have begun or ceased to count in the sums of this node. */
export const countedTopic = new Topic<string>('counted');

/** The name of a child whose reports the node has begun or ceased to count: the node has added up its sums again. */
export const recountedTopic = new Topic<string>('recounted');

/** Users of this node or of the nodes above were revoked, or no longer are. The key is always `self`. */
export const revocationsTopic = new Topic<'self'>('revocations');

/** The parent, or at the center a person, has named other authorities of nodes. The key is always `self`. */
export const authoritiesTopic = new Topic<'self'>('authorities');

/** The nodes above whose tokens for metrics are good have changed, or their accounts. The key is always `self`. */
export const metricsIssuersTopic = new Topic<'self'>('metrics issuers');

/** The node's own Node object may have to change. The key is always `self`. */
export const ownNodeTopic = new Topic<'self'>('own node');

/**
 * A placement that the scheduler has processed: it may have been added, changed or removed, or its children or target may have changed. Or a placement at one
 * child (`atChild`): that child may have got or lost the placement.
 */
export const scheduledTopic = new Topic<PlacementId | PlacementAtChild>('scheduled');

/** A placement at one child (`atChild`): the child's contribution to the sums of the placement may have changed. */
export const contributionTopic = new Topic<PlacementAtChild>('contribution');

/** A placement whose status may have changed because of a part that this node itself adds. */
export const ownContributionTopic = new Topic<PlacementId>('own contribution');

/** The entry key of an object row that has changed in its source. */
export const objectRowTopic = new Topic<string>('object row');

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

/** The children of each placement in the keys. Undefined: a key names the placement alone, which includes each of its children. */
export function byPlacement(
  keys: Iterable<PlacementId | PlacementAtChild>,
): ReadonlyMap<PlacementId, ReadonlySet<string> | undefined> {
  const found = new Map<PlacementId, Set<string> | undefined>();
  for (const key of keys) {
    const [id, child] = key.split(' ') as [PlacementId, string?];
    const children = found.get(id);
    if (child === undefined) found.set(id, undefined);
    else if (children) children.add(child);
    else if (!found.has(id)) found.set(id, new Set([child]));
  }
  return found;
}
