/**
 * A release over several last hops, without the wire: the controller and each last hop's LocalRelease on virtual time, with the merge of their parts between
 * them. The test decides the state of each destination.
 */
import { type GateStatus, type RolloutStep, stepRollout } from '../../../../core/rollout/controller.ts';
import type { GateResult } from '../../../../core/rollout/gates.ts';
import { LocalRelease } from '../../../../core/rollout/local.ts';
import { emptyPart, mergeParts, type RolloutPart, silentPart } from '../../../../core/rollout/part.ts';
import { type ReleaseAttributes, releaseOf } from '../../../../core/rollout/release.ts';
import type { RolloutSpec } from '../../../../core/rollout/spec.ts';
import {
  contentChanged,
  initialState,
  type RolloutState,
  specChanged,
  targetMoved,
} from '../../../../core/rollout/state.ts';

export const defaults: RolloutSpec = {
  strategy: 'Progressive',
  errorBudget: '10%',
  progressDeadlineSeconds: 1800,
  authorizationSeconds: 60,
  onFailure: 'Pause',
};

export interface SimChild {
  readonly name: string;
  readonly hop: number;
  labels: Record<string, string>;
  connected: boolean;
  /** The release of the destination; 0: the promoted objects. */
  exposed: number;
  health: 'available' | 'failed' | 'neither';
}

export class RolloutSim {
  spec: RolloutSpec;
  state: RolloutState;
  outcome!: RolloutStep;
  nowMs = 1_700_000_000_000;
  readonly children: SimChild[];
  /** Hops that receive nothing from the root: they keep the last release that they received. */
  readonly cutOff = new Set<number>();
  readonly gates = new Map<string, GateStatus>();
  readonly webhooks = new Map<string, GateResult>();
  approved: number | undefined;
  /** The state of a destination after it gets the candidate. */
  fate: (child: SimChild) => SimChild['health'] = () => 'available';
  readonly #hops = new Map<number, { seen: ReleaseAttributes; local: LocalRelease; receivedAtMs: number }>();
  #generation = 1;
  #revision = 10;

  constructor(spec: Partial<RolloutSpec>, hops: number, perHop: number) {
    this.spec = { ...defaults, ...spec };
    this.state = targetMoved(
      initialState(1, this.#plan, this.nowMs, { revision: this.#revision, release: 0 }),
      this.#revision,
    );
    this.children = Array.from({ length: hops * perHop }, (_, i) => ({
      name: `c${i}`,
      hop: i % hops,
      labels: {},
      connected: true,
      exposed: 0,
      health: 'available' as const,
    }));
    this.turn();
  }

  get #plan(): string {
    return JSON.stringify(this.spec.waves ?? []);
  }

  /** The objects change; `held` of them differ from the promoted ones. */
  edit(held = 1): void {
    this.#revision += 1;
    this.state = targetMoved(contentChanged(this.state, held, this.#revision, this.nowMs), this.#revision);
    for (const child of this.children) if (child.exposed > 0) child.health = 'neither';
  }

  change(spec: Partial<RolloutSpec>): void {
    this.spec = { ...this.spec, ...spec };
    this.#generation += 1;
    this.#revision += 1;
    this.state = specChanged(this.state, this.#generation, this.#plan, this.nowMs, this.#revision);
  }

  /** One turn of all: hops hand out, destinations settle, the root decides. */
  turn(ms = 500): void {
    this.nowMs += ms;
    const release = releaseOf('p', 'uid', this.spec, this.state, this.children.length, '');
    for (const hop of new Set(this.children.map((child) => child.hop))) this.#hop(hop, release);
    this.outcome = stepRollout(this.state, {
      nowMs: this.nowMs,
      rollout: this.spec,
      part: this.#part(release),
      expected: this.children.length,
      ...(this.approved === undefined ? {} : { approved: this.approved }),
      gateStatus: (name) => this.gates.get(name),
      webhookResult: (wave, gate) => this.webhooks.get(`${wave}/${gate}`),
    });
    this.state = this.outcome.state;
  }

  until(holds: () => boolean, turns = 500): void {
    for (let i = 0; i < turns && !holds(); i++) this.turn();
    if (!holds()) throw new Error(`did not come about: ${this.outcome.message}`);
  }

  /** Names of the destinations with the candidate of this release, or with any objects except the promoted ones. */
  exposed(): string[] {
    return this.children.filter(({ exposed }) => exposed > 0 && exposed === this.state.id).map(({ name }) => name);
  }

  #hop(index: number, sent: ReleaseAttributes): void {
    const children = this.children.filter(({ hop }) => hop === index);
    let hop = this.#hops.get(index);
    const release = this.cutOff.has(index) && hop ? hop.seen : sent;
    if (!hop || JSON.stringify(hop.seen) !== JSON.stringify(release)) {
      const isNew = !hop || hop.seen.release !== release.release || hop.seen.lease !== release.lease;
      const receivedAtMs = isNew ? this.nowMs : (hop?.receivedAtMs ?? this.nowMs);
      hop = { seen: release, local: new LocalRelease(release, this.nowMs, children.length), receivedAtMs };
      this.#hops.set(index, hop);
    }
    for (const child of children) {
      if (release.held === 0) child.exposed = release.release;
      else if (child.exposed !== release.release) child.exposed = 0;
      this.#report(hop.local, child);
    }
    if (release.held === 0 || this.nowMs - hop.receivedAtMs >= release.authorizationSeconds * 1000) return;
    for (const name of hop.local.admit(this.nowMs).children) {
      const child = children.find((one) => one.name === name)!;
      child.exposed = release.release;
      child.health = this.fate(child);
      this.#report(hop.local, child);
    }
  }

  #report(local: LocalRelease, child: SimChild): RolloutPart {
    const exposed = child.exposed > 0 && child.exposed === local.release.release;
    return local.set(child.name, {
      path: child.name,
      labels: [child.labels],
      connected: child.connected,
      exposed,
      available: exposed && child.health === 'available',
      failed: exposed && child.health === 'failed',
    });
  }

  #part(release: ReleaseAttributes): RolloutPart | undefined {
    const parts = this.children.map((child) => {
      const part = this.#report(this.#hops.get(child.hop)!.local, child);
      return this.cutOff.has(child.hop) ? { ...silentPart(part), release: release.release } : part;
    });
    const own = [...this.#hops].filter(([hop]) => !this.cutOff.has(hop)).map(([, { local }]) => local.own());
    return [...parts, ...own].reduce<RolloutPart | undefined>(mergeParts, emptyPart(release.release, 0));
  }
}
