/** Objects that a bare control plane lacks for ordinary workloads: nodes, which kwok keeps ready, and volumes for claims. Neither of them is real. */
import { execFileSync } from 'node:child_process';
import type { ControlPlane } from './control-plane.ts';

export interface Furniture {
  readonly nodes: number;
  /** Number of volumes of 100 GiB, for claims of the default class. */
  readonly volumes: number;
}

const nodeSize = { cpu: '32', memory: '256Gi', pods: '1100' };
const storageClass = 'standard';

export function furnish(plane: ControlPlane, { nodes, volumes }: Furniture): void {
  const items = [
    ...Array.from({ length: nodes }, (_, i) => node(`node-${i + 1}`)),
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: storageClass, annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
      provisioner: 'kubernetes.io/no-provisioner',
      volumeBindingMode: 'Immediate',
    },
    ...Array.from({ length: volumes }, (_, i) => volume(`volume-${i + 1}`)),
  ];
  execFileSync(plane.kubectl, ['--kubeconfig', plane.kubeconfig, 'create', '-f', '-'], {
    input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    stdio: ['pipe', 'ignore', 'inherit'],
  });
}

function node(name: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      annotations: { 'kwok.x-k8s.io/node': 'fake' },
      labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux' },
    },
    status: {
      allocatable: nodeSize,
      capacity: nodeSize,
    },
  };
}

function volume(name: string): object {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '100Gi' },
      hostPath: { path: `/nowhere/${name}` },
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: storageClass,
    },
  };
}
