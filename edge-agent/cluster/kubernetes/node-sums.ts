/** What the nodes of a cluster have together, as its SyncTarget tells. */
import { parseQuantity } from '../../../core/match/cel/quantity.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import type { Clock } from '../../../core/runtime/clock.ts';
import type { Cluster, ClusterDescription } from '../cluster.ts';

export interface NodeStatus {
  readonly capacity?: Readonly<Record<string, string>>;
  readonly allocatable?: Readonly<Record<string, string>>;
}

/** An agent that may not list nodes says what else it knows. */
const waitMsMax = 5_000;

type Described = Omit<ClusterDescription, 'kubernetesVersion'>;

/** Watched from the first question on, so that nobody lists nodes again and again to hear that they are as they were. */
export class NodeSums {
  readonly #clock: Clock;
  readonly #watch: (events: Parameters<Cluster['watch']>[1]) => () => void;
  readonly #sizes = new Map<string, NodeStatus>();
  #synced: Promise<void> | undefined;
  #stop: (() => void) | undefined;

  constructor(clock: Clock, watch: (events: Parameters<Cluster['watch']>[1]) => () => void) {
    this.#clock = clock;
    this.#watch = watch;
  }

  async described(): Promise<Described> {
    this.#synced ??= new Promise((synced) => {
      this.#stop = this.#watch({
        on: ({ type, key, object }) => {
          if (type === 'DELETED') this.#sizes.delete(key.name);
          else this.#sizes.set(key.name, sizeOf(object));
        },
        synced,
      });
    });
    await Promise.race([this.#synced, new Promise<void>((resolve) => this.#clock.after(waitMsMax, resolve))]);
    return describeNodes([...this.#sizes.values()]);
  }

  stop(): void {
    this.#stop?.();
  }
}

function sizeOf({ status }: KubeObject): NodeStatus {
  const { capacity = {}, allocatable = {} } = (status ?? {}) as NodeStatus;
  return { capacity, allocatable };
}

export function describeNodes(statuses: readonly NodeStatus[]): Described {
  return {
    nodes: statuses.length,
    capacity: sumOf(statuses.map(({ capacity = {} }) => capacity)),
    allocatable: sumOf(statuses.map(({ allocatable = {} }) => allocatable)),
  };
}

interface Sum {
  nanos: bigint;
  isBinary: boolean;
}

/** A quantity that can't be read is left out: it is some device's own. */
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

/** In the coarsest of the units that nodes use which loses nothing. */
function formatSum({ nanos, isBinary }: Sum): string {
  if (nanos % nano !== 0n) return nanos % 1_000_000n === 0n ? `${nanos / 1_000_000n}m` : `${nanos}n`;
  const whole = nanos / nano;
  return isBinary && whole % kibi === 0n ? `${whole / kibi}Ki` : `${whole}`;
}
