import { describe, expect, it, vi } from 'vitest';
import { emptyLabelSummary } from '../../../../core/match/label-summary.ts';
import type { Child } from '../../../../relay/children/children.ts';
import { Readiness } from '../../../../relay/node/readiness.ts';

function readiness({ relays = [] as string[], caughtUp = true } = {}) {
  const children = new Map<string, Child>();
  const told: string[] = [];
  const state = { quiet: true, elsewhere: new Set<string>() };
  const made = new Readiness(
    {
      children,
      relays,
      quiet: () => state.quiet,
      isElsewhere: (name) => state.elsewhere.has(name),
      store: {
        announce: (_topic, ...names) => {
          if (names.length > 0) told.push(`down ${names.join()}`);
        },
      },
      upChanged: () => told.push('up'),
    },
    caughtUp,
  );
  const child = (one: Child) => {
    children.set(one.name, one);
    made.childRead(one.name);
  };
  const agent = (name: string) => child({ name, role: 'agent', destinations: [] });
  const relay = (name: string, spoken: boolean) =>
    child({
      name,
      role: 'relay',
      destinations: [],
      hasReportedLabels: spoken,
      ...(spoken ? { labels: emptyLabelSummary } : {}),
    });
  return { made, children, told, state, agent, relay };
}

describe('readiness', () => {
  it('does not exist for anybody before the parent’s state has arrived and been processed', () => {
    const { made, agent } = readiness({ caughtUp: false });
    agent('till');
    made.idle();
    expect([made.down('till'), made.up, made.notReady()]).toEqual([false, false, 'waiting for the parent']);
    made.caughtUp();
    expect(made.down('till')).toBe(false);
    made.idle();
    expect([made.down('till'), made.up, made.notReady()]).toEqual([true, true, undefined]);
  });

  it('does not exist for anybody, the parent included, if the parent shows that the store was restored', () => {
    const { made, agent, told } = readiness({ caughtUp: true });
    agent('till');
    made.idle();
    expect([made.down('till'), made.up]).toEqual([true, true]);
    made.putBackBelow();
    made.idle();
    expect([made.down('till'), made.up]).toEqual([false, false]);
    made.caughtUp();
    // Not false: the received rows have to be processed first.
    expect(made.up).toBe(undefined);
    made.idle();
    expect([made.down('till'), made.up]).toEqual([true, true]);
    // The parent may show it in the next session too: the node has received the rows meanwhile.
    made.putBackBelow();
    expect([made.down('till'), made.up]).toEqual([true, true]);
    expect(told).toEqual(['down till', 'up', 'down till', 'down till', 'up']);
  });

  it('does not exist for a child with rows of another history, until the node has received from the parent in this run', () => {
    const { made, agent, state, told } = readiness({ caughtUp: true });
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
    told.length = 0;
    made.idle();
    expect([made.down('till'), told]).toEqual([true, ['down till']]);
    expect([made.hasOtherHistory('desk'), made.down('desk')]).toEqual([false, true]);
  });

  it('ends when the store was restored, until the node has caught up again', () => {
    const { made, agent, told } = readiness({ caughtUp: true });
    agent('till');
    made.idle();
    made.putBack();
    made.idle();
    expect([made.down('till'), made.notReady()]).toEqual([false, 'waiting for the parent']);
    made.caughtUp();
    made.idle();
    expect(made.down('till')).toBe(true);
    expect(told.filter((one) => one === 'down till')).toHaveLength(3);
  });

  it('stays if the node has caught up in this run before it learns of the restore', () => {
    const { made, agent } = readiness({ caughtUp: true });
    agent('till');
    made.caughtUp();
    made.idle();
    made.putBack();
    expect(made.down('till')).toBe(true);
  });

  it('does not exist for a relay that has not reported its labels yet, and exists for its replicas', () => {
    const { made, agent, relay } = readiness({ relays: ['paris'] });
    agent('till');
    relay('paris', false);
    made.idle();
    expect([made.down('till'), made.down('paris')]).toEqual([true, false]);
  });

  it('exists upwards when every configured relay has reported, not earlier', () => {
    const { made, relay, told } = readiness({ relays: ['berlin', 'paris'] });
    relay('berlin', true);
    made.idle();
    expect([made.up, told]).toEqual([false, ['down berlin', 'up']]);
    relay('paris', true);
    made.idle();
    expect([made.up, told]).toEqual([true, ['down berlin', 'up', 'down paris', 'up']]);
  });

  it('is unknown before the remaining work of the last run is done, and known to be absent before the parent was received', () => {
    const { made } = readiness({ caughtUp: true });
    expect(made.up).toBe(undefined);
    made.putBackBelow();
    expect(made.up).toBe(false);
    made.caughtUp();
    expect(made.up).toBe(undefined);
    made.idle();
    expect(made.up).toBe(true);
  });

  it('waits while scheduling work remains', () => {
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
    const { made, agent, told } = readiness();
    agent('till');
    made.idle();
    made.idle();
    expect(told).toEqual(['down till', 'up']);
  });

  it('is checked again only for children that changed, however many there are', () => {
    const { made, children, agent, told } = readiness();
    for (let i = 0; i < 1_000; i++) agent(`till-${i}`);
    made.idle();
    told.length = 0;
    const [get, keys] = [vi.spyOn(children, 'get'), vi.spyOn(children, 'keys')];
    agent('last');
    for (let i = 0; i < 10; i++) made.idle();
    expect([told, get.mock.calls, keys.mock.calls]).toEqual([['down last'], [['last']], []]);
  });
});
