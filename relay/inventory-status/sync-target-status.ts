/** The status of a SyncTarget: what its agent says of the cluster, and whether it is connected here. */
import type { Space } from '../../core/apiserver/space.ts';
import { parseServed } from '../../core/entries/served-resources.ts';
import type { NodeAttributes } from '../../core/entries/up-attributes.ts';
import { timestamp } from '../../core/object/conditions.ts';
import { syncTargetResource } from '../children/inventory.ts';
import { reportedCondition } from './alarm-conditions.ts';
import { show } from './node-objects.ts';

/**
 * `lastHeartbeatTime` moves when the connection begins or ends, not with each beat: a write a minute for every agent would tell nothing
 * that the condition does not.
 */
export function showSyncTarget(
  space: Space,
  name: string,
  nodePath: string,
  said: NodeAttributes | undefined,
  connected: boolean,
  wallMs: number,
): void {
  const object = space.get({ ...syncTargetResource, namespace: '', name });
  if (!object || object.metadata.deletionTimestamp !== undefined) return;
  const before = (object.status ?? {}) as {
    lastHeartbeatTime?: string;
    conditions?: { type: string; status: string }[];
  };
  const was = before.conditions?.find(({ type }) => type === 'Ready')?.status;
  const now = connected ? 'True' : 'False';
  const heard = was === now || (!connected && was === undefined) ? before.lastHeartbeatTime : timestamp(wallMs);
  const status = {
    ...described(said ?? {}),
    ...(heard === undefined ? {} : { lastHeartbeatTime: heard }),
    ...(connected ? { attachedTo: nodePath } : {}),
    ...(before.conditions ? { conditions: before.conditions } : {}),
  };
  const message = connected ? 'the agent is connected' : 'the agent is not connected';
  const reason = connected ? 'Connected' : 'Disconnected';
  const ready = { type: 'Ready', status: now, reason, message } as const;
  show(
    space,
    { ...object, status },
    [
      ready,
      reportedCondition('ClusterTrouble', said?.trouble),
      reportedCondition('LimitReached', said?.limit),
      reportedCondition('CertificateTrouble', said?.certificateTrouble),
      reportedCondition('DescriptionIncomplete', said?.incomplete),
    ],
    wallMs,
  );
}

/** What is not known is not there. */
function described(said: Partial<NodeAttributes>): object {
  const { kubernetesVersion, platform, nodes, nodesReady, capacity, allocatable, served, servedCount } = said;
  const status = {
    kubernetesVersion,
    platform,
    nodes,
    readyNodes: nodesReady,
    capacity,
    allocatable,
    servedResourceCount: servedCount,
    syncedResources: served?.flatMap((word) => parseServed(word) ?? []),
  };
  return Object.fromEntries(Object.entries(status).filter(([, value]) => value !== undefined));
}
