/** The rooms of the way down: they decide what each child gets, and when. */

import { parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import { authorizationAgeMs } from '../../core/rollout/authority.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import { childAhead } from '../catch-up/child-ahead.ts';
import { ChildCatchUpGate } from '../catch-up/child-catch-up-gate.ts';
import { type MissingFromChildPorts, missingFromChild } from '../catch-up/missing-from-child.ts';
import { Customization } from '../customize/customization.ts';
import type { Aggregates } from '../gather/aggregates/aggregates.ts';
import type { Gather } from '../gather/status/gather.ts';
import type { SummaryRoom } from '../gather/summaries/summary-room.ts';
import { dropUpsynced } from '../gather/upsynced.ts';
import { askedKeys } from '../mailbox/asked-rows.ts';
import { MoveStore } from '../moves/move-store.ts';
import { Mover } from '../moves/mover.ts';
import { RestoreBarrier } from '../moves/restore-barrier.ts';
import { Exposures } from '../rollout/exposure.ts';
import { HandedReleases } from '../rollout/handed.ts';
import { OtherHistories } from '../rollout/other-histories.ts';
import type { OutgoingStage } from '../schedule/outgoing.ts';
import { Scheduler } from '../schedule/schedule.ts';
import { workTopic } from '../work/topics.ts';
import { PoisonWorkGuard } from '../work/work-guard.ts';
import { customizations } from './metrics.ts';
import type { NodePorts } from './node-ports.ts';
import type { LateParts, NodeState } from './node-state.ts';

/** The parts of the way up that the way down uses. */
export interface StatusBelow {
  readonly gather: Pick<Gather, 'total' | 'contribution'>;
  readonly summaries: Pick<SummaryRoom, 'summarizerChanged' | 'stage'>;
  readonly aggregates: Pick<Aggregates, 'stage'>;
}

export class Downsync {
  readonly customization: Customization;
  readonly exposures: Exposures;
  readonly #otherHistories = new OtherHistories();
  readonly childCatchUpGate: ChildCatchUpGate;
  readonly moves: MoveStore;
  readonly mover: Mover;
  readonly restoreBarrier: RestoreBarrier;
  /** Quarantines pieces of the scheduler's work that end the process. */
  readonly guard: PoisonWorkGuard;
  readonly scheduler: Scheduler;
  readonly #nodeState: NodeState;
  readonly #lateParts: LateParts;
  readonly #clock: Clock;

  /** `up` and `rootAgeMs` are called only after the node has made all its parts. */
  constructor(
    ports: NodePorts,
    nodeState: NodeState,
    lateParts: LateParts,
    up: () => StatusBelow,
    rootAgeMs: () => number,
  ) {
    const { store, clock, log, defer } = ports;
    const { lookups } = nodeState;
    this.#nodeState = nodeState;
    this.#lateParts = lateParts;
    this.#clock = clock;
    this.customization = new Customization({
      ...lookups,
      counted: (evaluated) => (evaluated ? customizations.evaluated : customizations.known).inc(),
    });
    this.exposures = new Exposures({
      ...lookups,
      store,
      clock,
      defer,
      authorizationAgeMs: (source) => authorizationAgeMs(source, nodeState.depth, rootAgeMs()),
      handed: new HandedReleases({
        ...lookups,
        hasReplicas: nodeState.replicas.hasReplicas,
        hasOtherHistory: (child) => this.#otherHistories.has(child),
      }),
    });
    this.childCatchUpGate = new ChildCatchUpGate({
      clock,
      hasReplicas: nodeState.replicas.hasReplicas,
      missing: (child) => store.read((reader) => this.#missing(reader, child)),
      raiseRevisions: (children) => store.write((t) => this.#raiseRevisions(t, children)),
      store,
    });
    this.moves = new MoveStore(clock);
    this.restoreBarrier = new RestoreBarrier({
      path: nodeState.path === '' ? 'center' : nodeState.path,
      ...lookups,
      outbox: nodeState.outbox,
      counts: (child) => nodeState.replicas.standing(child).counts,
    });
    this.mover = new Mover({
      ...lookups,
      store,
      clock,
      log,
      moveStore: this.moves,
      upstream: nodeState.upstream.sound,
      isOrigin: (source) => nodeState.isOrigin(source),
      replicas: nodeState.replicas,
      total: (reader, id) => up().gather.total(reader, id),
      contribution: (id, child) => up().gather.contribution(id, child),
      hasReceivedFromParent: () => lateParts.hasReceivedFromParent(),
      isBehindRestoreBarrier: () => this.restoreBarrier.isPending,
      enqueue: (act) => lateParts.enqueue(act),
    });
    this.guard = new PoisonWorkGuard({
      ...ports,
      build: ports.software,
    });
    this.scheduler = this.#makeScheduler(nodeState, up);
  }

  #missing(reader: Reader, child: string): string | undefined {
    const { replicas, lookups, labelSummaryAcknowledgement, childRegistry } = this.#nodeState;
    const ports: MissingFromChildPorts = {
      hasReplicas: replicas.hasReplicas,
      hasReceivedFromParent: () => this.#lateParts.hasReceivedFromParent(),
      parentHasReplicas: () => this.#lateParts.parentHasReplicas(),
      releases: (name) => this.exposures.carried.behind(reader, name),
      childAhead: (name) => childAhead(reader, lookups.reportedOf(name), this.#clock.wallMs()),
      isMatched: (name) => labelSummaryAcknowledgement.covers(reader, childRegistry.labelsOf(reader, name)),
    };
    return missingFromChild(ports, child);
  }

  #raiseRevisions(t: Transaction, children: readonly string[]): number {
    const done = this.customization.raiseRevisions(t, children, this.#nodeState.lookups.covered(t));
    if (done < children.length) t.announce(workTopic, 0);
    return done;
  }

  load(reader: Reader): void {
    this.restoreBarrier.load(reader);
    this.scheduler.load(reader);
    this.customization.load(reader);
    this.exposures.load(reader);
    this.#otherHistories.load(reader);
    this.moves.load(reader);
  }

  start(): void {
    this.mover.start();
    this.guard.start();
  }

  stop(): void {
    this.guard.stop();
    this.mover.stop();
    this.exposures.stop();
  }

  /** Runs in the transaction that applies reports of a child. */
  receivedFromChild(t: Transaction, child: string, changes: readonly AppliedChange[]): void {
    for (const { key, after } of changes) {
      const entry = parseEntryKey(key);
      if (entry?.type === 'has' && after) this.exposures.carried.reported(t, entry.id, child);
    }
  }

  /**
   * Call it when the child's copy of its feed does not match, or might not match, what this node recorded as sent. `wasRestored`: this node sent the child's
   * copy, and this node's store was restored since then.
   */
  hasOtherHistory(child: string, wasRestored: boolean): void {
    this.childCatchUpGate.beginWithOtherHistory(child);
    this.mover.hasOtherHistory(child, wasRestored);
    if (!this.#isAgent(child)) return;
    this.#lateParts.enqueue((t) => this.#otherHistories.note(t, child));
  }

  /** Call it when no work is left, and everything from above has arrived. */
  idle(): void {
    this.mover.idle();
    if (this.#otherHistories.isEmpty) return;
    this.#lateParts.enqueue((t) => this.#otherHistories.idle(t, (agent) => this.exposures.carried.shipAgain(t, agent)));
  }

  /** Call it after all idle steps, if they have made no new work. */
  allWorkedOff(): void {
    if (this.#lateParts.hasReceivedFromParent()) this.restoreBarrier.idle((act) => this.#lateParts.enqueue(act));
  }

  /** Call it when all reports that the child had at the beginning of its session are stored. */
  reportsStored(child: string): void {
    this.restoreBarrier.reportsStored(child);
    this.mover.arrived(child);
    this.childCatchUpGate.reportsStored(child);
  }

  /**
   * Call it in the case of `reportsStored`, and also when the child is not ready to report everything, but all reports that it can make are stored. A relay may
   * wait for this node before it is ready, so this node can't wait for the relay. An agent is ready as soon as its store is durable, so for an agent only
   * `reportsStored` counts.
   */
  availableReportsStored(child: string): void {
    if (this.#isAgent(child)) return;
    this.mover.arrived(child);
    this.childCatchUpGate.reportsStored(child);
  }

  #isAgent(child: string): boolean {
    return this.#nodeState.lookups.children.get(child)?.role === 'agent';
  }

  #makeScheduler({ lookups, childRegistry, mailboxes, outbox, replicas }: NodeState, up: () => StatusBelow): Scheduler {
    return new Scheduler({
      ...lookups,
      refreshChild: (t, name) => {
        const stays = childRegistry.refresh(t, name);
        this.customization.childChanged(t, name, stays);
        if (!stays) {
          if (mailboxes.replicasOf(name).length === 0) dropUpsynced(t, outbox, lookups.pathOf(name));
          else this.#lateParts.sums.placements(t, name);
          replicas.removed(t, name);
          this.#lateParts.childRemoved(t, name);
        }
        return stays;
      },
      askedChanged: (t, child) => {
        const changes = mailboxes.get(child)?.consumer.judgeAgain(t, askedKeys) ?? [];
        if (changes.length > 0) this.#lateParts.judgedAgain(t, child, changes);
      },
      auxiliaryChanged: (t, source, key) => {
        this.customization.auxiliaryChanged(t, source, key);
        up().summaries.summarizerChanged(t, source, key);
      },
      releases: this.exposures,
      stages: [this.exposures, this.customization, ...lastStages(up)],
      passage: this.mover,
      guard: this.guard,
    });
  }
}

/** The stages that only note which objects are shipped. The way up is made after the way down. */
function lastStages(up: () => StatusBelow): OutgoingStage[] {
  return [
    { outgoing: (...args) => up().summaries.stage.outgoing(...args) },
    { outgoing: (...args) => up().aggregates.stage.outgoing(...args) },
  ];
}
