/** The rooms of the way up: they merge the reports of the children, and report the result to the parent. */

import { placementResource } from '../../core/apiserver/kinds/edge-placement.ts';
import { type EntryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import { type PlacementId, splitPlacementId } from '../../core/entries/placement-id.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import { Egress } from '../../core/runtime/egress.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import type { DestinationCounts } from '../../core/summary/partial.ts';
import type { NodeConfig } from '../config/config.ts';
import { AggregateWriter } from '../gather/aggregates/aggregate-writer.ts';
import { Aggregates, aggregateName } from '../gather/aggregates/aggregates.ts';
import { AgeRewrites } from '../gather/status/age-rewrites.ts';
import { FailingExpressions } from '../gather/status/failing-expressions.ts';
import { Gather } from '../gather/status/gather.ts';
import { exactRate, StatusReporter } from '../gather/status/reporter.ts';
import { Slices } from '../gather/status/slices.ts';
import { StatusWriter } from '../gather/status/status-writer.ts';
import { SubtreeSlices } from '../gather/status/subtree-slices.ts';
import { reportedBefore } from '../gather/summaries/reported-before.ts';
import { SummaryRoom } from '../gather/summaries/summary-room.ts';
import { passUpsynced, recountUpsynced, type UpsyncedPorts } from '../gather/upsynced.ts';
import type { MoveStore } from '../moves/move-store.ts';
import { Controllers } from '../rollout/controllers.ts';
import { askWebhook } from '../rollout/webhook.ts';
import { Views } from '../views/views.ts';
import {
  atChild,
  byPlacement,
  type MadeObject,
  type PlacementAtChild,
  shownTopic,
  splitAtChild,
} from '../work/topics.ts';
import type { Downsync } from './downsync.ts';
import type { NodePorts } from './node-ports.ts';
import type { LateParts, NodeState } from './node-state.ts';

export class StatusAggregation {
  readonly gather: Gather;
  readonly rollouts: Controllers;
  readonly aggregates: Aggregates;
  readonly #aggregateWriter: AggregateWriter;
  readonly statuses: StatusWriter;
  readonly reporter: StatusReporter;
  /** The reporters of single objects. Their keys are names of aggregates. */
  readonly #aggregateReporter: StatusReporter;
  readonly #exactReporter: StatusReporter;
  readonly #ages: AgeRewrites;
  readonly slices: Slices;
  readonly summaries: SummaryRoom;
  readonly views: Views;
  readonly #ports: NodePorts;
  readonly #nodeState: NodeState;
  readonly #moves: MoveStore;

  constructor(config: NodeConfig, ports: NodePorts, nodeState: NodeState, lateParts: LateParts, down: Downsync) {
    this.#ports = ports;
    this.#nodeState = nodeState;
    this.#moves = down.moves;
    const { store, clock, log, defer } = ports;
    const { lookups } = nodeState;
    this.gather = new Gather({
      ...lookups,
      connection: (child) => lateParts.connection(child),
      isRefused: (reader, child, keyHash) =>
        nodeState.mailboxes.get(child)?.consumer.get(reader, keyHash)?.poisoned === true,
      moves: down.moves,
      restoreBarrier: down.restoreBarrier,
      replicas: nodeState.replicas,
      heldBack: (id, child) => down.customization.failures(id, child),
      rollouts: down.exposures,
    });
    const egress = new Egress(config.egress);
    this.rollouts = new Controllers({
      store,
      clock,
      origins: () => nodeState.spaces.origins(),
      total: (t, id) => this.gather.total(t, id),
      ask: (webhook, question) => askWebhook(webhook, question, egress),
    });
    const failed = (error: unknown) => lateParts.failed(error);
    this.aggregates = this.#makeAggregates(lateParts, down);
    const aggregated = { ...lookups, store, clock, log, outbox: nodeState.outbox, aggregates: this.aggregates };
    this.#aggregateWriter = new AggregateWriter({
      ...aggregated,
      isRolledBack: (id) => down.exposures.isRolledBack(id),
    });
    const report = (names: readonly string[]) => this.#aggregateWriter.write(names);
    this.#aggregateReporter = new StatusReporter({ clock, defer, report, failed });
    this.#exactReporter = new StatusReporter({ clock, defer, rate: exactRate, report, failed });
    this.statuses = new StatusWriter({
      ...lookups,
      store,
      clock,
      log,
      gather: this.gather,
      outbox: nodeState.outbox,
      expressions: new FailingExpressions(config.path, lookups.children),
      unresolved: (id) => this.summaries.unresolved(id),
      rolloutOf: (id) => this.rollouts.outcome(id),
      isRolledBack: (id) => down.exposures.isRolledBack(id),
      rolloutBelow: (reader, id) => down.exposures.below(reader, id),
    });
    this.reporter = new StatusReporter({
      clock,
      defer,
      isUrgent: (id) => this.statuses.hasBecomeComplete(id),
      report: (ids) => this.report(ids),
      failed,
    });
    this.#ages = new AgeRewrites(clock, (id) => this.reporter.mark(id));
    this.summaries = this.#makeSummaries(config.path, lateParts, down);
    const sliced = {
      ...lookups,
      path: config.path,
      expected: (id: PlacementId, child: string) => this.gather.expected(id, child),
    };
    const subtreeSlices = new SubtreeSlices({ ...sliced, store });
    this.slices = new Slices({ ...sliced, clock, elsewhere: (id) => subtreeSlices.placementChanged(id) });
    this.views = this.#makeViews(config.path, subtreeSlices);
  }

  start(): void {
    const { placements, outbox } = this.#nodeState;
    const before = this.#ports.store.read((reader) => reportedBefore(reader, outbox));
    for (const { id } of placements.all()) this.#mark(id);
    for (const id of before.placements) this.reporter.mark(id);
    this.summaries.start(before.summaries);
    this.aggregates.start([...before.aggregates, ...this.#aggregateWriter.written()]);
  }

  stop(): void {
    this.reporter.stop();
    this.aggregates.stop();
    this.#aggregateReporter.stop();
    this.#ages.stop();
    this.#exactReporter.stop();
    this.rollouts.stop();
    this.slices.stop();
    this.summaries.stop();
  }

  // ---------------------------------------------------------------------------------------------- what has changed

  /** Call it when this node's own part of the status of these placements has changed. */
  ownContributionsChanged(ids: Iterable<PlacementId>): void {
    for (const id of ids) this.reporter.mark(id);
  }

  /** Call it when the scheduler has processed these placements, or only these children of placements. */
  placementsScheduled(keys: Iterable<PlacementId | PlacementAtChild>): void {
    for (const [id, children] of byPlacement(keys)) {
      if (children) {
        this.#ports.store.read((reader) => {
          for (const child of children) this.gather.childChanged(reader, id, child);
        });
        this.summaries.placementChangedWith(id, children);
        this.aggregates.placementChangedWith(id, children);
      } else {
        const changed = this.#refresh(id);
        this.summaries.placementChanged(id);
        this.aggregates.placementChanged(id);
        if (changed.length > 0) this.aggregates.placementChangedWith(id, changed);
      }
      this.#mark(id);
    }
  }

  /** Makes the sums of the placement anew. Returns its children that now add other numbers of destinations. */
  #refresh(id: PlacementId): string[] {
    const before = this.gather.contributionsOf(id);
    this.#ports.store.read((reader) => this.gather.refresh(reader, id));
    const after = this.gather.contributionsOf(id);
    // A child that waited for its copy in a move was no child of the placement, and may have left with the move.
    const children = new Set([...before.keys(), ...after.keys()]);
    return [...children].filter((child) => !samePlace(before.get(child), after.get(child)));
  }

  /** Call it when the contributions of these children to these placements may have changed. */
  contributionsChanged(keys: ReadonlySet<PlacementAtChild>): void {
    if (keys.size === 0) return;
    const contributions = Array.from(keys, splitAtChild);
    this.#ports.store.read((reader) => {
      for (const { id, child } of contributions) this.#contributionChanged(reader, id, child);
    });
    for (const { id } of contributions) this.reporter.mark(id);
  }

  #contributionChanged(reader: Reader, id: PlacementId, child: string): void {
    const before = this.gather.contribution(id, child)?.counts;
    const isOther = this.gather.childChanged(reader, id, child);
    const isAgent = this.#nodeState.lookups.children.get(child)?.role === 'agent';
    if (isOther) this.slices.mark(id);
    // The counts of a relay change with each of its reports. Its own reports about objects say which objects are concerned.
    if (isOther || (isAgent && !samePlace(before, this.gather.contribution(id, child)?.counts)))
      this.aggregates.placementChangedWith(id, [child]);
  }

  /** Runs in the transaction that applies reports of a child. */
  receivedFromChild(t: Transaction, child: string, changes: readonly AppliedChange[]): void {
    passUpsynced(t, this.#upsynced, child, changes);
  }

  /** Call it when the reports of the child have begun or ceased to count. Returns the placements whose sums may have changed. */
  recount(t: Transaction, child: string): PlacementId[] {
    recountUpsynced(t, this.#upsynced, child, this.#nodeState.lookups.pathOf(child));
    t.afterCommit(() => {
      this.summaries.recount(child);
      this.aggregates.childChanged(child);
    });
    // These are the placements in the child's mailbox, and the placements of moves: of those, the child may still have to remove an old copy, or may have to
    // wait for its copy.
    return [...new Set([...this.#nodeState.placements.ofChild(child), ...this.#moves.placementsOf(child)])];
  }

  get #upsynced(): UpsyncedPorts {
    const { lookups, outbox, replicas } = this.#nodeState;
    return { ...lookups, outbox, replicas, isOwn: (source) => this.#nodeState.isOrigin(source) };
  }

  /** Runs after the commit of reports of a child. Returns the placements whose sums may have changed. */
  reported(child: string, changes: readonly AppliedChange[]): ReadonlySet<PlacementId> {
    const ids = this.#affectedBy(child, changes);
    this.contributionsChanged(new Set(Array.from(ids, (id) => atChild(id, child))));
    this.summaries.reportedChanged(child, changes);
    this.views.reportedChanged(child, changes);
    return ids;
  }

  /** Reports these placements: to the parent, in their own status, and to the clients that watch them. */
  report(ids: readonly PlacementId[]): void {
    for (const id of ids) this.rollouts.run(id);
    this.statuses.write(ids);
    this.summaries.completenessChanged(ids);
    this.#ports.store.read((reader) => {
      for (const id of ids) this.#ages.written(id, this.gather.total(reader, id)?.oldestSinceMs);
    });
    // Also those whose partial stayed: the shown status has parts that no partial has, such as the release at this relay.
    this.#ports.store.announce(shownTopic, ids.map(shownPlacement));
  }

  #mark(id: PlacementId): void {
    this.reporter.mark(id);
    this.slices.mark(id);
  }

  #affectedBy(child: string, changes: readonly AppliedChange[]): Set<PlacementId> {
    const ids = new Set<PlacementId>();
    for (const { key } of changes) {
      const entry: EntryKey | undefined = parseEntryKey(key);
      if (entry?.type === 'partial') ids.add(entry.id);
      if (entry?.type === 'state' || entry?.type === 'aggregate')
        this.aggregates.reported(child, entry.source, entry.object);
    }
    return ids;
  }

  // ------------------------------------------------------------------------------------------------------- rooms

  #makeAggregates(lateParts: LateParts, down: Downsync): Aggregates {
    const { store, clock, defer } = this.#ports;
    const { lookups, mailboxes, replicas } = this.#nodeState;
    return new Aggregates({
      ...lookups,
      store,
      clock,
      defer,
      replicas,
      connection: (child) => lateParts.connection(child),
      isRefused: (reader, child, keyHash) => mailboxes.get(child)?.consumer.get(reader, keyHash)?.poisoned === true,
      counts: (reader, id, child) => this.gather.counts(reader, id, child),
      childrenOf: (reader, id) => this.gather.childrenOf(reader, id),
      heldBack: (id, child) => down.customization.failures(id, child),
      changed: (source, object, isExact) => {
        const reporter = isExact ? this.#exactReporter : this.#aggregateReporter;
        reporter.mark(aggregateName(source, object));
      },
      failed: (error) => lateParts.failed(error),
    });
  }

  #makeSummaries(path: string, lateParts: LateParts, down: Downsync): SummaryRoom {
    const { store, clock, defer } = this.#ports;
    const { lookups, spaces, outbox } = this.#nodeState;
    return new SummaryRoom({
      ...lookups,
      store,
      clock,
      defer,
      path,
      gather: this.gather,
      outbox,
      heldBack: (id, child) => down.customization.failures(id, child),
      ownSpaces: () => [...spaces.workloads()].map(({ space }) => space),
      failed: (error) => lateParts.failed(error),
      replicas: this.#nodeState.replicas,
    });
  }

  #makeViews(path: string, slices: SubtreeSlices): Views {
    const { store, clock, random, log } = this.#ports;
    const { mailboxes, upstream } = this.#nodeState;
    return new Views({
      store,
      clock,
      random,
      log,
      mailboxes,
      upstream: upstream.sound,
      statusOf: (reader, id) => this.statuses.statusOf(reader, id),
      objectStatusOf: (source, key) => this.#aggregateWriter.statusOf(source, key),
      summaries: this.summaries.writer,
      slices,
      path,
      replicas: this.#nodeState.replicas,
    });
  }
}

/** Whether the counts say the same about where an agent stands. */
function samePlace(a: DestinationCounts | undefined, b: DestinationCounts | undefined): boolean {
  return (['expected', 'stale', 'never', 'quarantined'] as const).every((name) => a?.[name] === b?.[name]);
}

function shownPlacement(id: PlacementId): MadeObject {
  const { source, name } = splitPlacementId(id);
  return { source, key: { ...placementResource, namespace: '', name } };
}
