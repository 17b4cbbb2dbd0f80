/**
 * The bodies of objects that are reported whole. The agent receives events of every object of a resource that rules name. But it may report few of them:
 * those that belong to a placed object, or that are within a bound. The others have no body here. If such an object has to be reported later, the agent
 * reads it, unless its watch brings it before.
 *
 * A failed read is tried again, with growing delays for each object: an object may stay larger than the agent may hold, or its webhook may not answer, for
 * days.
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
  /** The object has a body now. */
  read(uid: string, key: string): void;
  /** The object could not be read, for the first time since its body was requested. */
  failed(key: string, error: unknown): void;
}

/** Half of the concurrency of the applier. After a start both use the same cluster, and the applier's objects are more important. */
const readsMax = 4;
const againMsMin = 5_000;
/** A short maximum: when the cluster is reachable again, the objects should not wait long. */
const againMsMax = 60_000;

interface RequestedBody {
  readonly key: ObjectKey;
  failures: number;
  /** Present while a failed read waits for its next try. */
  timer?: Timer | undefined;
}

export class Bodies {
  readonly #ports: BodiesPorts;
  /** By uid. */
  readonly #whole = new Map<string, WholeObject>();
  /** By uid, in the order of the requests. */
  readonly #wanted = new Map<string, RequestedBody>();
  /** Uids. */
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

  /** Returns false if nothing has changed in the object. */
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

  /** Reads the object if it has no body. */
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
    // The answer does not count if the watch has brought the object meanwhile, because that state is newer, or if the body was not requested all the time.
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
    // Aggregated API servers may return an object without a uid. Then its key stands for the uid.
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

/** An object that the agent may list but not read is reported when an event of its watch brings it. */
function isForbidden(error: unknown): boolean {
  return error instanceof BanyanError && error.code === 'Forbidden';
}
