/** Shows in the status of a Space how much of its limits it uses: `status.usage`, at most once a second. */

import { spaceResource } from '../../core/apiserver/kinds/mesh-kinds.ts';
import type { Space } from '../../core/apiserver/space.ts';
import { equalJson } from '../../core/object/json-value.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { ifRoom } from '../../core/store/room.ts';
import type { LimitedSpace } from './space-limits.ts';
import type { Usage } from './space-usage.ts';

export interface UsageStatusPorts {
  readonly system: Space;
  readonly space: LimitedSpace;
  readonly usage: { readonly present: Usage };
  readonly clock: Clock;
}

/** A person reads the counts. More writes would only fill the disk. */
const intervalMs = 1_000;

export class UsageStatus {
  readonly #ports: UsageStatusPorts;
  #timer: Timer | undefined;
  #isShown: boolean;

  constructor(ports: UsageStatusPorts) {
    this.#ports = ports;
    this.#isShown = usageIn(this.#object) !== undefined;
    this.changed();
  }

  /** Called when the objects of the space, or its limits, have changed. */
  changed(): void {
    // A space without limits whose status shows no usage has nothing to write.
    if (!this.#isShown && !this.#ports.space.limits()) return;
    this.#timer ??= this.#ports.clock.after(intervalMs, () => {
      this.#timer = undefined;
      // With a full disk, the next change of the space writes the counts.
      ifRoom(() => this.#write());
    });
  }

  close(): void {
    this.#timer?.stop();
  }

  #write(): void {
    const { system, space, usage } = this.#ports;
    const object = this.#object;
    if (!object) return;
    const before = usageIn(object);
    const { usage: _before, ...status } = (object.status ?? {}) as { usage?: Usage };
    const after = space.limits() ? usage.present : undefined;
    this.#isShown = after !== undefined;
    if (equalJson(before ?? null, after ?? null)) return;
    system.update({ ...object, status: { ...status, ...(after ? { usage: after } : {}) } }, { subresource: 'status' });
  }

  get #object(): KubeObject | undefined {
    const { system, space } = this.#ports;
    return system.get({ ...spaceResource, namespace: '', name: space.name });
  }
}

function usageIn(object: KubeObject | undefined): Usage | undefined {
  return (object?.status as { usage?: Usage } | undefined)?.usage;
}
