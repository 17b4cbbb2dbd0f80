/**
 * Describes the cluster as a whole: version, nodes, their resources, and the kinds that the cluster serves; or the reason why the description is not known.
 * The agent asks for the description at the start, when a part of it has changed, and every minute. The report changes only when something has changed, so
 * nothing is sent without a change.
 *
 * Bounds: one request at a time. For changes, one request each `changesEveryMs`, however many changes there are.
 */

import { formatServed, servedMax } from '../../core/entries/served-resources.ts';
import type { NodeAttributes } from '../../core/entries/up-attributes.ts';
import type { GroupResource } from '../../core/object/key.ts';
import { compareText } from '../../core/object/text-order.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Cluster, ClusterTrouble, ServedResource } from '../cluster/cluster.ts';

export interface SelfDescriptionPorts {
  readonly cluster: Pick<Cluster, 'describe' | 'served' | 'onDescription'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when the description may have changed. */
  changed(): void;
  /** Called when the cluster serves new kinds. If an aggregated API server serves them, no other event may report them. */
  kindsAdded(): void;
}

/** Interval of the regular requests. They find changes that cause no event, such as another version of the API server behind the same address. */
const describeEveryMs = 60_000;
/** Interval of the requests while the cluster does not answer. A person may be repairing the cluster, and waits to see that it works again. */
const describeAgainMs = 10_000;
/**
 * Wait after a first change. An operator installs its definitions one after the other, and the nodes of a rack start one after the other. The agent reports
 * them together.
 */
const gatherMs = 1_000;
/** Shortest interval between two requests because of changes: a cluster node that appears and disappears all the time must not cause more reports. */
const changesEveryMs = 5_000;

export class SelfDescription {
  readonly #ports: SelfDescriptionPorts;
  #described: Partial<NodeAttributes> = {};
  /** The resources that the cluster served at the last request. Undefined: no request has succeeded yet. */
  #served: ReadonlySet<string> | undefined;
  /** Why the last request failed. The previous description stays. */
  #trouble: ClusterTrouble | undefined;
  #timer: Timer | undefined;
  #isScheduled = false;
  #isAsking = false;
  #isStale = false;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #stopped = false;
  #unsubscribe: (() => void) | undefined;

  constructor(ports: SelfDescriptionPorts) {
    this.#ports = ports;
  }

  start(): void {
    this.#unsubscribe = this.#ports.cluster.onDescription?.(() => this.changed());
    void this.#describe();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.stop();
    this.#unsubscribe?.();
  }

  /**
   * Called when kinds or nodes have been added, removed or changed, or when the cluster may be unreachable. While the last request has failed, this does
   * nothing: the agent asks again after `describeAgainMs` anyway.
   */
  changed(): void {
    if (this.#isAsking) this.#isStale = true;
    if (this.#isAsking || this.#isScheduled || this.#stopped || this.#trouble) return;
    this.#isScheduled = true;
    this.#arm(Math.max(gatherMs, this.#askedAtMs + changesEveryMs - this.#ports.clock.monotonicMs()));
  }

  get reported(): Partial<NodeAttributes> {
    return { ...this.#described, ...(this.#trouble ? { trouble: this.#trouble } : {}) };
  }

  #arm(delayMs: number): void {
    this.#timer?.stop();
    this.#timer = this.#ports.clock.after(delayMs, () => void this.#describe());
  }

  async #describe(): Promise<void> {
    const { cluster, clock, logger } = this.#ports;
    this.#isScheduled = this.#isStale = false;
    this.#isAsking = true;
    this.#askedAtMs = clock.monotonicMs();
    try {
      const described = await cluster.describe();
      const served = await cluster.served();
      this.#described = { ...described, ...servedResourceNames(served) };
      this.#trouble = undefined;
      this.#compare(served);
    } catch (error) {
      const reason = error instanceof BanyanError ? error.code : 'Internal';
      this.#trouble = { reason, message: describeError(error) };
      logger.warn({ error: describeError(error) }, "the description of the cluster can't be read");
    }
    this.#isAsking = false;
    if (this.#stopped) return;
    this.#ports.changed();
    this.#arm(this.#trouble ? describeAgainMs : describeEveryMs);
    if (this.#isStale) this.changed();
  }

  /**
   * Sends an event only if the cluster serves new kinds. Missing kinds cause no event: while an aggregated API server is down for a moment, its kinds are
   * missing, although its objects still exist.
   */
  #compare(served: readonly ServedResource[]): void {
    const before = this.#served;
    this.#served = new Set(served.map(formatServed));
    if (before && ![...this.#served].every((one) => before.has(one))) this.#ports.kindsAdded();
  }
}

/** The kinds of Kubernetes itself come first. So the report has them even if there are more kinds than one report may contain. */
export function servedResourceNames(
  resources: readonly ServedResource[],
): Pick<NodeAttributes, 'served' | 'servedCount'> {
  const ordered = [...resources].sort(
    (a, b) => rank(a) - rank(b) || compareText(a.group, b.group) || compareText(a.resource, b.resource),
  );
  return { served: ordered.slice(0, servedMax).map(formatServed), servedCount: ordered.length };
}

/** 0 for the groups of Kubernetes itself. Kubernetes reserves groups without a dot, and groups that end with .k8s.io. */
function rank({ group }: GroupResource): number {
  return group.includes('.') && !group.endsWith('.k8s.io') ? 1 : 0;
}
