import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { RolloutBench } from './rollout-bench.ts';

type Step =
  | { readonly do: 'write'; readonly name: string; readonly text: string }
  | { readonly do: 'remove'; readonly name: string }
  | { readonly do: 'customize'; readonly text: string }
  | { readonly do: 'hop'; readonly hop: string; readonly connected: boolean }
  | { readonly do: 'agent'; readonly agent: number; readonly connected: boolean }
  | { readonly do: 'restart'; readonly node: string }
  | { readonly do: 'pause'; readonly paused: boolean }
  | { readonly do: 'promote' }
  | { readonly do: 'wait'; readonly turns: number };

const hops = ['eu', 'us'];
const name = fc.constantFrom('a', 'b');
const hop = fc.constantFrom(...hops);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('write' as const), name, text: fc.constantFrom('1', '2', '3') }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), name }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('customize' as const), text: fc.constantFrom('x', 'y') }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('hop' as const), hop, connected: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('agent' as const), agent: fc.nat(5), connected: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('restart' as const), node: fc.constantFrom('origin', ...hops) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pause' as const), paused: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('promote' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('wait' as const), turns: fc.integer({ min: 1, max: 4 }) }) },
);

/** One canary, a gate that the run opens and closes, and then all destinations. */
class Run {
  readonly bench = new RolloutBench(hops, 3);
  readonly #random: SeededRandom;
  #paused = false;
  #promoting = false;
  /** Hops that have missed rows; they are checked again when they have caught up. */
  readonly #behind = new Set<string>();
  /** The object at an agent: a Customizer appends its own text to that of `b`. */
  #candidate: Record<string, string> = {};
  #written: Record<string, string> = {};
  #suffix = 'x';
  #promoted: Record<string, string> = {};

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
    this.bench.order = (keys) => {
      const drawn = keys.map((key) => [this.#random.fraction(), key] as const);
      return drawn.sort(([a], [b]) => a - b).map(([, key]) => key);
    };
    this.bench.gate('go', { phase: 'Waiting' });
    this.#customize();
    this.#place();
    this.bench.turn();
    // Rows come one by one: an agent with all of them must not lose the promoted objects even for a moment, except the canary.
    this.bench.watch = () => {
      if (!this.#promoting) expect(this.#others(this.#behind).length).toBeLessThanOrEqual(1);
    };
  }

  do(step: Step): void {
    const { bench } = this;
    switch (step.do) {
      case 'write':
        bench.write(step.name, step.text, step.name === 'b' ? 'suffix' : undefined);
        this.#written = { ...this.#written, [step.name]: step.text };
        break;
      case 'remove': {
        if (this.#written[step.name] === undefined) return;
        const { [step.name]: _gone, ...rest } = this.#written;
        bench.remove(step.name);
        this.#written = rest;
        break;
      }
      case 'customize':
        this.#suffix = step.text;
        this.#customize();
        break;
      case 'hop':
        if (!step.connected) this.#behind.add(step.hop);
        bench.connect(step.hop, step.connected);
        break;
      case 'agent':
        bench.connectAgent(bench.agents[step.agent]!, step.connected);
        break;
      case 'restart':
        if (step.node === 'origin') bench.restartOrigin();
        else bench.hops.get(step.node)!.restart();
        break;
      case 'pause':
        this.#paused = step.paused;
        this.#place();
        break;
      case 'promote':
        this.#promote();
        break;
      case 'wait':
        for (let i = 0; i < step.turns; i++) bench.turn(700);
    }
    const { a, b } = this.#written;
    this.#candidate = { ...(a === undefined ? {} : { a }), ...(b === undefined ? {} : { b: `${b}${this.#suffix}` }) };
    bench.settle();
    for (const of of hops) if (!bench.cutOff.has(of)) this.#behind.delete(of);
    // Promoted because the objects equal the former ones.
    if (same(this.#candidate, this.#promoted)) this.#promoted = this.#candidate;
    this.check();
  }

  /** Below connected hops, all destinations have the promoted objects, except at most one with the candidate. */
  check(): void {
    const others = this.#others(this.bench.cutOff);
    for (const held of others) expect(held).toEqual(this.#candidate);
    expect(others.length).toBeLessThanOrEqual(1);
  }

  /** All faults end: all destinations get the candidate. */
  end(): void {
    const { bench } = this;
    for (const of of hops) bench.connect(of, true);
    for (const agent of bench.agents) bench.connectAgent(agent, true);
    this.#promote();
    expect(bench.agents.map((agent) => bench.holds(agent))).toEqual(bench.agents.map(() => this.#candidate));
    expect(bench.kept()).toEqual([]);
  }

  #others(except: ReadonlySet<string>): Record<string, string>[] {
    const seen = this.bench.agents.filter(({ hop: of }) => !except.has(of)).map((agent) => this.bench.holds(agent));
    return seen.filter((held) => !same(held, this.#promoted));
  }

  #customize(): void {
    this.bench.customizer('suffix', `\${{ object.data.text }}${this.#suffix}`);
  }

  #place(): void {
    const waves = [{ name: 'first', count: 1, gates: [{ rolloutGate: 'go' }] }];
    this.bench.place({ strategy: 'Progressive', errorBudget: 6, waves, paused: this.#paused });
  }

  #promote(): void {
    const { bench } = this;
    this.#paused = false;
    this.#promoting = true;
    this.#place();
    bench.gate('go', { phase: 'Passed' });
    bench.settle();
    bench.until('it is promoted', () => bench.status().rollout?.phase === 'Promoted', 400);
    bench.settle();
    this.#promoted = this.#candidate;
    bench.gate('go', { phase: 'Waiting' });
    bench.settle();
    this.#promoting = false;
  }
}

function same(a: Record<string, string>, b: Record<string, string>): boolean {
  const sorted = (of: Record<string, string>) => JSON.stringify(Object.entries(of).sort());
  return sorted(a) === sorted(b);
}

/** A destination that was away when the canary was drawn comes back with a smaller position than the canary's. */
const awayWhenDrawn: Step[] = [
  { do: 'hop', hop: 'eu', connected: false },
  { do: 'write', name: 'a', text: '1' },
  { do: 'wait', turns: 2 },
  { do: 'hop', hop: 'eu', connected: true },
];

describe('a release, whatever happens meanwhile and in whatever order rows come', () => {
  it('is only at its canary before its gate opens, and everywhere in the end', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 14 }), fc.nat(), (steps, seed) => {
        const run = new Run(seed);
        for (const one of steps) run.do(one);
        run.end();
      }),
      { numRuns: 60, examples: [[awayWhenDrawn, 0]] },
    );
  });
});
