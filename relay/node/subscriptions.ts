/**
 * Decides which part of the node acts on which change. The store calls the subscribers after each commit, in the order of this list: first the sums, then the
 * decisions that read the sums, then the sessions and the objects that show the result, and at last the loop that does the remaining work. Two kinds of rooms
 * subscribe by themselves, before this list: sessions and replicas.
 */
import { parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../core/entries/placement-id.ts';
import { heldRowsTopic, producerRowsTopic, quarantineTopic, shortageTopic } from '../../core/feed/topics.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Store } from '../../core/store/store.ts';
import { forEachOf, type Topic } from '../../core/store/topics.ts';
import { childrenOfMailboxes, childrenOfReported } from '../mailbox/mailboxes.ts';
import {
  atChild,
  authoritiesTopic,
  byPlacement,
  childRemovedTopic,
  childReportTopic,
  childShownTopic,
  childTopic,
  connectionTopic,
  contributionTopic,
  feedReadyTopic,
  metricsIssuersTopic,
  objectRowTopic,
  ownContributionTopic,
  ownNodeTopic,
  type PlacementAtChild,
  parentFeedTopic,
  recountedTopic,
  revocationsTopic,
  scheduledTopic,
  shownTopic,
  sourceRemovedTopic,
  workTopic,
} from '../work/topics.ts';
import type { NodeParts } from './node-parts.ts';

interface Subscriber {
  /** Calls `act` once a commit. */
  on<K>(topic: Topic<K>, act: (keys: ReadonlySet<K>) => void): void;
  /** Calls `act` for each key. */
  each<K>(topic: Topic<K>, act: (key: K) => void): void;
}

/** Returns functions that end the subscriptions. */
export function subscribeParts(store: Store, clock: Clock, parts: NodeParts): (() => void)[] {
  const ends: (() => void)[] = [];
  const subscriber: Subscriber = {
    on: (topic, act) => void ends.push(store.subscribe(topic, act)),
    each: (topic, act) => subscriber.on(topic, (keys) => forEachOf(keys, act)),
  };
  subscribeSums(store, clock, parts, subscriber);
  subscribeViews(parts, subscriber);
  subscribeFleets(parts, subscriber);
  subscribeMover(parts, subscriber);
  subscribeSessionsAndReports(parts, subscriber);
  subscriber.on(parentFeedTopic, () => parts.loop().wake());
  subscriber.on(workTopic, (waitsMs) => parts.loop().wakeIn(Math.min(...waitsMs)));
  return ends;
}

/**
 * Time from a revocation to the end of the sessions that it concerns. In this time, the entry with the revocations reaches a revoked relay, and the nodes below
 * it: they can't learn of it over another way, and would go on trusting whoever has the relay's key. Each hop takes some milliseconds.
 */
export const revokedEndAfterMs = 1_000;

function subscribeSums(store: Store, clock: Clock, parts: NodeParts, { on, each }: Subscriber): void {
  const { up } = parts;
  on(revocationsTopic, () => {
    parts.nodeState().readRevocationsAbove();
    parts.api().revocationsChanged();
    clock.after(revokedEndAfterMs, () => {
      parts.sessions().endRevoked();
      parts.uplink()?.endRevoked();
    });
  });
  on(authoritiesTopic, () => parts.nodeState().readAuthorities());
  on(metricsIssuersTopic, () => parts.nodeState().readMetricsIssuersAbove());
  each(childRemovedTopic, (child) => parts.down().restoreBarrier.childRemoved(child));
  on(connectionTopic, (children) => announceContributions(store, parts, children));
  on(quarantineTopic, (tables) => {
    const children = childrenOfReported(tables);
    announceContributions(store, parts, children);
    for (const child of children) up().aggregates.childChanged(child);
  });
  on(scheduledTopic, (keys) => up().placementsScheduled(keys));
  on(contributionTopic, (keys) => up().contributionsChanged(keys));
  each(connectionTopic, (child) => up().aggregates.childChanged(child));
  each(objectRowTopic, (key) => up().aggregates.rowChanged(key));
  each(childTopic, (child) => up().summaries.placeChanged(child));
  on(ownContributionTopic, (ids) => up().ownContributionsChanged(ids));
}

function subscribeViews({ up }: NodeParts, { on, each }: Subscriber): void {
  on(parentFeedTopic, (changes) => up().views.upstreamChanged([...changes]));
  each(shownTopic, ({ source, key }) => up().views.changed(source, key));
  each(sourceRemovedTopic, (source) => up().views.sourceRemoved(source));
  on(producerRowsTopic, (tables) => {
    forEachOf(childrenOfMailboxes(tables), (child) => up().views.mailboxChanged(child));
  });
  each(childRemovedTopic, (child) => {
    up().views.mailboxChanged(child);
    up().views.reportersChanged(child);
  });
  each(recountedTopic, (child) => up().views.reportersChanged(child));
}

function subscribeFleets({ fleet }: NodeParts, { on, each }: Subscriber): void {
  on(producerRowsTopic, (tables) => {
    forEachOf(childrenOfMailboxes(tables), (child) => fleet().fleets.mailboxChanged(child));
  });
  each(childReportTopic, ({ child, changes }) => fleet().fleets.reportedChanged(child, changes));
  each(childRemovedTopic, (child) => fleet().fleets.childRemoved(child));
  each(sourceRemovedTopic, (source) => fleet().fleets.sourceRemoved(source));
  each(recountedTopic, (child) => fleet().fleets.countedChanged(child));
  on(childTopic, (children) => fleet().fleets.childrenRead(children));
  each(connectionTopic, (child) => {
    fleet().questions.connectionChanged(child);
    fleet().fleets.connectionChanged(child);
  });
}

/** The mover decides again, because new sums may allow a grant. */
function subscribeMover(parts: NodeParts, { on, each }: Subscriber): void {
  const { up, down } = parts;
  const decide = (keys: Iterable<PlacementId | PlacementAtChild>): void =>
    forEachOf(byPlacement(keys).keys(), (id) => down().mover.decide(id));
  each(childReportTopic, ({ child, changes }) => {
    for (const { key } of changes) {
      const entry = parseEntryKey(key);
      if (entry?.type === 'gone') down().mover.letGo(entry.id, child);
    }
    for (const id of up().reported(child, changes)) down().mover.reported(id, child);
  });
  for (const topic of [scheduledTopic, ownContributionTopic, contributionTopic]) on(topic, decide);
}

function subscribeSessionsAndReports(parts: NodeParts, { on, each }: Subscriber): void {
  const { sessions, reports, guard } = parts;
  each(childTopic, (child) => parts.readiness().childRead(child));
  each(childRemovedTopic, (child) => parts.readiness().childRemoved(child));
  on(feedReadyTopic, (children) => sessions().readyChanged(children));
  each(childRemovedTopic, (child) => guard().childRemoved(child));
  each(childRemovedTopic, (child) => sessions().disconnect(child, 'it was removed from the inventory'));
  on(heldRowsTopic, () => guard().heldChanged());
  on(quarantineTopic, (tables) => {
    if (tables.has(parts.nodeState().upstream.name)) guard().quarantineChanged();
    for (const child of childrenOfReported(tables)) guard().childQuarantineChanged(child);
  });
  on(shortageTopic, (tables) => {
    for (const child of childrenOfReported(tables)) guard().childShortageChanged(child);
  });
  each(connectionTopic, (child) => reports().connectionChanged(child));
  on(producerRowsTopic, (tables) => reports().childrenChanged(childrenOfMailboxes(tables)));
  each(childReportTopic, ({ child }) => reports().childrenChanged([child]));
  for (const topic of [feedReadyTopic, childTopic, childShownTopic])
    on(topic, (children) => reports().childrenChanged(children));
  on(ownNodeTopic, () => reports().wake());
}

/** Announces that the contributions of these children to all their placements may have changed. */
function announceContributions(store: Store, { nodeState }: NodeParts, children: Iterable<string>): void {
  const { placements } = nodeState();
  const keys = Array.from(children, (child) => Array.from(placements.ofChild(child), (id) => atChild(id, child)));
  store.announce(contributionTopic, keys.flat());
}
