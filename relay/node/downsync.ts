/** The rooms of the way down: what each child gets, and when. */

import { parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import { authorizationAgeMs } from '../../core/rollout/authority.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import { childAhead } from '../catch-up/child-ahead.ts';
import { ChildCatchUpGate } from '../catch-up/child-catch-up-gate.ts';
import { type MissingFromChildPorts, missingFromChild } from '../catch-up/missing-from-child.ts';
import { Customization } from '../customize/customization.ts';
import type { Gather } from '../gather/status/gather.ts';
import type { SummaryRoom } from '../gather/summaries/summary-room.ts';
import { dropUpsynced } from '../gather/upsynced.ts';
import { MoveStore } from '../moves/move-store.ts';
import { Mover } from '../moves/mover.ts';
import { RestoreBarrier } from '../moves/restore-barrier.ts';
import { Exposures } from '../rollout/exposure.ts';
import { HandedReleases } from '../rollout/handed.ts';
import { OtherHistories } from '../rollout/other-histories.ts';
import { Scheduler } from '../schedule/schedule.ts';
import { workTopic } from '../work/topics.ts';
import { PoisonWorkGuard } from '../work/work-guard.ts';
import { customizations } from './metrics.ts';
import type { NodePorts } from './node-ports.ts';
import type { LaterParts, NodeState } from './node-state.ts';

/** What the way down asks of the way up. */
export interface StatusBelow {
  readonly gather: Pick<Gather, 'total' | 'contribution'>;
  readonly summaries: Pick<SummaryRoom, 'summarizerChanged' | 'stage'>;
}

export class Downsync {
  readonly customization: Customization;
  readonly exposures: Exposures;
  readonly #otherHistories = new OtherHistories();
  readonly childCatchUpGate: ChildCatchUpGate;
  readonly moves: MoveStore;
  readonly mover: Mover;
  readonly restoreBarrier: RestoreBarrier;
  /** What of the scheduler's work is left alone, since it ends the process. */
  readonly guard: PoisonWorkGuard;
  readonly scheduler: Scheduler;
  readonly #nodeState: NodeState;
  readonly #later: LaterParts;
  readonly #clock: Clock;

  /** `up` and `rootAgeMs` are asked only once both ways are there, and the node. */
  constructor(
    ports: NodePorts,
    nodeState: NodeState,
    later: LaterParts,
    up: () => StatusBelow,
    rootAgeMs: () => number,
  ) {
    const { store, clock, log, defer } = ports;
    const { lookups } = nodeState;
    this.#nodeState = nodeState;
    this.#later = later;
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
      behind: (child) => store.read((reader) => this.#behind(reader, child)),
      decided: (children) => store.write((t) => this.#decided(t, children)),
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
      hasReceivedFromParent: () => later.hasReceivedFromParent(),
      isBehindRestoreBarrier: () => this.restoreBarrier.isPending,
      enqueue: (act) => later.enqueue(act),
    });
    this.guard = new PoisonWorkGuard({
      ...ports,
      build: ports.software,
    });
    this.scheduler = this.#makeScheduler(nodeState, up);
  }

  #behind(reader: Reader, child: string): string | undefined {
    const { replicas, lookups, matched, childRegistry } = this.#nodeState;
    const ports: MissingFromChildPorts = {
      hasReplicas: replicas.hasReplicas,
      hasReceivedFromParent: () => this.#later.hasReceivedFromParent(),
      parentHasReplicas: () => this.#later.parentHasReplicas(),
      releases: (name) => this.exposures.carried.behind(reader, name),
      childAhead: (name) => childAhead(reader, lookups.reportedOf(name), this.#clock.wallMs()),
      isMatched: (name) => matched.covers(reader, childRegistry.labelsOf(reader, name)),
    };
    return missingFromChild(ports, child);
  }

  #decided(t: Transaction, children: readonly string[]): number {
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

  /** In the transaction that applies what a child said. */
  fromBelow(t: Transaction, child: string, changes: readonly AppliedChange[]): void {
    for (const { key, after } of changes) {
      const entry = parseEntryKey(key);
      if (entry?.type === 'has' && after) this.exposures.carried.reported(t, entry.id, child);
    }
  }

  /** A child has of its feed what is not, or may not be, what this node knows that it told; `wasPutBack`: it told it, and its store was put back since. */
  hasOtherHistory(child: string, wasPutBack: boolean): void {
    this.childCatchUpGate.beginWithOther(child);
    this.mover.hasOtherHistory(child, wasPutBack);
    if (!this.#isAgent(child)) return;
    this.#later.enqueue((t) => this.#otherHistories.note(t, child));
  }

  /** Nothing is left to do, and all that is above is here. */
  idle(): void {
    this.mover.idle();
    if (this.#otherHistories.isEmpty) return;
    this.#later.enqueue((t) => this.#otherHistories.idle(t, (agent) => this.exposures.carried.shipAgain(t, agent)));
  }

  /** The same, after all that this led to. */
  allWorkedOff(): void {
    if (this.#later.hasReceivedFromParent()) this.restoreBarrier.idle((act) => this.#later.enqueue(act));
  }

  /** All that a child had to say when it came is stored. */
  arrived(child: string): void {
    this.restoreBarrier.heard(child);
    this.mover.arrived(child);
    this.childCatchUpGate.heard(child);
  }

  /** Or it is not ready to say all: a relay, which may wait for this node. An agent is as soon as it is durable. */
  reportedAll(child: string): void {
    if (this.#isAgent(child)) return;
    this.mover.arrived(child);
    this.childCatchUpGate.heard(child);
  }

  #isAgent(child: string): boolean {
    return this.#nodeState.lookups.children.get(child)?.role === 'agent';
  }

  #makeScheduler({ lookups, childRegistry, outbox, replicas }: NodeState, up: () => StatusBelow): Scheduler {
    return new Scheduler({
      ...lookups,
      refreshChild: (t, name) => {
        const stays = childRegistry.refresh(t, name);
        this.customization.childChanged(t, name, stays);
        if (!stays) {
          dropUpsynced(t, outbox, lookups.pathOf(name));
          replicas.removed(t, name);
        }
        return stays;
      },
      auxiliaryChanged: (t, source, key) => {
        this.customization.auxiliaryChanged(t, source, key);
        up().summaries.summarizerChanged(t, source, key);
      },
      releases: this.exposures,
      stages: [
        this.exposures,
        this.customization,
        { outgoing: (...shipped) => up().summaries.stage.outgoing(...shipped) },
      ],
      passage: this.mover,
      guard: this.guard,
    });
  }
}
