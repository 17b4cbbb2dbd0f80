/** Adds a child's part in a placement's move to the child's counts. */

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
  /** The newest report of the child that could be read. */
  readonly reported: Partial | undefined;
  /** True: the child's newest report could not be read, so nobody knows which copies the child has now. */
  readonly refused: boolean;
  readonly connected: boolean;
  /** The target that this node sent the agent last (handed.ts). Absent if this node holds back an object of the placement for the agent. */
  readonly handed: PlacementTarget | undefined;
}

/** `counted` comes from core/summary/contribution.ts. An old copy counts as leaving, and in no other count. */
export function withMove(placement: Placement, child: MovingChild, counted: Partial): Partial {
  const { move } = placement;
  if (!move || !placement.target) return counted;
  // The counts are about this target. It is not always the placement's own target: see `wanted` of relay/rollout/exposure.ts.
  const { generation, target } = counted;
  const { role, path, row, reported, refused, connected } = child;
  if (role === 'agent') {
    const base = baseCounts(countsAs(row), counted, emptyPartial(generation, target));
    return { ...base, move: agentPart(move, row, serves(child), path) };
  }
  const view = {
    part: reported?.move,
    reported: reported !== undefined || refused,
    isOfSelection: !refused && reported?.generation === generation,
    connected,
    mayRun: refused || (reported !== undefined && (reported.counts.expected > 0 || !isOver(reported.move))),
    path,
  };
  return { ...counted, move: relayPart(move.order, view) };
}

/**
 * Available objects of an older content count too. Otherwise no move would be granted while an object changes faster than the reports come. A report of this
 * selection is about all objects that the agent was sent when it got the placement.
 */
function serves({ reported, refused, handed, connected }: MovingChild): boolean {
  if (!connected || refused || !reported || !handed) return false;
  return reported.generation === handed.generation && reported.counts.available > 0;
}

function baseCounts(as: 'reported' | 'never' | 'nothing', counted: Partial, empty: Partial): Partial {
  if (as === 'reported') return counted;
  return as === 'nothing' ? empty : { ...empty, counts: { ...empty.counts, expected: 1, never: 1 } };
}

/** Adds the node's own share to the total of its children. */
export function withOwnCounter(placement: Placement, counter: MoveCounter, total: Partial): Partial {
  // Without a target, the total has no counts of the children yet. A sequence must not be reported without its counts.
  if (!placement.move || !placement.target) return total;
  const empty = emptyMovePart(placement.move.order);
  const overdue = counter.generation === placement.move.generation ? counter.overdue : 0;
  return { ...total, move: mergeMoveParts(total.move ?? empty, { ...empty, sequence: counter.base, overdue }) };
}
