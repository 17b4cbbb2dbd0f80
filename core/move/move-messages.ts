/** Texts about a move, for the status of its placement. */
import type { NewCondition } from '../object/conditions.ts';
import { awaitedOf, heldCopies, type MovePart } from './move-part.ts';

export interface MovingStatus {
  readonly strategy: string;
  readonly leaving: number;
  readonly joining: number;
  readonly overdue?: number;
  readonly until?: string;
}

export function movingStatus(part: MovePart): MovingStatus {
  return {
    strategy: part.order,
    leaving: part.leaving,
    joining: part.joining,
    ...(part.overdue > 0 ? { overdue: part.overdue } : {}),
    ...(heldCopies(part) > 0 && part.untilMs !== undefined ? { until: new Date(part.untilMs).toISOString() } : {}),
  };
}

/** The condition `Moving`. Without a part, the placement's strategy is None. */
export function movingCondition(part: MovePart | undefined): NewCondition {
  const type = 'Moving';
  if (!part)
    return { type, status: 'False', reason: 'None', message: 'spec.move.strategy is None: old copies go at once' };
  if (heldCopies(part) > 0) {
    return { type, status: 'True', reason: part.order, message: `${waiting(part)}, until ${deadlineOf(part)}` };
  }
  if (part.overdue > 0) {
    const message = `${countOf(part.overdue, 'destination')} went on at the deadline, without the other side of the move`;
    return { type, status: 'False', reason: 'DeadlinePassed', message };
  }
  return { type, status: 'False', reason: 'NothingHeld', message: 'no copy waits for another one' };
}

/** Text for held copies, for example `1 old copy waits for us:nyc:store-3 to be available`. */
function waiting(part: MovePart): string {
  const held = heldCopies(part);
  const verb = held === 1 ? 'waits' : 'wait';
  if (part.order === 'BreakBeforeMake') {
    return `${copies(held, 'new')} ${verb} for ${awaited(part, 'old destinations')} to remove the old copy`;
  }
  return `${copies(held, 'old')} ${verb} for ${awaited(part, 'a new one')} to be available`;
}

function awaited(part: MovePart, unknown: string): string {
  if (part.waitsFor.length === 0) return unknown;
  const more = awaitedOf(part) + part.unknown - part.waitsFor.length;
  return `${part.waitsFor.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function copies(count: number, which: 'old' | 'new'): string {
  return `${count} ${which} ${count === 1 ? 'copy' : 'copies'}`;
}

function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** The time of the deadline, for example `12:03:10Z`. */
function deadlineOf({ untilMs }: MovePart): string {
  return untilMs === undefined ? 'the deadline' : `${new Date(untilMs).toISOString().slice(11, 19)}Z`;
}
