import { describe, expect, it } from 'vitest';
import type { RolloutStep } from '../../../../core/rollout/controller.ts';
import { noCounts } from '../../../../core/rollout/part.ts';
import type { ReleaseAttributes } from '../../../../core/rollout/release.ts';
import { initialState } from '../../../../core/rollout/state.ts';
import { emptyPartial } from '../../../../core/summary/partial.ts';
import { placementStatus } from '../../../../relay/gather/status/placement-status.ts';
import { progressing, rolloutBelow, rolloutStatus } from '../../../../relay/rollout/status.ts';

const state = { ...initialState(1, '[]', 0, { revision: 1, release: 0 }), release: 3, held: 1, wave: 0 };
const outcome = (some: Partial<RolloutStep>): RolloutStep => ({
  state,
  message: 'words',
  counts: noCounts,
  asks: [],
  ...some,
});

describe('the status of a rollout', () => {
  it('shows the state of the release, with the connected destinations of its waves', () => {
    const counts = { expected: 9, fresh: 7, exposed: 5, available: 4, failed: 1 };
    const soaking = { ...state, phase: 'Soaking' as const };
    expect(rolloutStatus(outcome({ state: soaking, wave: { name: 'half', number: 2, of: 3 }, counts }))).toEqual({
      release: 3,
      phase: 'Soaking',
      wave: 'half',
      message: 'words',
      expected: 7,
      exposed: 5,
      available: 4,
      failed: 1,
    });
    expect(rolloutStatus(outcome({}))).toEqual({ release: 3, phase: 'Promoted', message: 'words' });
  });

  it.each([
    ['Progressing', undefined, 'True', 'Progressing'],
    ['WaitingForGate', undefined, 'True', 'WaitingForGate'],
    ['Promoted', undefined, 'True', 'Promoted'],
    ['Paused', undefined, 'Unknown', 'Paused'],
    ['Paused', 'ProgressDeadlineExceeded', 'False', 'ProgressDeadlineExceeded'],
    ['RolledBack', 'ErrorBudgetSpent', 'False', 'ErrorBudgetSpent'],
  ] as const)('as a condition, at %s (%s), is %s with reason %s', (phase, stop, status, reason) => {
    const stopped = stop === undefined ? {} : { stopped: { reason: stop, message: 'm' } };
    const condition = progressing(outcome({ state: { ...state, phase, ...stopped } }));
    expect(condition).toEqual({ type: 'Progressing', status, reason, message: 'words' });
  });

  it('goes with the strategy: no condition is left', () => {
    const before = placementStatus(emptyPartial(1, 1), [], 'now', outcome({})).conditions;
    expect(before.map(({ type }) => type)).toContain('Progressing');
    const after = placementStatus(emptyPartial(2, 2), before, 'now');
    expect(after.conditions.map(({ type }) => type)).not.toContain('Progressing');
    expect(after.rollout).toBeUndefined();
  });
});

describe('a release below its origin', () => {
  const release: ReleaseAttributes = {
    refs: ['shop'],
    release: 3,
    number: 3,
    salt: 'uid/3',
    wave: 1,
    halted: false,
    waves: [],
    drawn: null,
    errorBudget: '10%',
    lease: 1,
    authorizationSeconds: 60,
    expected: 9,
    target: 7,
    promotedTarget: 5,
    held: 1,
    digest: '',
  };
  const here = { isWhole: true, exposed: 2, ageMs: 1_000 };

  it.each([
    ['promoted', { held: 0 }, {}, 'Promoted', 'release 3 is promoted'],
    [
      'taken back',
      { rolledBack: true },
      {},
      'RolledBack',
      'rolled back: every destination gets the objects that were promoted before',
    ],
    ['stopped', { halted: true }, {}, 'Paused', 'handed to 2 agents of this node; halted by the origin'],
    ['not begun', { wave: -1 }, {}, 'Progressing', 'no wave is authorised yet'],
    ['under way', {}, {}, 'Progressing', 'handed to 2 agents of this node; authorised up to wave 2'],
    [
      'not all here',
      {},
      { isWhole: false },
      'Progressing',
      'waits for the rest of the release: until then, agents keep what they have',
    ],
    [
      'no longer authorised',
      {},
      { ageMs: 61_400 },
      'Progressing',
      'handed to 2 agents of this node; authorised up to wave 2, and no further: no report of the origin for more than 60 s (spec.rollout.authorizationSeconds)',
    ],
    [
      'not authorised since a start',
      {},
      { ageMs: undefined },
      'Progressing',
      'handed to 2 agents of this node; authorised up to wave 2, and no further: no report of the origin since the start of this node',
    ],
  ] as const)('that is %s is shown as such', (_, of, at, phase, message) => {
    const exposed = 2;
    expect(rolloutBelow({ ...release, ...of }, { ...here, ...at })).toEqual({ release: 3, exposed, phase, message });
  });
});
