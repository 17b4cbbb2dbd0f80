/**
 * The origin's side of all rollouts of its own placements: runs core/rollout/controller.ts whenever something may matter, writes what it decides in
 * one transaction, and wakes it when something is due. Everything that must outlive the process is in the state; what is here can be asked again.
 */
import { edgeGroup } from '../../core/apiserver/kinds/edge-kinds.ts';
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
/** A webhook that says no is asked again after this: often enough for a person who waits, seldom enough for the one who answers. */
const askAgainMs = 5_000;

interface GateQuestion {
  result?: GateResult;
  timer?: Timer;
}

export class Controllers {
  readonly #ports: ControllersPorts;
  readonly #outcomes = new Map<PlacementId, RolloutStep>();
  readonly #timers = new Map<PlacementId, Timer>();
  /** Of each placement the webhooks of the wave that it is at, by what `keyOf` makes of them. */
  readonly #asked = new Map<PlacementId, Map<string, GateQuestion>>();
  readonly #unsubscribe: (() => void)[] = [];
  #stopped = false;

  constructor(ports: ControllersPorts) {
    this.#ports = ports;
    for (const { source, space, baseline } of ports.origins()) {
      const unsubscribe = space.storage.subscribe((events) => {
        const isGate = ({ key }: { key: { resource: string } }) => key.resource === gateResource.resource;
        if (!events.some(({ object }) => isGate(object))) return;
        const ids = Array.from(baseline.names(), (name) => placementId(source, name));
        ports.store.announce(ownContributionTopic, ...ids);
      });
      this.#unsubscribe.push(unsubscribe);
    }
  }

  stop(): void {
    this.#stopped = true;
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    for (const timer of this.#timers.values()) timer.stop();
    for (const asked of this.#asked.values()) for (const { timer } of asked.values()) timer?.stop();
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
        return webhook && this.#asked.get(id)?.get(keyOf(state.id, wave, gate, webhook))?.result;
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
    const asked = this.#asked.get(id);
    // What was said of a wave that is not at its gates any more, be it paused or not done again, is said anew when it is.
    const present = state.phase === 'WaitingForGate' ? keysOf(rollout, state) : [];
    for (const [key, one] of asked ?? []) {
      if (present.includes(key)) continue;
      one.timer?.stop();
      asked?.delete(key);
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

  /** Once; and again some time after each no, with what is so by then. */
  #ask(id: PlacementId, webhook: Webhook, key: string): void {
    const { clock, ask } = this.#ports;
    const known = this.#asked.get(id) ?? new Map<string, GateQuestion>();
    this.#asked.set(id, known);
    if (known.has(key)) return;
    const asked: GateQuestion = {};
    known.set(key, asked);
    const askNow = async (): Promise<void> => {
      asked.result = await ask(webhook, this.#questionOf(id));
      if (this.#stopped || known.get(key) !== asked) return;
      this.#announce(id);
      if (!asked.result.passed) asked.timer = clock.after(askAgainMs, () => void askNow());
    };
    void askNow();
  }

  /** The rollout of the placement is due: it runs with the placement's next report. */
  #announce(id: PlacementId): void {
    this.#ports.store.announce(ownContributionTopic, id);
  }

  #questionOf(id: PlacementId): object {
    const { source, name } = splitPlacementId(id);
    const { state, wave, counts } = this.#outcomes.get(id)!;
    return { placement: name, source, release: state.release, wave: wave?.name ?? '', summary: counts };
  }

  #forget(id: PlacementId): void {
    this.#outcomes.delete(id);
    this.#timers.delete(id);
    const asked = this.#asked.get(id);
    for (const { timer } of asked?.values() ?? []) timer?.stop();
    // An answer that is under way finds that nobody waits for it.
    asked?.clear();
    this.#asked.delete(id);
  }
}

function webhookOf(rollout: RolloutSpec, wave: number, gate: number): Webhook | undefined {
  return wavesOf(rollout)[wave]?.gates?.[gate]?.webhook;
}

/** With what the webhook is, since gates may be written anew while a wave waits for them: what the former one has said passes no other. */
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
