/**
 * Tells the author of a placement, in an Event beside it, that another source has come to hold some of its objects, and that it has let go.
 * Written only when the condition `Conflicted` turns, so that it costs nothing while nothing changes.
 *
 * Bound: one Event for each of the two reasons and each placement; what happens again is counted in it. The placement owns its Events, so that they go
 * with it.
 */
import type { Space } from '../../core/apiserver/space.ts';
import { timestamp } from '../../core/object/conditions.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { Condition, KubeObject } from '../../core/object/meta.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';

/** Events of cluster-scoped objects are in this namespace, as in Kubernetes. */
const namespace = 'default';
/** Of a name's 253 characters, what the hash behind it leaves. */
const stemMax = 220;
/** https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/ allows 1024 bytes of note; message is the same field of old. */
const messageMax = 1_000;

export function tellConflict(
  space: Space,
  placement: KubeObject,
  before: readonly Condition[],
  after: readonly Condition[],
  wallMs: number,
  log: Logger,
): void {
  const now = conflictOf(after);
  if (!now || (conflictOf(before)?.status ?? 'False') === now.status) return;
  const event = eventOf(placement, now, wallMs);
  try {
    const known = space.get(space.keyOf(event));
    if (!known) {
      space.create({ ...event, count: 1, firstTimestamp: event.lastTimestamp });
      return;
    }
    const count = ((known.count as number | undefined) ?? 0) + 1;
    space.update({ ...known, message: event.message, lastTimestamp: event.lastTimestamp, count });
  } catch (error) {
    // The namespace may be gone: the condition says the same.
    if (!(error instanceof BanyanError)) throw error;
    log.debug({ placement: placement.metadata.name, reason: describeError(error) }, 'an event was not written');
  }
}

function eventOf({ apiVersion, kind, metadata }: KubeObject, condition: Condition, wallMs: number): KubeObject {
  const { name = '', uid = '' } = metadata;
  const isConflict = condition.status === 'True';
  const reason = isConflict ? 'Conflicted' : 'ConflictResolved';
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {
      name: `${name.slice(0, stemMax).replace(/[^a-z0-9]+$/, '')}.${Buffer.from(hash128(`${uid} ${reason}`))
        .toString('hex')
        .slice(0, 16)}`,
      namespace,
      ownerReferences: [{ apiVersion, kind, name, uid }],
    },
    involvedObject: { apiVersion, kind, name, uid },
    type: isConflict ? 'Warning' : 'Normal',
    reason,
    message: condition.message.slice(0, messageMax),
    source: { component: 'banyan' },
    reportingComponent: 'banyan.io/placement',
    reportingInstance: 'banyan',
    lastTimestamp: timestamp(wallMs),
  };
}

function conflictOf(conditions: readonly Condition[]): Condition | undefined {
  return conditions.find(({ type }) => type === 'Conflicted');
}
