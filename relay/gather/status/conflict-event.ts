/**
 * Writes an Event about a placement in two cases: another source has begun to hold some of the placement's objects, or no other source holds any of them any
 * more. An Event is written only when the condition `Conflicted` changes, so that nothing is written while nothing changes.
 */
import type { Space } from '../../../core/apiserver/space.ts';
import type { Condition, KubeObject } from '../../../core/object/meta.ts';
import type { Logger } from '../../../core/runtime/logger.ts';
import { writeEvent } from '../../inventory-status/object-event.ts';

export function reportConflict(
  space: Space,
  placement: KubeObject,
  before: readonly Condition[],
  after: readonly Condition[],
  wallMs: number,
  log: Logger,
): void {
  const conflict = conflictOf(after);
  if (!conflict || (conflictOf(before)?.status ?? 'False') === conflict.status) return;
  const isConflict = conflict.status === 'True';
  const type = isConflict ? 'Warning' : 'Normal';
  const reason = isConflict ? 'Conflicted' : 'ConflictResolved';
  const event = { type, reason, message: conflict.message, component: 'banyan.io/placement' } as const;
  const refused = writeEvent(space, placement, event, wallMs);
  if (refused) log.debug({ placement: placement.metadata.name, reason: refused }, 'an event was not written');
}

function conflictOf(conditions: readonly Condition[]): Condition | undefined {
  return conditions.find(({ type }) => type === 'Conflicted');
}
