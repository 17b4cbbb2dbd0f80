/**
 * Follows the key file of a running node, and seals the store anew when the file has another first key. So whoever changes the file, a person, `banyan rekey` or
 * a mounted Secret, has to tell the node nothing.
 */
import type { Clock, Timer } from '../runtime/clock.ts';
import { BanyanError, describeError } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logger.ts';
import { lacksRoom, roomAgainMs } from '../store/room.ts';
import type { Store } from '../store/store.ts';
import { resealStep, settle } from './resealing.ts';
import type { Sealer } from './sealer.ts';
import type { SealingKey } from './sealing-keys.ts';
import { putSealingRecord, readSealingRecord, withFirstKey } from './sealing-record.ts';

export interface RekeyingPorts {
  /** The store below the sealing. */
  readonly store: Store;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly log: Logger;
  /** Reads the key file, if its content may have changed since the last call. Undefined: it has not. Throws BadRequest for a bad file. */
  changedKeys(): readonly SealingKey[] | undefined;
}

/** How often the node looks at its key file: one call of the file system. */
const lookEveryMs = 2_000;
/** Pause between two steps of a pass: most of the time belongs to the node's own work. */
const pauseMs = 10;

export class Rekeying implements AsyncDisposable {
  readonly #ports: RekeyingPorts;
  #timer: Timer | undefined;
  #step: Timer | undefined;
  #settling: Promise<void> | undefined;
  #lastProblem = '';
  /** Keys of a changed file that are not in use yet, because the store was full. */
  #found: readonly SealingKey[] | undefined;
  #ended = false;

  constructor(ports: RekeyingPorts) {
    this.#ports = ports;
  }

  /** Begins a pass if the store needs one. */
  start(): void {
    this.#continue(0);
    this.#lookLater();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended = true;
    this.#timer?.stop();
    this.#step?.stop();
    await this.#settling;
  }

  #lookLater(): void {
    this.#timer = this.#ports.clock.after(lookEveryMs, () => {
      this.#look();
      this.#lookLater();
    });
  }

  /** A file that can't be used is told once, and the node goes on with the keys that it has. */
  #look(): void {
    const { log, sealer } = this.#ports;
    try {
      this.#found = this.#ports.changedKeys() ?? this.#found;
      const keys = this.#found;
      if (keys) {
        this.#noteFirst(keys[0]!.id);
        log.info({ first: keys[0]!.id, keys: keys.length }, 'the key file was changed and read again');
      }
      this.#found = undefined;
      this.#lastProblem = '';
      if (!keys) return;
      sealer.use(keys);
      this.#warnOfMissing(keys);
      this.#continue(0);
    } catch (error) {
      const problem = describeError(error);
      if (problem !== this.#lastProblem) log.error({ error: problem }, 'the node goes on with the keys that it has');
      this.#lastProblem = problem;
    }
  }

  /** The record names the key before the first value is sealed with it. */
  #noteFirst(first: string): void {
    this.#ports.store.write((t) => {
      const record = readSealingRecord(t);
      if (record && record.keys[0] !== first) putSealingRecord(t, withFirstKey(record, first));
    });
  }

  #warnOfMissing(keys: readonly SealingKey[]): void {
    const needed = this.#ports.store.read(readSealingRecord)?.keys ?? [];
    const missing = needed.filter((id) => !keys.some((key) => key.id === id));
    const remedy = 'put it back until the node logs that all values are sealed with the first key';
    if (missing.length > 0)
      this.#ports.log.error({ missing }, `values are sealed with a key that the file lacks; ${remedy}`);
  }

  #continue(delayMs: number): void {
    this.#step?.stop();
    if (this.#ended) return;
    this.#step = this.#ports.clock.after(delayMs, () => this.#run());
  }

  #run(): void {
    const { store, sealer, log } = this.#ports;
    try {
      const result = resealStep(store, sealer);
      if (result === 'more') this.#continue(pauseMs);
      else this.#settleLater();
    } catch (error) {
      if (lacksRoom(error)) return this.#continue(roomAgainMs);
      // A value that can't be opened stays as it is. The other values are as before, sealed with keys that the node has.
      if (!(error instanceof BanyanError)) throw error;
      log.error({ error: describeError(error) }, 'values can not be sealed with the new key: keep the former keys');
    }
  }

  #settleLater(): void {
    const { log } = this.#ports;
    this.#settling ??= this.#settle()
      .catch((error: unknown) => {
        log.error({ error: describeError(error) }, 'the end of the sealing was not noted; the next start notes it');
      })
      .finally(() => {
        this.#settling = undefined;
      });
  }

  /** Notes the end of the pass after a flush. If another pass has ended during the flush, its end needs a flush of its own. */
  async #settle(): Promise<void> {
    const { store, log } = this.#ports;
    for (;;) {
      const ended = store.read(readSealingRecord);
      if (!ended || ended.settled || ended.keys.length > 1) return;
      await store.flushed();
      if (settle(store, ended))
        log.info({ key: ended.keys[0], values: ended.resealed }, 'all values are sealed with the first key');
    }
  }
}
