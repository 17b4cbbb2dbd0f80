/**
 * A definition is established, or gone, a moment before discovery says so. Whoever looks at what is served when the definition changes would look too
 * early and never again: so discovery is asked again until it has followed, and the change is told once more.
 *
 * Bound: one entry for each definition that discovery has not followed, and `delaysMs` questions for it; one question answers for all.
 */
import type { GroupResource } from '../../../core/object/key.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import type { Clock, Timer } from '../../../core/runtime/clock.ts';
import { describeError } from '../../../core/runtime/errors.ts';
import type { Logger } from '../../../core/runtime/logger.ts';
import type { ClusterEvent } from '../cluster.ts';

export interface AwaitedKindsPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** By what discovery says, asked anew where it was forgotten. */
  isServed(resource: GroupResource): Promise<boolean>;
  /** The next question is asked of the cluster. */
  forget(): void;
}

/** Usually the second look finds it; a busy API server has taken some seconds. */
const delaysMs = [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000] as const;

interface Awaited {
  timer: Timer | undefined;
}

export class AwaitedKinds {
  readonly #ports: AwaitedKindsPorts;
  /** By name of the definition; a later event takes the place of an earlier one. */
  readonly #awaited = new Map<string, Awaited>();

  constructor(ports: AwaitedKindsPorts) {
    this.#ports = ports;
  }

  /** A definition has come, changed or gone; `tell` is called if discovery follows later than now. */
  changed({ type, key, object }: ClusterEvent, tell: () => void): void {
    this.#end(key.name);
    if (type !== 'DELETED' && !isEstablished(object)) return;
    const resource = resourceOf(key.name);
    if (!resource) return;
    const awaited: Awaited = { timer: undefined };
    this.#awaited.set(key.name, awaited);
    const isCurrent = () => this.#awaited.get(key.name) === awaited;
    const look = async (round: number): Promise<void> => {
      const asWanted = (await this.#isServed(resource)) === (type !== 'DELETED');
      if (!isCurrent()) return;
      const delayMs = delaysMs[round];
      if (asWanted || delayMs === undefined) {
        this.#awaited.delete(key.name);
        if (asWanted && round > 0) tell();
        return;
      }
      awaited.timer = this.#ports.clock.after(delayMs, () => {
        this.#ports.forget();
        void look(round + 1);
      });
    };
    void look(0);
  }

  stop(): void {
    for (const name of [...this.#awaited.keys()]) this.#end(name);
  }

  #end(name: string): void {
    this.#awaited.get(name)?.timer?.stop();
    this.#awaited.delete(name);
  }

  async #isServed(resource: GroupResource): Promise<boolean | undefined> {
    try {
      return await this.#ports.isServed(resource);
    } catch (error) {
      this.#ports.logger.debug({ ...resource, error: describeError(error) }, 'what the cluster serves is not known');
      return undefined;
    }
  }
}

/** Before that it is not served, and an event will say when it is. */
function isEstablished({ status }: KubeObject): boolean {
  const { conditions = [] } = (status ?? {}) as { conditions?: readonly { type?: string; status?: string }[] };
  return conditions.some((one) => one.type === 'Established' && one.status === 'True');
}

/** By its name, which is `PLURAL.GROUP`: of one that has gone there may be nothing else. */
function resourceOf(name: string): GroupResource | undefined {
  const dot = name.indexOf('.');
  return dot < 0 ? undefined : { group: name.slice(dot + 1), resource: name.slice(0, dot) };
}
