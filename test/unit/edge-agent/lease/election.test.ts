import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import {
  candidate,
  durationMs,
  type ElectionState,
  holds,
  isOfAnother,
  nextElectionTickMs,
  releasedLeaseMs,
  renewDeadlineMs,
  renewMs,
  stepElection,
} from '../../../../edge-agent/lease/election.ts';
import type { LeaseRecord } from '../../../../edge-agent/lease/lease.ts';
import { Candidate, LeaseWorld } from './lease-world.ts';

const released = { holder: '', durationMs: releasedLeaseMs };

const recordOf = (over: Partial<LeaseRecord>): LeaseRecord => ({
  version: '1',
  holder: 'b',
  durationMs,
  transitions: 3,
  handover: { path: 'eu:shop' },
  ...over,
});

/** A request and its answer at the same moment. */
function reading(record: LeaseRecord | undefined, nowMs = 0): ElectionState {
  const asked = stepElection(candidate('a', 'eu:shop', nowMs), { type: 'tick' }, nowMs);
  return stepElection(asked.state, { type: 'read', record }, nowMs).state;
}

/** A candidate that asked for the Lease at 0 and got it at `answeredMs`. */
function holder(answeredMs: number): ElectionState {
  const free = reading(recordOf(released));
  return stepElection(free, { type: 'written', record: recordOf({ version: '2', holder: 'a' }) }, answeredMs).state;
}

describe('a candidate', () => {
  test('takes a Lease at once that its holder has released, and keeps the data in it', () => {
    const asked = stepElection(candidate('a', 'eu:shop', 0), { type: 'tick' }, 0);
    const left = recordOf({ ...released, handover: { path: 'eu:shop', store: 's1' } });
    expect(stepElection(asked.state, { type: 'read', record: left }, 0).effect).toEqual({
      type: 'write',
      over: left,
      holder: 'a',
      durationMs,
      transitions: 4,
      handover: { path: 'eu:shop', store: 's1' },
    });
  });

  test('takes a Lease that has not changed for its duration, counted from when the candidate received it', () => {
    const state = reading(recordOf({}), 500);
    expect(stepElection(state, { type: 'tick' }, 500 + durationMs - 1).effect).toEqual({ type: 'read' });
    expect(stepElection(state, { type: 'tick' }, 500 + durationMs).effect).toMatchObject({
      type: 'write',
      holder: 'a',
    });
  });

  test('counts again from each change, and by the longer of its own duration and the recorded one', () => {
    let state = reading(recordOf({ durationMs: 20_000 }));
    expect(stepElection(state, { type: 'tick' }, durationMs).effect).toEqual({ type: 'read' });
    state = stepElection(state, { type: 'read', record: recordOf({ version: '2' }) }, 9_000).state;
    expect(stepElection(state, { type: 'tick' }, 9_000 + durationMs - 1).effect).toEqual({ type: 'read' });
    expect(stepElection(state, { type: 'tick' }, 9_000 + durationMs).effect).toMatchObject({ type: 'write' });
  });

  test('makes a Lease if there is none, held by nobody, and waits as long before it takes it', () => {
    const asked = stepElection(candidate('a', 'eu:shop', 0), { type: 'tick' }, 0);
    const made = stepElection(asked.state, { type: 'read', record: undefined }, 0);
    expect(made.effect).toMatchObject({ type: 'write', over: undefined, holder: '', durationMs });
    const { state } = stepElection(made.state, { type: 'written', record: recordOf({ holder: '' }) }, renewMs);
    expect(stepElection(state, { type: 'tick' }, renewMs + durationMs - 1).effect).toEqual({ type: 'read' });
    expect(stepElection(state, { type: 'tick' }, renewMs + durationMs).effect).toMatchObject({
      type: 'write',
      holder: 'a',
    });
  });

  test('does not treat a cleared Lease as a release by its holder', () => {
    const state = reading(recordOf({ holder: '' }));
    expect(stepElection(state, { type: 'tick' }, durationMs - 1).effect).toEqual({ type: 'read' });
  });

  test('asks nothing for two seconds after an unanswered request, although it may take the Lease', () => {
    const asked = stepElection(reading(recordOf({})), { type: 'tick' }, durationMs);
    expect(asked.effect).toMatchObject({ type: 'write' });
    const unanswered = stepElection(asked.state, { type: 'failed' }, durationMs + 1);
    expect([unanswered.effect, nextElectionTickMs(unanswered.state)]).toEqual([undefined, durationMs + 1 + renewMs]);
    expect(stepElection(unanswered.state, { type: 'tick' }, durationMs + 2).effect).toBeUndefined();
    expect(stepElection(unanswered.state, { type: 'tick' }, durationMs + 1 + renewMs).effect).toMatchObject({
      type: 'write',
    });
  });

  test('never takes the Lease of another agent', () => {
    const state = reading(recordOf({ ...released, handover: { path: 'eu:other' } }));
    expect(isOfAnother(state)).toBe('eu:other');
    expect(stepElection(state, { type: 'tick' }, 10 * durationMs).effect).toEqual({ type: 'read' });
  });

  test('takes the Lease of its former path if the Lease was installed for its present one, and names the former path', () => {
    const left = { path: 'eu:other', formerPaths: 'eu:shop,eu:first', store: 's1' };
    const asked = stepElection(candidate('a', 'eu:shop', 0), { type: 'tick' }, 0);
    const free = recordOf({ ...released, handover: left, installedFor: 'eu:shop' });
    expect(stepElection(asked.state, { type: 'read', record: free }, 0).effect).toMatchObject({
      type: 'write',
      handover: { path: 'eu:shop', formerPaths: 'eu:other,eu:first', store: 's1' },
    });
    const held = reading(recordOf({ holder: 'b', handover: left, installedFor: 'eu:shop' }));
    expect(stepElection(held, { type: 'tick' }, durationMs - 1).effect).toEqual({ type: 'read' });
  });

  test('that got the Lease without receiving the answer asks again before it counts as the holder', () => {
    const asked = stepElection(reading(recordOf({})), { type: 'tick' }, durationMs);
    const unanswered = stepElection(asked.state, { type: 'failed' }, durationMs + 3_000).state;
    const tried = stepElection(unanswered, { type: 'tick' }, durationMs + 3_000 + renewMs);
    const looks = stepElection(tried.state, { type: 'refused' }, 15_500);
    const mine = recordOf({ version: '2', holder: 'a' });
    const found = stepElection(looks.state, { type: 'read', record: mine }, 16_000);
    expect(holds(found.state, 16_000)).toBe(false);
    expect(found.effect).toMatchObject({ type: 'write', holder: 'a' });
  });
});

describe('a holder', () => {
  test('holds the Lease from before it asked, and gives up a fifth before anybody else may take it', () => {
    const state = holder(1_500);
    expect(holds(state, renewDeadlineMs - 1)).toBe(true);
    expect(holds(state, renewDeadlineMs)).toBe(false);
    expect(holds(holder(renewDeadlineMs + 1), renewDeadlineMs + 1)).toBe(false);
  });

  test('renews the Lease over the version that it wrote last', () => {
    const state = holder(10);
    expect(nextElectionTickMs(state)).toBe(renewMs);
    expect(stepElection(state, { type: 'tick' }, renewMs).effect).toMatchObject({
      over: { version: '2' },
      transitions: 3,
    });
  });

  test('continues after a long outage of the API server, if nobody has written the Lease meanwhile', () => {
    const late = 60_000;
    const asked = stepElection(holder(10), { type: 'tick' }, late);
    expect(holds(asked.state, late)).toBe(false);
    const state = stepElection(
      asked.state,
      { type: 'written', record: recordOf({ version: '3', holder: 'a' }) },
      late,
    ).state;
    expect(holds(state, late)).toBe(true);
  });

  test('that finds another holder has lost it for good', () => {
    const asked = stepElection(holder(10), { type: 'tick' }, 30_000);
    const looks = stepElection(asked.state, { type: 'refused' }, 30_001);
    expect(looks.effect).toEqual({ type: 'read' });
    const { state } = stepElection(looks.state, { type: 'read', record: recordOf({ version: '9' }) }, 30_002);
    expect([state.role, stepElection(state, { type: 'tick' }, 99_999).effect]).toEqual(['lost', undefined]);
  });

  test('has lost the Lease if it was deleted', () => {
    const asked = stepElection(holder(10), { type: 'tick' }, renewMs);
    const looks = stepElection(asked.state, { type: 'refused' }, renewMs);
    expect(stepElection(looks.state, { type: 'read', record: undefined }, renewMs).state.role).toBe('lost');
  });

  test('that ends holds nothing from then on, and writes this', () => {
    const ending = stepElection(holder(10), { type: 'end' }, 100);
    expect(ending.effect).toMatchObject({ type: 'write', holder: '', over: { version: '2' } });
    expect(holds(ending.state, 100)).toBe(false);
  });

  test('that ends during a renewal writes this after it', () => {
    const renewing = stepElection(holder(10), { type: 'tick' }, renewMs);
    const ending = stepElection(renewing.state, { type: 'end' }, renewMs + 1);
    expect(ending.effect).toBeUndefined();
    const renewed = recordOf({ version: '3', holder: 'a' });
    expect(stepElection(ending.state, { type: 'written', record: renewed }, renewMs + 2).effect).toMatchObject({
      holder: '',
    });
  });

  test('writes new data at once, and again if the data changed during the write', () => {
    const handedOver = stepElection(holder(10), { type: 'handOver', handover: { store: 's2' } }, 100);
    expect(handedOver.effect).toMatchObject({ handover: { store: 's2' } });
    const more = stepElection(handedOver.state, { type: 'handOver', handover: { bootCounter: 7 } }, 101);
    expect(more.effect).toBeUndefined();
    const record = recordOf({ version: '3', holder: 'a', handover: { path: 'eu:shop', store: 's2' } });
    const again = stepElection(more.state, { type: 'written', record }, 102);
    expect(again.effect).toMatchObject({ handover: { store: 's2', bootCounter: 7 } });
  });
});

describe('whatever happens to two or three candidates', () => {
  const seeds = fc.record({ seed: fc.nat(), count: fc.integer({ min: 2, max: 3 }) });

  test('no two hold it at one instant, and one does within 15 s once requests are answered', () => {
    fc.assert(
      fc.property(seeds, ({ seed, count }) => {
        const world = new LeaseWorld(new SeededRandom(seed));
        for (let number = 0; number < count; number++) new Candidate(world, number);
        const pick = (below: number) => Math.floor(world.random.fraction() * below);
        for (let round = 0; round < 40; round++) {
          world.advance(pick(6_000));
          const number = pick(count);
          const one = world.candidates[number]!;
          const what = world.random.fraction();
          if (what < 0.3) one.standStill(pick(30_000));
          else if (what < 0.4) one.restart(number);
          else if (what < 0.45) one.input({ type: 'end' });
          else if (what < 0.5) world.record = undefined;
          for (const [index, { state }] of world.candidates.entries()) {
            if (state.role === 'lost' || state.role === 'released') world.candidates[index]!.restart(index);
          }
        }
        expect(world.doubles).toEqual([]);
        world.isTroubled = false;
        world.advance(60_000);
        for (const [index, { state }] of world.candidates.entries()) {
          if (state.role === 'lost' || state.role === 'released') world.candidates[index]!.restart(index);
        }
        world.advance(15_000);
        expect(world.holders()).toHaveLength(1);
        world.candidates[world.candidates.findIndex((one) => one.holds())]!.restart(9);
        world.advance(15_000);
        expect([world.holders().length, world.doubles]).toEqual([1, []]);
      }),
      { numRuns: 60 },
    );
  });
});
