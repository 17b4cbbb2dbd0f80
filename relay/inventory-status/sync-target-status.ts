/** The status of a SyncTarget: the agent's report about its cluster, and whether the agent is connected to this node. */
import type { Space } from '../../core/apiserver/space.ts';
import { parseServed } from '../../core/entries/served-resources.ts';
import type { NodeAttributes } from '../../core/entries/up-attributes.ts';
import { timestamp } from '../../core/object/conditions.ts';
import { syncTargetResource } from '../children/inventory.ts';
import { reportedCondition } from './alarm-conditions.ts';
import { show } from './node-objects.ts';

/**
 * Writes the status of the SyncTarget. `lastHeartbeatTime` changes when the connection begins or ends, not with each beat. To write it for every agent every
 * minute would show nothing that the condition does not show.
 */
export function showSyncTarget(
  space: Space,
  name: string,
  nodePath: string,
  report: NodeAttributes | undefined,
  connected: boolean,
  wallMs: number,
): void {
  const object = space.get({ ...syncTargetResource, namespace: '', name });
  if (!object || object.metadata.deletionTimestamp !== undefined) return;
  const before = (object.status ?? {}) as {
    lastHeartbeatTime?: string;
    conditions?: { type: string; status: string }[];
  };
  const readyBefore = before.conditions?.find(({ type }) => type === 'Ready')?.status;
  const readyNow = connected ? 'True' : 'False';
  const heartbeatTime =
    readyBefore === readyNow || (!connected && readyBefore === undefined)
      ? before.lastHeartbeatTime
      : timestamp(wallMs);
  const status = {
    ...described(report ?? {}),
    ...(heartbeatTime === undefined ? {} : { lastHeartbeatTime: heartbeatTime }),
    ...(connected ? { attachedTo: nodePath } : {}),
    ...(before.conditions ? { conditions: before.conditions } : {}),
  };
  const message = connected ? 'the agent is connected' : 'the agent is not connected';
  const reason = connected ? 'Connected' : 'Disconnected';
  const ready = { type: 'Ready', status: readyNow, reason, message } as const;
  show(
    space,
    { ...object, status },
    [
      ready,
      reportedCondition('ClusterTrouble', report?.trouble),
      reportedCondition('LimitReached', report?.limit),
      reportedCondition('CertificateTrouble', report?.certificateTrouble),
      reportedCondition('DescriptionIncomplete', report?.incomplete),
    ],
    wallMs,
  );
}

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
