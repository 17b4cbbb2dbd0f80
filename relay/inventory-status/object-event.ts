/**
 * Writes Events about an object when a condition of the object changes. There is one Event for each reason, step and object, and the Event counts repetitions,
 * as the Events of Kubernetes' own recorders do. The object owns its Events, so they are deleted with the object.
 */
import type { Space } from '../../core/apiserver/space.ts';
import { timestamp } from '../../core/object/conditions.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';

export interface ObjectEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** Names one of several steps with the same reason, for example a wave. Steps have Events of their own, so the message of a step is never replaced. */
  readonly step?: string;
  /** `banyan.io/placement` */
  readonly component: string;
}

/** Events of cluster-scoped objects are in this namespace, as in Kubernetes. */
const namespace = 'default';
/** Limit for the part of an Event's name before the hash. A Kubernetes name has at most 253 characters. */
const stemMax = 220;
/** https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/ allows 1024 bytes in `note`; `message` is the old name of this field. */
const messageMax = 1_000;

/** Returns the reason if the Event was not written: for example, the namespace was deleted. The condition has the same text, so nothing is lost. */
export function writeEvent(space: Space, of: KubeObject, what: ObjectEvent, wallMs: number): string | undefined {
  const event = eventOf(of, what, wallMs);
  try {
    const existing = space.get(space.keyOf(event));
    if (!existing) {
      space.create({ ...event, count: 1, firstTimestamp: event.lastTimestamp });
      return undefined;
    }
    const count = ((existing.count as number | undefined) ?? 0) + 1;
    // Older clients read `count` and `lastTimestamp`, newer ones read `series`.
    const series = { count, lastObservedTime: event.eventTime };
    space.update({ ...existing, message: event.message, lastTimestamp: event.lastTimestamp, count, series });
    return undefined;
  } catch (error) {
    if (!(error instanceof BanyanError)) throw error;
    return describeError(error);
  }
}

function eventOf({ apiVersion, kind, metadata }: KubeObject, what: ObjectEvent, wallMs: number): KubeObject {
  const { name = '', uid = '' } = metadata;
  const { type, reason, message, component, step } = what;
  const hash = Buffer.from(hash128(step === undefined ? `${uid} ${reason}` : `${uid} ${reason} ${step}`))
    .toString('hex')
    .slice(0, 16);
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {
      name: `${name.slice(0, stemMax).replace(/[^a-z0-9]+$/, '')}.${hash}`,
      namespace,
      ownerReferences: [{ apiVersion, kind, name, uid }],
    },
    involvedObject: { apiVersion, kind, name, uid },
    type,
    reason,
    message: message.slice(0, messageMax),
    source: { component: 'banyan' },
    reportingComponent: component,
    reportingInstance: 'banyan',
    action: reason,
    // This field has microseconds.
    eventTime: new Date(wallMs).toISOString().replace('Z', '000Z'),
    lastTimestamp: timestamp(wallMs),
  };
}
