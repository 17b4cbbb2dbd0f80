/** Events about what a node decides without a request to its API: joins, renewals, sessions, held deletions. */
import type { ResourceAttributes } from '../access/attributes.ts';
import { shownPath } from '../identity/node-path.ts';
import type { Clock } from '../runtime/clock.ts';
import { BanyanError, describeError, errorTable } from '../runtime/errors.ts';
import type { AuditPort } from './audit-port.ts';
import { auditPlace, auditTime, auditUser, objectRefOf, placeAnnotation } from './event.ts';
import { auditDecision } from './policy.ts';

export interface NodeAct {
  /** The verb by which a policy selects the act. */
  readonly verb: 'join' | 'renew' | 'attach' | 'approve';
  /** The path of the node that the act is about. */
  readonly about: string;
  /** The address of the other side with its port, where the node knows the address. */
  readonly from?: string;
  /** Absent: the act succeeded. */
  readonly refused?: { readonly code: number; readonly reason: string; readonly message: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

export type NoteAct = (act: NodeAct) => void;

export interface NodeActsPorts {
  readonly port: AuditPort;
  readonly clock: Clock;
  /** The path of this node. */
  readonly path: string;
  newId(): string;
}

/** Somebody without a certificate chooses the path in a request to join. */
const aboutCharsMax = 512;

export function noteActs({ port, clock, path, newId }: NodeActsPorts): NoteAct {
  return ({ verb, about, from, refused, annotations }) => {
    const name = shownPath(about.slice(0, aboutCharsMax));
    const user = { name: `banyan:node:${name}`, groups: ['banyan:nodes'] };
    const attributes: ResourceAttributes = {
      user,
      verb,
      apiGroup: 'mesh.banyan.io',
      resource: 'nodes',
      subresource: '',
      namespace: '',
      name,
    };
    const { level, omitStages } = auditDecision(port.policy, attributes);
    if (level === 'None' || omitStages.includes('ResponseComplete')) return;
    const time = auditTime(clock.wallMs());
    const { code = 200, ...failure } = refused ?? {};
    port.write({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level,
      auditID: newId(),
      stage: 'ResponseComplete',
      requestURI: `/mesh/${verb}`,
      verb,
      user: auditUser(user),
      ...(from === undefined ? {} : { sourceIPs: [addressOf(from)] }),
      objectRef: objectRefOf(attributes, 'v1alpha1')!,
      responseStatus: { metadata: {}, ...(refused ? { status: 'Failure', ...failure } : {}), code },
      requestReceivedTimestamp: time,
      stageTimestamp: time,
      annotations: { [placeAnnotation]: auditPlace({ node: path }), ...annotations },
    });
  };
}

/** `10.0.0.7:4711` and `[::1]:4711` without the port. */
function addressOf(from: string): string {
  return from
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/^::ffff:/, '');
}

/** The refusal that an error means. */
export function refusalByError(error: unknown): NonNullable<NodeAct['refused']> {
  const { http: code, reason } = errorTable[error instanceof BanyanError ? error.code : 'Internal'];
  return { code, reason, message: describeError(error) };
}
