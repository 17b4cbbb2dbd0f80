/**
 * Bodies of objects that are told whole. Of a resource that rules name the agent hears of every object of the cluster, and those that are told, since they are below a
 * placed one or within a bound, may be few: others have no body here. One that turns out later to be told is read, unless its watch tells of it before.
 *
 * Bound: `readsMax` reads at once; one waiting read for each object that is to be told.
 */
import { formatKey, type ObjectKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { type WholeObject, wholeObject } from './whole-object.ts';

export interface BodiesPorts {
  get(key: ObjectKey): Promise<KubeObject | undefined>;
  /** The object has a body now. */
  read(uid: string, key: string): void;
  /** The cluster does not answer; what was to be read has to be asked for again. */
  failed(error: unknown): void;
}

/** Half of what the applier asks at once: at a start both have the same cluster before them, and its objects come first. */
const readsMax = 4;

export class Bodies {
  readonly #ports: BodiesPorts;
  /** By uid. */
  readonly #whole = new Map<string, WholeObject>();
  /** By uid, in the order of asking. */
  readonly #wanted = new Map<string, { readonly key: ObjectKey }>();
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
    this.#wanted.delete(uid);
    const before = this.#whole.get(uid);
    const whole = wholeObject(object, before);
    this.#whole.set(uid, whole);
    return whole !== before;
  }

  delete(uid: string): void {
    this.#wanted.delete(uid);
    this.#whole.delete(uid);
  }

  /** Reads it if it has none. */
  want(uid: string, key: ObjectKey): void {
    if (this.#whole.has(uid) || this.#wanted.has(uid)) return;
    this.#wanted.set(uid, { key });
    this.#next();
  }

  stop(): void {
    this.#wanted.clear();
  }

  #next(): void {
    for (const [uid, wanted] of this.#wanted) {
      if (this.#reading.size >= readsMax) return;
      if (!this.#reading.has(uid)) void this.#read(uid, wanted);
    }
  }

  async #read(uid: string, wanted: { readonly key: ObjectKey }): Promise<void> {
    this.#reading.add(uid);
    // Not if the watch has told of it meanwhile, which is newer, or nobody has wanted it for a while.
    const isWanted = () => this.#wanted.get(uid) === wanted;
    try {
      const object = await this.#ports.get(wanted.key);
      if (isWanted() && object?.metadata.uid === uid) {
        this.set(uid, object);
        this.#ports.read(uid, formatKey(wanted.key));
      }
    } catch (error) {
      if (isWanted() && !isForbidden(error)) this.#ports.failed(error);
    } finally {
      this.#reading.delete(uid);
      if (isWanted()) this.#wanted.delete(uid);
      this.#next();
    }
  }
}

/** What may be listed and not read is told of when it changes. */
function isForbidden(error: unknown): boolean {
  return error instanceof BanyanError && error.code === 'Forbidden';
}
