/**
 * Serves the spaces of Space objects that are written while the node runs. A Space that is deleted is drained first: its placements, or its SyncTargets, are
 * deleted, and the space goes when nothing of it is left anywhere in this node's tables. A finalizer keeps the Space object until then.
 */
import { placementResource } from '../../core/apiserver/kinds/edge-placement.ts';
import { spaceResource } from '../../core/apiserver/kinds/mesh-kinds.ts';
import type { Space, SpaceType } from '../../core/apiserver/space.ts';
import { type NewCondition, timestamp, withCondition } from '../../core/object/conditions.ts';
import { equalJson } from '../../core/object/json-value.ts';
import type { Condition, KubeObject } from '../../core/object/meta.ts';
import { isTerminating } from '../../core/object/terminating.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { ifRoom } from '../../core/store/room.ts';
import { syncTargetResource } from '../children/inventory.ts';
import { type SpaceHost, whyUnserved } from './served-spaces.ts';
import { isSpace } from './space-settings.ts';

export interface SpaceLifecyclePorts {
  readonly system: Space;
  readonly clock: Clock;
  readonly place: SpaceHost;
  /** The URL of the node's API. */
  readonly url: string;
  readonly spaces: {
    open(name: string, type: SpaceType): void;
    isOpen(name: string): boolean;
    named(name: string): Space | undefined;
    remove(name: string): void;
  };
  /** Returns whether a table of this node still has rows of the space. */
  hasRows(space: string): boolean;
  /** Called when a space was opened or removed. */
  changed(): void;
  /** Called when a Space object is gone, so that there may be another one of its name. */
  gone(): void;
}

const finalizer = 'mesh.banyan.io/drain';
/** A drain waits for the scheduler, and looks again after this time. */
const lookAgainMs = 200;

export class SpaceLifecycle {
  readonly #ports: SpaceLifecyclePorts;
  readonly #due = new Set<string>();
  #timer: Timer | undefined;
  readonly #unsubscribe: () => void;

  constructor(ports: SpaceLifecyclePorts) {
    this.#ports = ports;
    this.#unsubscribe = ports.system.storage.subscribe((events) => {
      for (const { object } of events) if (isSpace(object.key)) this.#due.add(object.key.name);
      this.#arm(0);
    });
    for (const { key } of ports.system.storage.scan(spaceResource)) this.#due.add(key.name);
    this.#arm(0);
  }

  stop(): void {
    this.#unsubscribe();
    this.#timer?.stop();
  }

  #arm(afterMs: number): void {
    if (this.#due.size === 0) return;
    this.#timer ??= this.#ports.clock.after(afterMs, () => {
      this.#timer = undefined;
      // With a full disk, the rest stays due.
      ifRoom(() => {
        for (const name of [...this.#due]) if (this.#reconcile(name)) this.#due.delete(name);
      });
      this.#arm(lookAgainMs);
    });
  }

  /** Returns false if the space has to be looked at again. */
  #reconcile(name: string): boolean {
    const { system, place, spaces, changed } = this.#ports;
    const object = system.get({ ...spaceResource, namespace: '', name });
    if (!object || isTerminating(object)) return this.#drain(name, object);
    const unserved = whyUnserved(object, place);
    if (unserved) {
      this.#show(object, { type: 'Ready', status: 'False', ...unserved });
      return true;
    }
    const { type = 'Workload' } = object.spec as { readonly type?: SpaceType };
    if (!spaces.isOpen(name)) {
      spaces.open(name, type);
      changed();
    }
    this.#show(this.#kept(object), {
      type: 'Ready',
      status: 'True',
      reason: 'Served',
      message: 'the space is served at status.url',
    });
    return true;
  }

  #drain(name: string, object: KubeObject | undefined): boolean {
    const { system, spaces, hasRows, changed, gone } = this.#ports;
    const space = spaces.named(name);
    if (space) {
      let left = 0;
      for (const resource of [placementResource, syncTargetResource]) {
        for (const stored of space.storage.scan(resource)) {
          left++;
          if (!isTerminating(space.parse(stored))) space.delete(stored.key);
        }
      }
      if (left > 0 || hasRows(name)) {
        if (object) this.#show(object, { type: 'Ready', status: 'False', ...draining(left) });
        return false;
      }
      spaces.remove(name);
      changed();
    }
    const latest = system.get({ ...spaceResource, namespace: '', name });
    if (!latest) gone();
    const finalizers = latest?.metadata.finalizers?.filter((one) => one !== finalizer);
    if (latest && finalizers) system.update({ ...latest, metadata: { ...latest.metadata, finalizers } });
    return true;
  }

  /** Adds the finalizer, so that a deleted Space is drained. */
  #kept(object: KubeObject): KubeObject {
    const finalizers = object.metadata.finalizers ?? [];
    if (finalizers.includes(finalizer)) return object;
    return this.#ports.system.update({
      ...object,
      metadata: { ...object.metadata, finalizers: [...finalizers, finalizer] },
    });
  }

  #show(object: KubeObject, condition: NewCondition): void {
    const { system, clock, url, spaces } = this.#ports;
    const status = (object.status ?? {}) as { readonly conditions?: readonly Condition[]; readonly url?: string };
    const name = object.metadata.name!;
    const conditions = withCondition(status.conditions ?? [], condition, timestamp(clock.wallMs()));
    const { url: _former, ...rest } = status;
    const after = { ...rest, ...(spaces.isOpen(name) ? { url: `${url}/spaces/${name}` } : {}), conditions };
    if (!equalJson(after, status)) system.update({ ...object, status: after }, { subresource: 'status' });
  }
}

function draining(left: number): { readonly reason: string; readonly message: string } {
  const what =
    left > 0 ? `${left} placements or SyncTargets are being deleted` : 'copies of its objects are being taken back';
  return { reason: 'Draining', message: `the space is being deleted: ${what}` };
}
