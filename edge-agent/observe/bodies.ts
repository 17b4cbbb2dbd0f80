/**
 * The bodies of objects that are reported whole. If rules name a resource, the agent receives events about all objects of the resource, but may report only a
 * few of them: objects that belong to a placed object, or objects within a limit. This class has no body for the other objects. If such an object has to be
 * reported at a later time, the agent reads the object, unless a watch brings it earlier.
 *
 * A failed read is tried again, with growing delays for each object. For days, an object may be larger than the agent can handle, or a webhook may not
 * answer.
 *
 * Bound: `readsMax` reads at once; one waiting read for each object that has to be reported.
 */
import { formatKey, type ObjectKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { type WholeObject, wholeObject } from './whole-object.ts';

export interface BodiesPorts {
  readonly clock: Clock;
  get(key: ObjectKey): Promise<KubeObject | undefined>;
  /** Called when the agent has read the body of the object. */
  read(uid: string, key: string): void;
  /** Called when a read of the object fails for the first time since its body was requested. */
  failed(key: string, error: unknown): void;
}

/** Half of the concurrency of the applier. After a start, both use the same cluster, and the applier's objects are more important. */
const readsMax = 4;
const againMsMin = 5_000;
/** This maximum is short: when the cluster is reachable again, the objects should not wait long. */
const againMsMax = 60_000;

interface RequestedBody {
  readonly key: ObjectKey;
  failures: number;
  /** Present while a failed read waits for its next try. */
  timer?: Timer | undefined;
}

export class Bodies {
  readonly #ports: BodiesPorts;
  /** The bodies, keyed by uid. */
  readonly #whole = new Map<string, WholeObject>();
  /** The requested bodies, keyed by uid, in the order of the requests. */
  readonly #wanted = new Map<string, RequestedBody>();
  /** The uids of the objects that the agent is reading. */
  readonly #reading = new Set<string>();

  constructor(ports: BodiesPorts) {
    this.#ports = ports;
  }

  get size(): number {
    return this.#whole.size;
  }

  of(uid: string): Uint8Array | undefined {
    return this.#whole.get(uid)?.body;
  }

  /** Keeps the body of the object. Returns false if nothing in the object has changed. */
  set(uid: string, object: KubeObject): boolean {
    this.#unwant(uid);
    const before = this.#whole.get(uid);
    const whole = wholeObject(object, before);
    this.#whole.set(uid, whole);
    return whole !== before;
  }

  delete(uid: string): void {
    this.#unwant(uid);
    this.#whole.delete(uid);
  }

  /** Requests the body: the agent reads the object if it has no body. */
  want(uid: string, key: ObjectKey): void {
    if (this.#whole.has(uid) || this.#wanted.has(uid)) return;
    this.#wanted.set(uid, { key, failures: 0 });
    this.#next();
  }

  stop(): void {
    for (const uid of [...this.#wanted.keys()]) this.#unwant(uid);
  }

  #unwant(uid: string): void {
    this.#wanted.get(uid)?.timer?.stop();
    this.#wanted.delete(uid);
  }

  #next(): void {
    for (const [uid, wanted] of this.#wanted) {
      if (this.#reading.size >= readsMax) return;
      if (!this.#reading.has(uid) && !wanted.timer) void this.#read(uid, wanted);
    }
  }

  async #read(uid: string, wanted: RequestedBody): Promise<void> {
    this.#reading.add(uid);
    // The answer does not count in two cases: the watch has brought the object meanwhile, so that state is newer; or the request was withdrawn meanwhile.
    const isWanted = () => this.#wanted.get(uid) === wanted;
    try {
      const object = await this.#ports.get(wanted.key);
      if (isWanted()) {
        this.#unwant(uid);
        this.#take(uid, wanted.key, object);
      }
    } catch (error) {
      if (isWanted() && isForbidden(error)) this.#unwant(uid);
      else if (isWanted()) this.#failed(wanted, error);
    } finally {
      this.#reading.delete(uid);
      this.#next();
    }
  }

  #take(uid: string, key: ObjectKey, object: KubeObject | undefined): void {
    // Aggregated API servers may return an object without a uid. Then the key of the object replaces the uid.
    if (!object || (object.metadata.uid ?? formatKey(key)) !== uid) return;
    this.set(uid, object);
    this.#ports.read(uid, formatKey(key));
  }

  #failed(wanted: RequestedBody, error: unknown): void {
    if (wanted.failures === 0) this.#ports.failed(formatKey(wanted.key), error);
    wanted.timer = this.#ports.clock.after(Math.min(againMsMax, againMsMin * 2 ** wanted.failures), () => {
      wanted.timer = undefined;
      this.#next();
    });
    wanted.failures++;
  }
}

/** Whether the agent is not allowed to read the object. If the agent is allowed to list it, the object is reported when an event of the watch brings it. */
function isForbidden(error: unknown): boolean {
  return error instanceof BanyanError && error.code === 'Forbidden';
}
