/** Watches the nodes of a cluster and adds up their resources. */
import { equalJson } from '../../../core/object/json-value.ts';
import type { Clock } from '../../../core/runtime/clock.ts';
import type { BanyanError } from '../../../core/runtime/errors.ts';
import type { Cluster } from '../cluster.ts';
import { type ClusterNodeStatus, type DescribedNodes, describeNodes, nodeSizeOf } from '../described-nodes.ts';

/** Longest wait for the list of nodes. After this time, the agent reports its description without them. */
const waitMsMax = 5_000;

/** The watch begins with the first call of `described`, and then stays. So the agent does not list all nodes for each description. */
export class NodeSums {
  readonly #clock: Clock;
  readonly #watch: (events: Parameters<Cluster['watch']>[1]) => () => void;
  readonly #changed: () => void;
  readonly #sizes = new Map<string, ClusterNodeStatus>();
  #answered: Promise<void> | undefined;
  #isSynced = false;
  #refusal: BanyanError | undefined;
  #stop: (() => void) | undefined;

  /** `changed` is called when the description may have changed since the first request. */
  constructor(
    clock: Clock,
    watch: (events: Parameters<Cluster['watch']>[1]) => () => void,
    changed: () => void = () => {},
  ) {
    this.#clock = clock;
    this.#watch = watch;
    this.#changed = changed;
  }

  /** Returns the sums. Empty: the nodes are not known. */
  async described(): Promise<DescribedNodes> {
    this.#answered ??= new Promise((answered) => {
      this.#stop = this.#watch({
        on: ({ type, key, object }) => this.#note(key.name, type === 'DELETED' ? undefined : nodeSizeOf(object)),
        synced: () => {
          this.#isSynced = true;
          answered();
          this.#changed();
        },
        trouble: (error) => {
          answered();
          this.#refuse(error?.code === 'Forbidden' ? error : undefined);
        },
      });
    });
    await Promise.race([this.#answered, new Promise<void>((resolve) => this.#clock.after(waitMsMax, resolve))]);
    return this.#isSynced && !this.#refusal ? describeNodes([...this.#sizes.values()]) : {};
  }

  /** Why the agent is not allowed to list nodes. An unreachable cluster is reported elsewhere. */
  get refusal(): BanyanError | undefined {
    return this.#refusal;
  }

  stop(): void {
    this.#stop?.();
  }

  /** Notes the size of a node. A node updates its status every few minutes, mostly without a change of its size. */
  #note(name: string, size: ClusterNodeStatus | undefined): void {
    if (equalJson(this.#sizes.get(name), size)) return;
    if (size) this.#sizes.set(name, size);
    else this.#sizes.delete(name);
    if (this.#isSynced) this.#changed();
  }

  #refuse(refusal: BanyanError | undefined): void {
    if (this.#refusal?.message === refusal?.message) return;
    this.#refusal = refusal;
    this.#changed();
  }
}
