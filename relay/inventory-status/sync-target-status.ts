/** The status of a SyncTarget: the agent's report about its cluster, and whether and since when the agent is connected to this node. */

import type { Space } from '../../core/apiserver/space.ts';
import { parseServed } from '../../core/entries/served-resources.ts';
import type { NodeAttributes } from '../../core/entries/up-attributes.ts';
import { timestamp } from '../../core/object/conditions.ts';
import { isTerminating } from '../../core/object/terminating.ts';
import type { SessionStatus } from '../../core/session/parent-ports.ts';
import { syncTargetResource } from '../children/inventory.ts';
import { reportedCondition } from './alarm-conditions.ts';
import { sessionState, show } from './node-objects.ts';

/** The parent's knowledge about the connection of the agent. Without `heardAtMs`, the agent has never attached to this node. */
export type AgentConnection = Pick<SessionStatus, 'connected' | 'heardAtMs'>;

/**
 * While the agent is connected, `lastHeartbeatTime` is written again after this time, as a kubelet does for its Node. A write for each beat would be two writes
 * a minute for each agent, and would show nothing that the condition does not show.
 */
export const heartbeatEveryMs = 5 * 60_000;

/** Writes the status of the SyncTarget. `lastHeartbeatTime` is the time of the agent's newest message, never the time of the write. */
export function showSyncTarget(
  space: Space,
  name: string,
  nodePath: string,
  report: NodeAttributes | undefined,
  { connected, heardAtMs }: AgentConnection,
  wallMs: number,
): void {
  const object = space.get({ ...syncTargetResource, namespace: '', name });
  if (!object || isTerminating(object)) return;
  const before = (object.status ?? {}) as {
    lastHeartbeatTime?: string;
    conditions?: { type: string; status: string }[];
  };
  const wasConnected = before.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
  const isRecent = Date.parse(before.lastHeartbeatTime ?? '') > (heardAtMs ?? 0) - heartbeatEveryMs;
  const heartbeatTime =
    connected && wasConnected && isRecent ? before.lastHeartbeatTime : heardAtMs && timestamp(heardAtMs);
  const status = {
    ...described(report ?? {}),
    ...(heartbeatTime === undefined ? {} : { lastHeartbeatTime: heartbeatTime }),
    ...(connected ? { attachedTo: nodePath } : {}),
    ...(report ? { delivered: report.delivered ?? false } : {}),
    ...(before.conditions ? { conditions: before.conditions } : {}),
  };
  const reason = sessionState(connected, heardAtMs);
  const ready = { type: 'Ready', status: connected ? 'True' : 'False', reason, message: messages[reason] } as const;
  show(
    space,
    { ...object, status },
    [
      ready,
      reportedCondition('ClusterTrouble', report?.trouble),
      reportedCondition('LimitReached', report?.limit),
      reportedCondition('CertificateTrouble', report?.certificateTrouble),
      reportedCondition('SourceNotAccepted', report?.notAccepted),
      reportedCondition('SourceConflict', report?.sourceConflict),
      reportedCondition('DescriptionIncomplete', report?.incomplete),
    ],
    wallMs,
  );
}

const messages = {
  Connected: 'the agent is connected',
  Disconnected: 'the agent is not connected; lastHeartbeatTime says since when',
  Never: 'the agent has never connected',
} as const;

/** Fields that the agent has not reported are left out. */
function described(report: Partial<NodeAttributes>): object {
  const { kubernetesVersion, platform, nodes, nodesReady, capacity, allocatable, served, servedCount } = report;
  const status = {
    kubernetesVersion,
    platform,
    nodes,
    readyNodes: nodesReady,
    capacity,
    allocatable,
    servedResourceCount: servedCount,
    syncedResources: served?.flatMap((resource) => parseServed(resource) ?? []),
  };
  return Object.fromEntries(Object.entries(status).filter(([, value]) => value !== undefined));
}
