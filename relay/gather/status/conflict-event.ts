/**
 * Tells the author of a placement, in an Event beside it, that another source has come to hold some of its objects, and that it has let go.
 * Written only when the condition `Conflicted` turns, so that it costs nothing while nothing changes.
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
  const now = conflictOf(after);
  if (!now || (conflictOf(before)?.status ?? 'False') === now.status) return;
  const isConflict = now.status === 'True';
  const type = isConflict ? 'Warning' : 'Normal';
  const reason = isConflict ? 'Conflicted' : 'ConflictResolved';
  const event = { type, reason, message: now.message, component: 'banyan.io/placement' } as const;
  const refused = writeEvent(space, placement, event, wallMs);
  if (refused) log.debug({ placement: placement.metadata.name, reason: refused }, 'an event was not written');
}

function conflictOf(conditions: readonly Condition[]): Condition | undefined {
  return conditions.find(({ type }) => type === 'Conflicted');
}
