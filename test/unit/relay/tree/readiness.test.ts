import { describe, expect, it } from 'vitest';
import { emptyLabelSummary } from '../../../../core/match/label-summary.ts';
import type { Child } from '../../../../relay/schedule/children.ts';
import { Readiness } from '../../../../relay/tree/readiness.ts';

function readiness({ relays = [] as string[], caughtUp = true } = {}) {
  const children = new Map<string, Child>();
  const told: string[] = [];
  const state = { quiet: true };
  const made = new Readiness(
    {
      children,
      relays,
      quiet: () => state.quiet,
      downChanged: () => told.push('down'),
      upChanged: () => told.push('up'),
    },
    caughtUp,
  );
  const agent = (name: string) => children.set(name, { name, role: 'agent', destinations: [] });
  const relay = (name: string, spoken: boolean) =>
    children.set(name, { name, role: 'relay', destinations: [], ...(spoken ? { labels: emptyLabelSummary } : {}) });
  return { made, told, state, agent, relay };
}

describe('readiness', () => {
  it('is nobody’s before the parent’s state has arrived and been worked off', () => {
    const { made, agent } = readiness({ caughtUp: false });
    agent('till');
    made.idle();
    expect([made.down('till'), made.up, made.notReady()]).toEqual([false, false, 'waiting for the parent']);
    made.caughtUp();
    expect(made.down('till')).toBe(false);
    made.idle();
    expect([made.down('till'), made.up, made.notReady()]).toEqual([true, true, undefined]);
  });

  it('is not for a relay that has not said yet what is below it, and is for its siblings', () => {
    const { made, agent, relay } = readiness({ relays: ['paris'] });
    agent('till');
    relay('paris', false);
    made.idle();
    expect([made.down('till'), made.down('paris')]).toEqual([true, false]);
  });

  it('goes up when every relay that is known beforehand has spoken, not earlier', () => {
    const { made, relay, told } = readiness({ relays: ['berlin', 'paris'] });
    relay('berlin', true);
    made.idle();
    expect([made.up, told]).toEqual([false, ['down']]);
    relay('paris', true);
    made.idle();
    expect([made.up, told]).toEqual([true, ['down', 'down', 'up']]);
  });

  it('waits while something is left to schedule', () => {
    const { made, agent, state } = readiness();
    agent('till');
    state.quiet = false;
    made.idle();
    expect(made.down('till')).toBe(false);
    state.quiet = true;
    made.idle();
    expect(made.down('till')).toBe(true);
  });

  it('is told once', () => {
    const { made, agent, told } = readiness();
    agent('till');
    made.idle();
    made.idle();
    expect(told).toEqual(['down', 'up']);
  });
});
