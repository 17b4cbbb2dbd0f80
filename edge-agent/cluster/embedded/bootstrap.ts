/** Creates the Node of the cluster before anybody has applied anything. */
import { kubernetesVersion } from '../../../core/apiserver/discovery/discovery.ts';
import { timestamp } from '../../../core/object/conditions.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import type { Clock } from '../../../core/runtime/clock.ts';
import type { ControlledSpace } from './controllers/objects.ts';
import { nodeName } from './controllers/pod.ts';

/** The capacity in the status of the only node. The cluster neither measures nor enforces it. */
export const nodeCapacity = { cpu: '4', memory: '8Gi', pods: '110', 'ephemeral-storage': '50Gi' } as const;

const fieldManager = 'embedded-cluster';

/** Creates the Node if it is missing. */
export function bootstrap(space: ControlledSpace, clock: Clock): void {
  ensure(space, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: nodeName,
      labels: {
        'kubernetes.io/hostname': nodeName,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        'node-role.kubernetes.io/control-plane': '',
      },
    },
    spec: {},
    status: nodeStatus(timestamp(clock.wallMs())),
  });
}

/** Creates the object without its status, as a client would do. A second write adds the status. */
function ensure(space: ControlledSpace, { status, ...object }: KubeObject): void {
  if (space.get(space.keyOf(object))) return;
  const created = space.create(object, { fieldManager });
  if (status) space.update({ ...created, status }, { fieldManager, subresource: 'status' });
}

function nodeStatus(now: string): object {
  const conditions = [
    ['MemoryPressure', 'False', 'KubeletHasSufficientMemory'],
    ['DiskPressure', 'False', 'KubeletHasNoDiskPressure'],
    ['PIDPressure', 'False', 'KubeletHasSufficientPID'],
    ['Ready', 'True', 'KubeletReady'],
  ] as const;
  return {
    capacity: nodeCapacity,
    allocatable: nodeCapacity,
    conditions: conditions.map(([type, status, reason]) => ({
      type,
      status,
      reason,
      message: '',
      lastHeartbeatTime: now,
      lastTransitionTime: now,
    })),
    addresses: [
      { type: 'InternalIP', address: '10.0.0.1' },
      { type: 'Hostname', address: nodeName },
    ],
    nodeInfo: {
      architecture: 'amd64',
      bootID: '',
      containerRuntimeVersion: 'embedded://1',
      kernelVersion: '',
      kubeProxyVersion: kubernetesVersion.gitVersion,
      kubeletVersion: kubernetesVersion.gitVersion,
      machineID: '',
      operatingSystem: 'linux',
      osImage: 'embedded',
      systemUUID: '',
    },
  };
}
