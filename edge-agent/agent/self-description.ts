/**
 * What the agent tells of its cluster as a whole: version, nodes, what they have, what is served; or why that is not known. Asked for at the start, when something of
 * it has changed, and now and then. What is told is the same until something has changed, so that nothing travels otherwise.
 *
 * Bound: one question at a time, and for changes one each `changesEveryMs`, however many there are.
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
  /** Something else may be to be told. */
  changed(): void;
  /** Kinds have come, of which nobody else may have told: those of servers behind the cluster's own. */
  kindsCame(): void;
}

/** Of what nobody tells, such as another version of the server behind the same address. */
const describeEveryMs = 60_000;
/** Somebody mends it and waits to see that it works. */
const describeAgainMs = 10_000;
/** An operator's definitions come one behind the other, and a rack's nodes too: they are told of together. */
const gatherMs = 1_000;
/** A node that comes and goes all the time is no news to anybody above. */
const changesEveryMs = 5_000;

export class SelfDescription {
  readonly #ports: SelfDescriptionPorts;
  #said: Partial<NodeAttributes> = {};
  /** What was served when it was asked last. */
  #served: ReadonlySet<string> | undefined;
  /** Why the cluster could not be asked last; what it said before stays. */
  #trouble: ClusterTrouble | undefined;
  #timer: Timer | undefined;
  #isSoon = false;
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

  /** Kinds or nodes have come, gone or changed, or the cluster may have gone. One that can't be asked is asked again soon anyway. */
  changed(): void {
    if (this.#isAsking) this.#isStale = true;
    if (this.#isAsking || this.#isSoon || this.#stopped || this.#trouble) return;
    this.#isSoon = true;
    this.#arm(Math.max(gatherMs, this.#askedAtMs + changesEveryMs - this.#ports.clock.monotonicMs()));
  }

  get said(): Partial<NodeAttributes> {
    return { ...this.#said, ...(this.#trouble ? { trouble: this.#trouble } : {}) };
  }

  #arm(delayMs: number): void {
    this.#timer?.stop();
    this.#timer = this.#ports.clock.after(delayMs, () => void this.#describe());
  }

  async #describe(): Promise<void> {
    const { cluster, clock, logger } = this.#ports;
    this.#isSoon = this.#isStale = false;
    this.#isAsking = true;
    this.#askedAtMs = clock.monotonicMs();
    try {
      const described = await cluster.describe();
      const served = await cluster.served();
      this.#said = { ...described, ...servedResourceNames(served) };
      this.#trouble = undefined;
      this.#compare(served);
    } catch (error) {
      const reason = error instanceof BanyanError ? error.code : 'Internal';
      this.#trouble = { reason, message: describeError(error) };
      logger.warn({ error: describeError(error) }, 'the cluster does not describe itself');
    }
    this.#isAsking = false;
    if (this.#stopped) return;
    this.#ports.changed();
    this.#arm(this.#trouble ? describeAgainMs : describeEveryMs);
    if (this.#isStale) this.changed();
  }

  /** Those that have gone are not told: a server that is down for a moment takes its kinds along, and nothing of theirs has gone. */
  #compare(served: readonly ServedResource[]): void {
    const before = this.#served;
    this.#served = new Set(served.map(formatServed));
    if (before && ![...this.#served].every((one) => before.has(one))) this.#ports.kindsCame();
  }
}

/** What Kubernetes itself serves comes first, so that it is what is told of where there is too much. */
export function servedResourceNames(
  resources: readonly ServedResource[],
): Pick<NodeAttributes, 'served' | 'servedCount'> {
  const ordered = [...resources].sort(
    (a, b) => rank(a) - rank(b) || compareText(a.group, b.group) || compareText(a.resource, b.resource),
  );
  return { served: ordered.slice(0, servedMax).map(formatServed), servedCount: ordered.length };
}

/** Groups without a dot, and those of k8s.io, are kept for Kubernetes. */
function rank({ group }: GroupResource): number {
  return group.includes('.') && !group.endsWith('.k8s.io') ? 1 : 0;
}
