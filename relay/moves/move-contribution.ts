/** What a child adds to a placement's move here, put to what it adds to the counts. */

import type { MoveRow } from '../../core/move/move.ts';
import { agentPart, countsAs, emptyMovePart, isOver, mergeMoveParts, relayPart } from '../../core/move/move-part.ts';
import type { PlacementTarget } from '../../core/summary/contribution.ts';
import { emptyPartial, type Partial } from '../../core/summary/partial.ts';
import type { Placement } from '../placements/placement.ts';
import type { MoveCounter } from './move-store.ts';

export interface MovingChild {
  readonly role: 'relay' | 'agent';
  readonly path: string;
  readonly row: MoveRow | undefined;
  /** The last that it told and that could be read. */
  readonly reported: Partial | undefined;
  /** What it has told since could not be read: what it runs by now is not known. */
  readonly refused: boolean;
  readonly connected: boolean;
  /** Of an agent: see handed.ts; absent when something of it is held back here. */
  readonly handed: PlacementTarget | undefined;
}

/** `counted`: by core/summary/contribution.ts. An old copy counts as leaving and as nothing else. */
export function withMove(placement: Placement, child: MovingChild, counted: Partial): Partial {
  const { move } = placement;
  if (!move || !placement.target) return counted;
  // What the counts are of: not always the placement's own target, see `wanted` of relay/rollout/exposure.ts.
  const { generation, target } = counted;
  const { role, path, row, reported, refused, connected } = child;
  if (role === 'agent') {
    const base = made(countsAs(row), counted, emptyPartial(generation, target));
    return { ...base, move: agentPart(move, row, serves(child), path) };
  }
  const view = {
    part: reported?.move,
    reported: reported !== undefined || refused,
    current: !refused && reported?.generation === generation && reported.target === target,
    connected,
    mayRun: refused || (reported !== undefined && (reported.counts.expected > 0 || !isOver(reported.move))),
    path,
  };
  return { ...counted, move: relayPart(move.order, view) };
}

function serves({ reported, refused, handed, connected }: MovingChild): boolean {
  if (!connected || refused || !reported || !handed) return false;
  if (reported.generation !== handed.generation || reported.target !== handed.target) return false;
  return reported.counts.available > 0;
}

function made(as: 'reported' | 'never' | 'nothing', counted: Partial, empty: Partial): Partial {
  if (as === 'reported') return counted;
  return as === 'nothing' ? empty : { ...empty, counts: { ...empty.counts, expected: 1, never: 1 } };
}

/** The node's own share, put to the total of its children. */
export function withOwnCounter(placement: Placement, counter: MoveCounter, total: Partial): Partial {
  // Without a target nothing of the children is counted yet, and a sequence must not be told without what it is the sequence of.
  if (!placement.move || !placement.target) return total;
  const empty = emptyMovePart(placement.move.order);
  const overdue = counter.generation === placement.move.generation ? counter.overdue : 0;
  return { ...total, move: mergeMoveParts(total.move ?? empty, { ...empty, sequence: counter.base, overdue }) };
}
