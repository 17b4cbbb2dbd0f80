/** Sums the resources of all nodes of a cluster, as the SyncTarget shows them. */
import { parseQuantity } from '../../core/match/cel/base/quantity.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import type { ClusterDescription } from './cluster.ts';

export interface ClusterNodeStatus {
  readonly capacity?: Readonly<Record<string, string>>;
  readonly allocatable?: Readonly<Record<string, string>>;
  readonly isReady?: boolean;
}

export type DescribedNodes = Pick<ClusterDescription, 'nodes' | 'nodesReady' | 'capacity' | 'allocatable'>;

export function nodeSizeOf({ status }: KubeObject): ClusterNodeStatus {
  const { capacity = {}, allocatable = {}, conditions = [] } = (status ?? {}) as ClusterNodeStatus & Conditions;
  return { capacity, allocatable, isReady: conditions.some((one) => one.type === 'Ready' && one.status === 'True') };
}

interface Conditions {
  readonly conditions?: readonly { readonly type?: string; readonly status?: string }[];
}

export function describeNodes(statuses: readonly ClusterNodeStatus[]): DescribedNodes {
  return {
    nodes: statuses.length,
    nodesReady: statuses.filter(({ isReady }) => isReady).length,
    capacity: sumOf(statuses.map(({ capacity = {} }) => capacity)),
    allocatable: sumOf(statuses.map(({ allocatable = {} }) => allocatable)),
  };
}

interface Sum {
  nanos: bigint;
  isBinary: boolean;
}

/** Adds the quantities of each resource. Leaves out a quantity that can't be parsed: such a quantity belongs to some device. */
function sumOf(amounts: readonly Readonly<Record<string, string>>[]): Record<string, string> {
  const sums = new Map<string, Sum>();
  for (const [name, text] of amounts.flatMap((each) => Object.entries(each))) {
    const amount = parseQuantity(text);
    if (!amount) continue;
    const sum = sums.get(name) ?? { nanos: 0n, isBinary: false };
    sum.nanos += amount.nanos;
    sum.isBinary ||= text.endsWith('i');
    sums.set(name, sum);
  }
  return Object.fromEntries([...sums].map(([name, sum]) => [name, formatSum(sum)]));
}

const nano = 1_000_000_000n;
const kibi = 1024n;

/** Writes the sum in the largest unit that nodes use and that loses no digits. */
function formatSum({ nanos, isBinary }: Sum): string {
  if (nanos % nano !== 0n) return nanos % 1_000_000n === 0n ? `${nanos / 1_000_000n}m` : `${nanos}n`;
  const whole = nanos / nano;
  return isBinary && whole % kibi === 0n ? `${whole / kibi}Ki` : `${whole}`;
}
