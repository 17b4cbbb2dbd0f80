/**
 * Bodies of objects that are told whole. Of a resource that rules name the agent hears of every object of the cluster, and those that are told, since they are below a
 * placed one or within a bound, may be few: others have no body here. One that turns out later to be told is read, unless its watch tells of it before.
 *
 * What can't be read is tried again, each object less and less often: another one may be larger than the agent may hold, or its webhook may not answer, for days.
 *
 * Bound: `readsMax` reads at once; one waiting read for each object that is to be told.
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
  /** It could not be read, for the first time since it was wanted. */
  failed(key: string, error: unknown): void;
}

/** Half of what the applier asks at once: at a start both have the same cluster before them, and its objects come first. */
const readsMax = 4;
const againMsMin = 5_000;
/** What comes back with the cluster is not to wait for long. */
const againMsMax = 60_000;

interface RequestedBody {
  readonly key: ObjectKey;
  failures: number;
  /** Until it is tried again. */
  timer?: Timer | undefined;
}

export class Bodies {
  readonly #ports: BodiesPorts;
  /** By uid. */
  readonly #whole = new Map<string, WholeObject>();
  /** By uid, in the order of asking. */
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

  /** False: nothing has happened to it. */
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

  /** Reads it if it has none. */
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
    // Not if the watch has told of it meanwhile, which is newer, or nobody has wanted it for a while.
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
    // Servers behind the cluster's own may give no uid: its key stands for it then.
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

/** What may be listed and not read is told of when it changes. */
function isForbidden(error: unknown): boolean {
  return error instanceof BanyanError && error.code === 'Forbidden';
}
