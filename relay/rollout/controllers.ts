/**
 * Runs all rollouts of this node's own placements, at their origin. It runs core/rollout/controller.ts whenever something has changed that may matter, writes
 * the decision in one transaction, and wakes the controller when the next step is due. The state of the rollout has everything that a restart needs. The
 * answers of webhooks are only in memory: after a restart, the webhooks are asked again.
 */
import { edgeGroup } from '../../core/apiserver/kinds/edge-placement.ts';
import type { Space } from '../../core/apiserver/space.ts';
import { type PlacementId, placementId, splitPlacementId } from '../../core/entries/placement-id.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import {
  approveAnnotation,
  type ControllerInput,
  type GateStatus,
  type RolloutStep,
  stepRollout,
} from '../../core/rollout/controller.ts';
import type { GateResult } from '../../core/rollout/gates.ts';
import { type RolloutSpec, type Webhook, wavesOf } from '../../core/rollout/spec.ts';
import type { RolloutState } from '../../core/rollout/state.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { Store, Transaction } from '../../core/store/store.ts';
import type { Partial } from '../../core/summary/partial.ts';
import { ownContributionTopic } from '../work/topics.ts';
import type { Baseline, StagedPlacement } from './baseline.ts';

export interface RolloutOrigin {
  readonly source: string;
  readonly space: Space;
  readonly baseline: Baseline;
}

export interface ControllersPorts {
  readonly store: Store;
  readonly clock: Clock;
  origins(): Iterable<RolloutOrigin>;
  total(t: Transaction, id: PlacementId): Partial | undefined;
  ask(webhook: Webhook, question: object): Promise<GateResult>;
}

export const gateResource = { group: edgeGroup, resource: 'rolloutgates' } as const;
/** After a negative answer, the webhook is asked again after this time: often enough for a person who waits, and not too often for the server that answers. */
const askAgainMs = 5_000;

interface GateQuestion {
  result?: GateResult;
  timer?: Timer;
}

export class Controllers {
  readonly #ports: ControllersPorts;
  readonly #outcomes = new Map<PlacementId, RolloutStep>();
  readonly #timers = new Map<PlacementId, Timer>();
  /** Keyed by placement, then by the key of `keyOf`: the questions to the webhooks of the placement's present wave. */
  readonly #questions = new Map<PlacementId, Map<string, GateQuestion>>();
  /** Keyed by source: ends the subscription to the space. */
  readonly #followed = new Map<string, () => void>();
  #stopped = false;

  constructor(ports: ControllersPorts) {
    this.#ports = ports;
    this.followOrigins();
  }

  /** Call it when a space was opened or removed. */
  followOrigins(): void {
    const { origins, store } = this.#ports;
    const sources = new Set<string>();
    for (const { source, space, baseline } of origins()) {
      sources.add(source);
      if (this.#followed.has(source)) continue;
      const unsubscribe = space.storage.subscribe((events) => {
        const isGate = ({ key }: { key: { resource: string } }) => key.resource === gateResource.resource;
        if (!events.some(({ object }) => isGate(object))) return;
        const ids = Array.from(baseline.names(), (name) => placementId(source, name));
        store.announce(ownContributionTopic, ids);
      });
      this.#followed.set(source, unsubscribe);
    }
    for (const [source, unsubscribe] of this.#followed) {
      if (sources.has(source)) continue;
      unsubscribe();
      this.#followed.delete(source);
    }
  }

  stop(): void {
    this.#stopped = true;
    for (const unsubscribe of this.#followed.values()) unsubscribe();
    for (const timer of this.#timers.values()) timer.stop();
    for (const questions of this.#questions.values()) for (const { timer } of questions.values()) timer?.stop();
  }

  outcome(id: PlacementId): RolloutStep | undefined {
    return this.#outcomes.get(id);
  }

  run(id: PlacementId): void {
    const { source, name } = splitPlacementId(id);
    const origin = [...this.#ports.origins()].find((one) => one.source === source);
    const staged = origin?.baseline.staged(name);
    this.#timers.get(id)?.stop();
    if (!origin || !staged) {
      this.#forget(id);
      return;
    }
    const outcome = this.#ports.store.write((t) => this.#decide(t, id, origin, staged));
    if (!outcome) return;
    this.#outcomes.set(id, outcome);
    this.#follow(id, staged, outcome);
  }

  #decide(
    t: Transaction,
    id: PlacementId,
    { space, baseline }: RolloutOrigin,
    { annotations, rollout }: StagedPlacement,
  ): RolloutStep | undefined {
    const { name } = splitPlacementId(id);
    const state = baseline.state(t, name);
    if (!state) return undefined;
    const partial = this.#ports.total(t, id);
    const expected = partial?.counts.expected ?? 0;
    const approved = Number(annotations[approveAnnotation]);
    const input: ControllerInput = {
      nowMs: this.#ports.clock.wallMs(),
      rollout,
      part: partial?.rollout,
      expected,
      ...(Number.isInteger(approved) ? { approved } : {}),
      gateStatus: (gate) => gateStatus(space, gate),
      webhookResult: (wave, gate) => {
        const webhook = webhookOf(rollout, wave, gate);
        return webhook && this.#questions.get(id)?.get(keyOf(state.id, wave, gate, webhook))?.result;
      },
    };
    const outcome = stepRollout(state, input);
    const wasHeld = state.held > 0;
    if (wasHeld && outcome.state.held === 0) baseline.promote(t, name, outcome.state, expected);
    else if (outcome.state !== state || wasHeld) baseline.write(t, name, outcome.state, expected);
    return outcome;
  }

  #follow(id: PlacementId, staged: StagedPlacement, outcome: RolloutStep): void {
    const { clock } = this.#ports;
    const { state, wakeAtMs } = outcome;
    const { rollout } = staged;
    const questions = this.#questions.get(id);
    // A wave may no longer wait at its gates, because the rollout is paused or the wave is not complete any more. Then its answers are forgotten, and the
    // webhooks are asked again when the wave is at its gates again.
    const present = state.phase === 'WaitingForGate' ? keysOf(rollout, state) : [];
    for (const [key, question] of questions ?? []) {
      if (present.includes(key)) continue;
      question.timer?.stop();
      questions?.delete(key);
    }
    for (const { wave, gate } of outcome.asks) {
      const webhook = webhookOf(rollout, wave, gate);
      if (webhook) this.#ask(id, webhook, keyOf(state.id, wave, gate, webhook));
    }
    if (wakeAtMs === undefined) this.#timers.delete(id);
    else
      this.#timers.set(
        id,
        clock.after(Math.max(0, wakeAtMs - clock.wallMs()), () => this.#announce(id)),
      );
  }

  /** Asks once, and again some time after each negative answer. Each question has the counts of its time. */
  #ask(id: PlacementId, webhook: Webhook, key: string): void {
    const { clock, ask } = this.#ports;
    const questions = this.#questions.get(id) ?? new Map<string, GateQuestion>();
    this.#questions.set(id, questions);
    if (questions.has(key)) return;
    const question: GateQuestion = {};
    questions.set(key, question);
    const askNow = async (): Promise<void> => {
      question.result = await ask(webhook, this.#questionOf(id));
      if (this.#stopped || questions.get(key) !== question) return;
      this.#announce(id);
      if (!question.result.passed) question.timer = clock.after(askAgainMs, () => void askNow());
    };
    void askNow();
  }

  /** Announces that the placement has to be reported again. The node runs the rollout with that report. */
  #announce(id: PlacementId): void {
    this.#ports.store.announce(ownContributionTopic, [id]);
  }

  #questionOf(id: PlacementId): object {
    const { source, name } = splitPlacementId(id);
    const { state, wave, counts } = this.#outcomes.get(id)!;
    return { placement: name, source, release: state.release, wave: wave?.name ?? '', summary: counts };
  }

  #forget(id: PlacementId): void {
    this.#outcomes.delete(id);
    this.#timers.delete(id);
    const questions = this.#questions.get(id);
    for (const { timer } of questions?.values() ?? []) timer?.stop();
    // An answer that arrives after this finds no question, and is dropped.
    questions?.clear();
    this.#questions.delete(id);
  }
}

function webhookOf(rollout: RolloutSpec, wave: number, gate: number): Webhook | undefined {
  return wavesOf(rollout)[wave]?.gates?.[gate]?.webhook;
}

/**
 * The key contains the webhook's definition, because people may change a gate while a wave waits for it. So the answer of the old webhook does not open a gate
 * with a new webhook.
 */
function keyOf(release: number, wave: number, gate: number, webhook: Webhook): string {
  return `${release}/${wave}/${gate} ${stableStringify(webhook)}`;
}

function keysOf(rollout: RolloutSpec, { id, wave }: RolloutState): string[] {
  const gates = wavesOf(rollout)[wave]?.gates ?? [];
  return gates.flatMap(({ webhook }, gate) => (webhook ? [keyOf(id, wave, gate, webhook)] : []));
}

function gateStatus(space: Space, name: string): GateStatus | undefined {
  const gate = space.get({ ...gateResource, namespace: '', name });
  return gate && ((gate.status ?? {}) as GateStatus);
}
