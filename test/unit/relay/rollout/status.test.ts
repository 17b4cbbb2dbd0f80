import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../../core/rollout/controller.ts';
import { noCounts } from '../../../../core/rollout/part.ts';
import { initialState } from '../../../../core/rollout/state.ts';
import { emptyPartial } from '../../../../core/summary/partial.ts';
import { placementStatus } from '../../../../relay/gather/placement-status.ts';
import { progressing, rolloutStatus } from '../../../../relay/rollout/status.ts';

const state = { ...initialState(1, '[]', 0), release: 3, held: 1, wave: 0 };
const outcome = (some: Partial<Outcome>): Outcome => ({ state, message: 'words', counts: noCounts, asks: [], ...some });

describe('the status of a rollout', () => {
  it('says where the release is, with the connected destinations of its waves', () => {
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
  ] as const)('is as condition, at %s (%s), %s with reason %s', (phase, stop, status, reason) => {
    const stopped = stop === undefined ? {} : { stopped: { reason: stop, message: 'm' } };
    const condition = progressing(outcome({ state: { ...state, phase, ...stopped } }));
    expect(condition).toEqual({ type: 'Progressing', status, reason, message: 'words' });
  });

  it('is gone with the strategy: no condition stays behind', () => {
    const before = placementStatus(emptyPartial(1, 1), [], 'now', outcome({})).conditions;
    expect(before.map(({ type }) => type)).toContain('Progressing');
    const after = placementStatus(emptyPartial(2, 2), before, 'now');
    expect(after.conditions.map(({ type }) => type)).not.toContain('Progressing');
    expect(after.rollout).toBeUndefined();
  });
});
