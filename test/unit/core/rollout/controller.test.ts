import { describe, expect, it } from 'vitest';
import type { RolloutSpec } from '../../../../core/rollout/spec.ts';
import { RolloutSim } from './rollout-sim.ts';

const ratio = { name: 'most', expression: 'available/expected >= 0.99' };
const canary: Partial<RolloutSpec> = {
  waves: [
    { name: 'canary', fraction: 0.1, soakSeconds: 10, gates: [ratio] },
    { name: 'half', fraction: 0.5, soakSeconds: 10, gates: [ratio] },
    { name: 'all', fraction: 1 },
  ],
};

/** Each phase and wave on the way, once. */
function course(sim: RolloutSim, end: (sim: RolloutSim) => boolean): string[] {
  const seen: string[] = [];
  sim.until(() => {
    const { wave, state } = sim.outcome;
    const at = wave ? `${wave.number}/${wave.of} ${wave.name} ${state.phase}` : state.phase;
    if (seen.at(-1) !== at) seen.push(at);
    return end(sim);
  });
  return seen;
}
const isPromoted = (sim: RolloutSim) => sim.state.phase === 'Promoted';
const isPaused = (sim: RolloutSim) => sim.state.phase === 'Paused';

describe('a release in waves', () => {
  it('goes to a tenth, to half, to all, with a soak after each, and is promoted then', () => {
    const sim = new RolloutSim(canary, 10, 30);
    sim.edit();
    expect(course(sim, isPromoted)).toEqual([
      'Promoted',
      'Progressing',
      '1/3 canary Progressing',
      '1/3 canary Soaking',
      '2/3 half Progressing',
      '2/3 half Soaking',
      '3/3 all Progressing',
      'Promoted',
    ]);
    expect(sim.children.every(({ exposed }) => exposed === sim.state.id)).toBe(true);
    expect(sim.outcome.message).toBe('release 1 is promoted');
  });

  it('never reaches a destination of a later wave before the earlier wave has passed', () => {
    const sim = new RolloutSim(canary, 10, 30);
    sim.edit();
    sim.until(() => sim.state.phase === 'Soaking');
    const first = sim.exposed();
    expect(Math.abs(first.length - 30)).toBeLessThan(20);
    sim.until(() => sim.state.wave === 1 && sim.state.phase === 'Soaking');
    expect(sim.exposed()).toEqual(expect.arrayContaining(first));
    expect(Math.abs(sim.exposed().length - 150)).toBeLessThan(45);
  });

  it('reports its state and what it waits for', () => {
    const sim = new RolloutSim(
      { waves: [{ name: 'one', count: 10, soakSeconds: 60, gates: [{ rolloutGate: 'threat' }] }] },
      2,
      20,
    );
    sim.edit();
    sim.turn();
    expect(sim.outcome.message).toBe('begins when no object has changed for 1 s');
    sim.until(() => sim.state.phase === 'Soaking');
    expect(sim.outcome.message).toMatch(/^wave 1\/2 'one': 10 of 10 available, soaks until \d\d:\d\d:\d\dZ$/);
    sim.until(() => sim.state.phase === 'WaitingForGate');
    expect(sim.outcome.message).toBe(
      `wave 1/2 'one': 10 of 10 available, waits for gate 'threat' (there is no RolloutGate "threat")`,
    );
  });

  it('soaks again, and not longer, when the clock was set back', () => {
    const sim = new RolloutSim(
      { waves: [{ name: 'one', count: 10, soakSeconds: 60 }], progressDeadlineSeconds: 600 },
      2,
      20,
    );
    sim.edit();
    sim.until(() => sim.state.phase === 'Soaking');
    sim.nowMs -= 3_400_000;
    sim.turn();
    expect([sim.state.phase, sim.outcome.wakeAtMs]).toEqual(['Soaking', sim.nowMs + 20_000]);
    expect(sim.state.doneAtMs).toBe(sim.nowMs);
    const fromMs = sim.nowMs;
    sim.until(() => sim.state.wave === 1);
    expect(sim.nowMs - fromMs).toBeGreaterThanOrEqual(60_000);
    expect(sim.nowMs - fromMs).toBeLessThan(90_000);
  });

  it('is one release for all objects that are written together, and hands out none before they have settled', () => {
    const sim = new RolloutSim({}, 1, 4);
    for (let held = 1; held <= 3; held++) {
      sim.edit(held);
      sim.turn(300);
      expect(sim.exposed()).toEqual([]);
    }
    expect(sim.state.release).toBe(1);
  });

  it('starts anew, as another release with other first destinations, when the objects change meanwhile', () => {
    const sim = new RolloutSim(canary, 10, 30);
    sim.edit();
    sim.until(() => sim.state.phase === 'Soaking');
    const before = sim.exposed();
    sim.edit(2);
    expect([sim.state.release, sim.state.wave]).toEqual([2, -1]);
    sim.until(() => sim.state.phase === 'Soaking');
    expect(sim.exposed()).not.toEqual(before);
    sim.until(() => isPromoted(sim));
  });

  it('ends when the objects equal the promoted ones again', () => {
    const sim = new RolloutSim(canary, 2, 30);
    sim.edit();
    sim.until(() => sim.state.phase === 'Soaking');
    sim.edit(0);
    expect(sim.state.phase).toBe('Promoted');
    sim.turn();
    expect(sim.outcome.wave).toBeUndefined();
  });

  it('skips a wave without destinations', () => {
    const waves = [{ name: 'none', selector: { matchLabels: { ring: 'x' } }, soakSeconds: 600, gates: [ratio] }];
    const sim = new RolloutSim({ waves }, 1, 10);
    sim.edit();
    expect(course(sim, isPromoted)).not.toContain('1/2 none Soaking');
  });

  it('applies a count exactly', () => {
    const sim = new RolloutSim({ waves: [{ name: 'three', count: 3, soakSeconds: 10 }] }, 5, 20);
    sim.edit();
    sim.until(() => sim.state.phase === 'Soaking');
    expect(sim.exposed()).toHaveLength(3);
  });

  it('with two sides waits between them until somebody approves this release', () => {
    const side = (color: string) => ({ name: color, selector: { matchLabels: { color } } });
    const sim = new RolloutSim({ strategy: 'BlueGreen', waves: [side('blue'), side('green')] }, 2, 10);
    sim.children.forEach((child, i) => {
      child.labels = { color: i < 10 ? 'blue' : 'green' };
    });
    sim.edit();
    sim.until(() => sim.state.phase === 'WaitingForApproval');
    expect(sim.outcome.message).toContain('waits for the annotation edge.banyan.io/approve: "1"');
    expect(sim.exposed()).toEqual(sim.children.slice(0, 10).map(({ name }) => name));
    sim.approved = 7;
    sim.turn(7_200_000);
    expect(sim.state.phase).toBe('WaitingForApproval');
    sim.approved = 1;
    sim.until(() => isPromoted(sim));
  });
});

describe('a release that fails', () => {
  it('at the second wave is paused within its error budget, with the first wave as it was', () => {
    const sim = new RolloutSim({ ...canary, errorBudget: 20 }, 10, 30);
    sim.edit();
    sim.until(() => sim.state.phase === 'Soaking');
    const first = sim.exposed();
    sim.fate = () => 'failed';
    sim.until(() => isPaused(sim));
    expect(sim.state.stopped?.reason).toBe('ErrorBudgetSpent');
    expect(sim.outcome.message).toContain(
      "paused: wave 2/3 'half': 20 destinations fail; the error budget is 20 of 300",
    );
    for (let i = 0; i < 50; i++) sim.turn();
    const failed = sim.children.filter(({ health }) => health === 'failed');
    // Each of the ten last hops has a share of two: no more than the budget.
    expect(failed).toHaveLength(20);
    expect(sim.exposed()).toEqual(expect.arrayContaining(first));
    expect(first.every((name) => sim.children.find((child) => child.name === name)!.health === 'available')).toBe(true);
  });

  it('is stopped by each last hop when its share of the budget is used up, before the root knows', () => {
    const sim = new RolloutSim({ errorBudget: '10%' }, 1, 30);
    sim.fate = () => 'failed';
    sim.edit();
    sim.until(() => sim.state.wave === 0);
    sim.cutOff.add(0);
    for (let i = 0; i < 20; i++) sim.turn();
    expect(sim.exposed().length).toBeLessThanOrEqual(3);
  });

  it('is rolled back everywhere if the placement says so, as a release of its own, until something changes', () => {
    const sim = new RolloutSim({ ...canary, onFailure: 'Rollback' }, 10, 30);
    sim.edit();
    sim.until(() => sim.state.phase === 'Soaking');
    sim.fate = () => 'failed';
    sim.until(() => sim.state.phase === 'RolledBack');
    for (let i = 0; i < 50; i++) sim.turn();
    expect([sim.state.release, sim.state.phase, sim.exposed()]).toEqual([2, 'RolledBack', []]);
    expect(sim.children.every(({ exposed }) => exposed === 0)).toBe(true);
    sim.fate = () => 'available';
    sim.edit();
    sim.until(() => isPromoted(sim));
    expect(sim.state.release).toBe(3);
  });

  it('that a failure paused continues when the placement changes, and starts anew when the objects change', () => {
    const sim = new RolloutSim({ errorBudget: 1 }, 1, 10);
    sim.fate = () => 'failed';
    sim.edit();
    sim.until(() => isPaused(sim));
    sim.fate = () => 'available';
    for (const child of sim.children) if (child.health === 'failed') child.health = 'available';
    sim.change({ errorBudget: 2 });
    sim.until(() => isPromoted(sim));
    expect(sim.state.release).toBe(1);
  });

  it('without an error reaches its progress deadline', () => {
    const sim = new RolloutSim({ progressDeadlineSeconds: 60 }, 1, 10);
    sim.fate = () => 'neither';
    sim.edit();
    sim.until(() => isPaused(sim));
    expect(sim.state.stopped).toMatchObject({ reason: 'ProgressDeadlineExceeded' });
    expect(sim.outcome.message).toContain("wave 1/1 'rest': no progress for 60 s; handed to 1");
  });

  it('counts the deadline from the last progress, not from the start', () => {
    const sim = new RolloutSim({ progressDeadlineSeconds: 60, maxUnavailable: 1 }, 1, 10);
    sim.fate = () => 'neither';
    sim.edit();
    sim.until(() => sim.state.wave === 0);
    for (let i = 0; i < 10; i++) {
      sim.turn(40_000);
      for (const child of sim.children) child.health = 'available';
    }
    sim.until(() => isPromoted(sim));
  });
});

describe('gates', () => {
  const gated = (gate: object) =>
    new RolloutSim({ progressDeadlineSeconds: 60, waves: [{ name: 'a', count: 2, gates: [gate] }] }, 1, 4);

  it('of another program are awaited, and must name this release and wave', () => {
    const sim = gated({ rolloutGate: 'threat' });
    sim.edit();
    sim.until(() => sim.state.phase === 'WaitingForGate');
    sim.gates.set('threat', {});
    sim.turn();
    expect(sim.outcome.message).toContain('nobody has written its status for release 1, wave a');
    sim.gates.set('threat', { phase: 'Passed', release: 7 });
    sim.turn();
    expect(sim.state.phase).toBe('WaitingForGate');
    sim.gates.set('threat', { phase: 'Waiting', message: 'threat level is high', release: 1 });
    sim.turn();
    expect(sim.outcome.message).toContain("waits for gate 'threat' (threat level is high)");
    sim.gates.set('threat', { phase: 'Passed', release: 1, wave: 'a' });
    sim.until(() => isPromoted(sim));
  });

  it('that report a failure stop the release', () => {
    const sim = gated({ rolloutGate: 'threat' });
    sim.gates.set('threat', { phase: 'Failed', message: 'an attack' });
    sim.edit();
    sim.until(() => isPaused(sim));
    expect(sim.state.stopped).toEqual({ reason: 'GateFailed', message: "wave 1/2 'a': gate 'threat' (an attack)" });
  });

  it('that nobody writes are awaited until the progress deadline', () => {
    const sim = gated({ rolloutGate: 'threat' });
    sim.edit();
    sim.until(() => isPaused(sim));
    expect(sim.outcome.message).toContain('no progress for 60 s; waits for gate');
  });

  it('behind a webhook call it until it lets the wave pass', () => {
    const sim = gated({ webhook: { url: 'https://x', timeoutSeconds: 1 } });
    sim.edit();
    sim.until(() => sim.state.phase === 'WaitingForGate');
    expect(sim.outcome.asks).toEqual([{ wave: 0, gate: 0 }]);
    sim.webhooks.set('0/0', { passed: false, failed: false, message: 'not yet' });
    sim.turn();
    expect(sim.outcome.message).toContain("gate '1' (not yet)");
    sim.webhooks.set('0/0', { passed: true });
    sim.until(() => isPromoted(sim));
  });

  it('over counts let a wave pass that is good enough and not perfect', () => {
    const waves = [{ name: 'a', fraction: 1, gates: [{ expression: 'available/expected >= 0.9' }] }];
    const sim = new RolloutSim({ waves, errorBudget: 3 }, 1, 20);
    sim.fate = (child) => (child.name === 'c3' ? 'failed' : 'available');
    sim.edit();
    sim.until(() => isPromoted(sim));
  });
});

describe('manually', () => {
  it('a release is paused and continues where it was', () => {
    const sim = new RolloutSim(canary, 10, 30);
    sim.edit();
    sim.until(() => sim.state.phase === 'Soaking');
    const before = sim.exposed();
    sim.change({ paused: true });
    for (let i = 0; i < 20; i++) sim.turn(600_000);
    expect([sim.state.phase, sim.exposed()]).toEqual(['Paused', before]);
    expect(sim.outcome.message).toContain('paused by hand; goes on when spec.rollout.paused is false');
    sim.change({ paused: false });
    sim.until(() => isPromoted(sim));
    expect(sim.state.release).toBe(1);
  });

  it('changed waves start a release anew', () => {
    const sim = new RolloutSim(canary, 10, 30);
    sim.edit();
    sim.until(() => sim.state.wave === 1);
    sim.change({ waves: [{ name: 'quarter', fraction: 0.25 }] });
    expect([sim.state.release, sim.state.wave]).toEqual([2, -1]);
    sim.until(() => isPromoted(sim));
  });
});

describe('offline destinations', () => {
  it('block nobody, and get the promoted objects when they are back', () => {
    const sim = new RolloutSim(canary, 10, 30);
    sim.cutOff.add(3);
    for (const child of sim.children.slice(0, 30)) child.connected = false;
    sim.edit();
    sim.until(() => isPromoted(sim));
    const away = sim.children.filter(({ hop }) => hop === 3);
    expect(away.some(({ exposed }) => exposed === sim.state.id)).toBe(false);
    sim.cutOff.clear();
    sim.turn();
    expect(away.every(({ exposed }) => exposed === sim.state.id)).toBe(true);
  });

  it('are awaited anew with each release, however long they were away during an earlier one', () => {
    const sim = new RolloutSim({ waves: [{ name: 'one', count: 1 }] }, 1, 2);
    sim.edit();
    sim.until(() => sim.exposed().length === 1);
    for (const child of sim.children) child.connected = child.exposed > 0;
    sim.until(() => isPromoted(sim));
    for (const child of sim.children) child.connected = true;
    sim.turn(86_400_000);
    // Their relay restarts.
    for (const child of sim.children) child.connected = false;
    sim.edit();
    for (let i = 0; i < 60; i++) sim.turn();
    expect([sim.state.wave, sim.outcome.message]).toEqual([-1, expect.stringContaining('none of its destinations')]);
    for (const child of sim.children) child.connected = true;
    sim.turn();
    expect(sim.state.wave).toBe(0);
  });

  it('are awaited no shorter when the clock was set back', () => {
    const sim = new RolloutSim({ waves: [{ name: 'one', count: 1 }] }, 1, 2);
    for (const child of sim.children) child.connected = false;
    sim.edit();
    sim.until(() => sim.outcome.message.includes('none of its destinations'));
    sim.nowMs -= 60_000;
    sim.turn();
    expect([sim.state.wave, sim.state.awayAtMs]).toEqual([-1, sim.nowMs]);
  });

  it('below a relay that is cut off get nothing more once the authorisation has expired', () => {
    const sim = new RolloutSim({ maxUnavailable: 1, authorizationSeconds: 60 }, 2, 40);
    sim.fate = (child) => (child.hop === 1 ? 'neither' : 'available');
    sim.edit();
    sim.until(() => sim.state.wave === 0);
    sim.cutOff.add(1);
    const has = () => sim.children.filter(({ hop, exposed }) => hop === 1 && exposed > 0).length;
    for (let i = 0; i < 130; i++) sim.turn();
    const expired = has();
    for (const child of sim.children) child.health = 'available';
    for (let i = 0; i < 20; i++) sim.turn();
    expect(has()).toBe(expired);
    expect(expired).toBeLessThan(40);
  });
});

describe('authorisations', () => {
  it('are renewed three times before they would expire, during a release, and not after it', () => {
    const sim = new RolloutSim({ waves: [{ name: 'a', count: 1, gates: [{ rolloutGate: 'g' }] }] }, 1, 4);
    sim.edit();
    sim.until(() => sim.state.phase === 'WaitingForGate');
    const before = sim.state.lease;
    expect(sim.outcome.wakeAtMs! - sim.nowMs).toBeLessThanOrEqual(20_000);
    for (let i = 0; i < 120; i++) sim.turn();
    expect(sim.state.lease).toBe(before + 3);
    sim.gates.set('g', { phase: 'Passed' });
    sim.until(() => isPromoted(sim));
    const after = sim.state.lease;
    for (let i = 0; i < 120; i++) sim.turn();
    expect(sim.state.lease).toBe(after);
  });
});
