import { describe, expect, it, vi } from 'vitest';
import { emptyLabelSummary } from '../../../../core/match/label-summary.ts';
import type { Child } from '../../../../relay/children/children.ts';
import { Readiness } from '../../../../relay/node/readiness.ts';

function readiness({ relays = [] as string[], caughtUp = true } = {}) {
  const children = new Map<string, Child>();
  const announced: string[] = [];
  const state = { quiet: true, elsewhere: new Set<string>() };
  const made = new Readiness(
    {
      children,
      relays: () => relays,
      quiet: () => state.quiet,
      isElsewhere: (name) => state.elsewhere.has(name),
      store: {
        announce: (_topic, names) => {
          if (names.length > 0) announced.push(`down ${names.join()}`);
        },
      },
      upChanged: () => announced.push('up'),
    },
    caughtUp,
  );
  const child = (one: Child) => {
    children.set(one.name, one);
    made.childRead(one.name);
  };
  const agent = (name: string) => child({ name, role: 'agent', destinations: [] });
  const relay = (name: string, hasReported: boolean) =>
    child({
      name,
      role: 'relay',
      destinations: [],
      hasReportedLabels: hasReported,
      ...(hasReported ? { labels: emptyLabelSummary } : {}),
    });
  return { made, children, announced, state, agent, relay };
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

  it('is nobody’s, the parent included, when the parent shows that the store was restored', () => {
    const { made, agent, announced } = readiness({ caughtUp: true });
    agent('till');
    made.idle();
    expect([made.down('till'), made.up]).toEqual([true, true]);
    made.storeRestoredPerParent();
    made.idle();
    expect([made.down('till'), made.up]).toEqual([false, false]);
    made.caughtUp();
    // Not false: the node first has to work off what arrived.
    expect(made.up).toBe(undefined);
    made.idle();
    expect([made.down('till'), made.up]).toEqual([true, true]);
    // In the next session the parent may show it again. But the node has received what the parent has.
    made.storeRestoredPerParent();
    expect([made.down('till'), made.up]).toEqual([true, true]);
    expect(announced).toEqual(['down till', 'up', 'down till', 'down till', 'up']);
  });

  it('is not given to a child with rows of another history until this run has received the parent’s feed', () => {
    const { made, agent, state, announced } = readiness({ caughtUp: true });
    agent('till');
    agent('desk');
    expect(made.hasOtherHistory('till')).toBe(true);
    made.idle();
    expect([made.down('till'), made.down('desk'), made.up]).toEqual([false, true, true]);
    made.caughtUp();
    state.quiet = false;
    made.idle();
    expect(made.down('till')).toBe(false);
    state.quiet = true;
    announced.length = 0;
    made.idle();
    expect([made.down('till'), announced]).toEqual([true, ['down till']]);
    expect([made.hasOtherHistory('desk'), made.down('desk')]).toEqual([false, true]);
  });

  it('is nobody’s when the store was restored, until the node has caught up again', () => {
    const { made, agent, announced } = readiness({ caughtUp: true });
    agent('till');
    made.idle();
    made.storeRestored();
    made.idle();
    expect([made.down('till'), made.notReady()]).toEqual([false, 'waiting for the parent']);
    made.caughtUp();
    made.idle();
    expect(made.down('till')).toBe(true);
    expect(announced.filter((one) => one === 'down till')).toHaveLength(3);
  });

  it('stays if the node has caught up in this run before it learns of the restore', () => {
    const { made, agent } = readiness({ caughtUp: true });
    agent('till');
    made.caughtUp();
    made.idle();
    made.storeRestored();
    expect(made.down('till')).toBe(true);
  });

  it('is not given to a relay that has not reported what is below it, and is given to other children', () => {
    const { made, agent, relay } = readiness({ relays: ['paris'] });
    agent('till');
    relay('paris', false);
    made.idle();
    expect([made.down('till'), made.down('paris')]).toEqual([true, false]);
  });

  it('goes up when every relay in the configuration has reported, not earlier', () => {
    const { made, relay, announced } = readiness({ relays: ['berlin', 'paris'] });
    relay('berlin', true);
    made.idle();
    expect([made.up, announced]).toEqual([false, ['down berlin', 'up']]);
    relay('paris', true);
    made.idle();
    expect([made.up, announced]).toEqual([true, ['down berlin', 'up', 'down paris', 'up']]);
  });

  it('is not known before the work of the last run is done, and is false after a restore until the parent’s feed has arrived', () => {
    const { made } = readiness({ caughtUp: true });
    expect(made.up).toBe(undefined);
    made.storeRestoredPerParent();
    expect(made.up).toBe(false);
    made.caughtUp();
    expect(made.up).toBe(undefined);
    made.idle();
    expect(made.up).toBe(true);
  });

  it('waits while the scheduler has work', () => {
    const { made, agent, state } = readiness();
    agent('till');
    state.quiet = false;
    made.idle();
    expect(made.down('till')).toBe(false);
    state.quiet = true;
    made.idle();
    expect(made.down('till')).toBe(true);
  });

  it('is announced once', () => {
    const { made, agent, announced } = readiness();
    agent('till');
    made.idle();
    made.idle();
    expect(announced).toEqual(['down till', 'up']);
  });

  it('is checked again only for children that were read anew, however many there are', () => {
    const { made, children, agent, announced } = readiness();
    for (let i = 0; i < 1_000; i++) agent(`till-${i}`);
    made.idle();
    announced.length = 0;
    const [get, keys] = [vi.spyOn(children, 'get'), vi.spyOn(children, 'keys')];
    agent('last');
    for (let i = 0; i < 10; i++) made.idle();
    expect([announced, get.mock.calls, keys.mock.calls]).toEqual([['down last'], [['last']], []]);
  });
});
