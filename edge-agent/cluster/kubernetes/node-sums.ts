/** The nodes of a cluster, followed, and what they have together. */
import { equalJson } from '../../../core/object/json-value.ts';
import type { Clock } from '../../../core/runtime/clock.ts';
import type { BanyanError } from '../../../core/runtime/errors.ts';
import type { Cluster } from '../cluster.ts';
import { type ClusterNodeStatus, type DescribedNodes, describeNodes, nodeSizeOf } from '../described-nodes.ts';

/** An agent that may not list nodes says what else it knows. */
const waitMsMax = 5_000;

/** Watched from the first question on, so that nobody lists nodes again and again to hear that they are as they were. */
export class NodeSums {
  readonly #clock: Clock;
  readonly #watch: (events: Parameters<Cluster['watch']>[1]) => () => void;
  readonly #changed: () => void;
  readonly #sizes = new Map<string, ClusterNodeStatus>();
  #answered: Promise<void> | undefined;
  #isSynced = false;
  #refusal: BanyanError | undefined;
  #stop: (() => void) | undefined;

  /** `changed`: what is described may be something else, after it was asked for once. */
  constructor(
    clock: Clock,
    watch: (events: Parameters<Cluster['watch']>[1]) => () => void,
    changed: () => void = () => {},
  ) {
    this.#clock = clock;
    this.#watch = watch;
    this.#changed = changed;
  }

  /** Nothing while it is not known. */
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

  /** Why nodes must not be listed; a cluster that is away says so otherwise. */
  get refusal(): BanyanError | undefined {
    return this.#refusal;
  }

  stop(): void {
    this.#stop?.();
  }

  /** A node tells of itself every few minutes, and mostly of nothing new. */
  #note(name: string, now: ClusterNodeStatus | undefined): void {
    if (equalJson(this.#sizes.get(name), now)) return;
    if (now) this.#sizes.set(name, now);
    else this.#sizes.delete(name);
    if (this.#isSynced) this.#changed();
  }

  #refuse(refusal: BanyanError | undefined): void {
    if (this.#refusal?.message === refusal?.message) return;
    this.#refusal = refusal;
    this.#changed();
  }
}
