/**
 * Runs work with a mark: writes the mark into the store before work on a key begins (crash-marks.ts explains the marks). A mark costs one write in the
 * transaction of a turn, and no flush. A commit survives the end of the process without a flush, and no entry can end the whole machine. Only the marks of
 * suspects are flushed. Suspects are few, and the guard works on one at a time.
 *
 * Bound: one mark for each piece of work that runs or that ended within two sweeps, one for each suspect, and one for each quarantined key.
 */
import type { Clock, Timer } from '../runtime/clock.ts';
import { describeError } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logger.ts';
import { asText, concat, prefixRange, text } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Store, Transaction } from '../store/store.ts';
import { afterStart, again, isRetryDue, type Mark, quarantineMinMs } from './crash-marks.ts';

export interface CrashGuardPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** The build of the program. Another build may be able to process an entry that ended this build, so a new build tries the entry again. */
  readonly build: string;
  /** The message of the error that ended the previous process (crash-message.ts). Undefined if the process left no message. */
  readonly crashMessage?: string | undefined;
  /** Calls `run` shortly after the present commit. */
  readonly schedule: (run: () => void) => void;
}

export interface CrashGuardEvents {
  /** Asks the listener to work on the key once more. */
  due(key: string): void;
  /** Called after the set of quarantined keys has changed. */
  changed(): void;
}

/**
 * Within this time after a piece of work, its effects have ended, including the first answers of the cluster. The guard sweeps marks at the same interval.
 */
export const settleMs = 250;
/** Maximal number of doubtful keys that the guard works on at once. A crash makes all of them suspects, and each suspect then costs a quarter of a second. */
export const siftedMax = 64;

/** The other work that may run at the same time as a piece of work: any work, only work on doubtful keys, or none (`apart`). */
export type Company = 'any' | 'doubtful' | 'apart';

export class CrashGuard {
  readonly #ports: CrashGuardPorts;
  readonly #marks: Map<string, Mark>;
  /** Keys whose work has ended since the last sweep. Their marks stay for now, because the effects of the work may still end the process. */
  #ended = new Set<string>();
  /** Keys whose work ended before the last sweep. The next sweep removes their marks. */
  #resting = new Set<string>();
  #sifting = 0;
  #sweeping: Timer | undefined;
  #retrying: Timer | undefined;
  readonly #sleepers = new Set<() => void>();
  #stopped = false;
  #events: CrashGuardEvents = { due() {}, changed() {} };

  constructor(ports: CrashGuardPorts) {
    this.#ports = ports;
    const { store, clock, log, build, crashMessage } = ports;
    const before = store.read((reader) => readMarks(reader.scan(prefixRange(prefixOf('crashMark')))));
    this.#marks = afterStart(before, { build, wallMs: clock.wallMs(), words: crashMessage });
    const changed = [...this.#marks].filter(([key, mark]) => before.get(key) !== mark);
    if (changed.length === 0) return;
    this.#write((t) => {
      for (const [key, mark] of changed) t.put(rowKey(key), text(JSON.stringify(mark)));
    });
    const keysIn = (state: Mark['state']) => changed.filter(([, mark]) => mark.state === state).map(([key]) => key);
    const [doubtful, suspect] = [keysIn('doubtful').length, keysIn('suspect').length];
    log.warn(
      { ...(doubtful > 0 ? { doubtful } : {}), suspect, quarantined: keysIn('quarantined'), words: crashMessage },
      'the process ended in the middle of work: the node does this work again, separately from other work',
    );
  }

  listen(events: CrashGuardEvents): void {
    this.#events = events;
    this.#scheduleRetry();
  }

  /** The other work that may run at the same time as work on the key. */
  companyOf(key: string): Company {
    const state = this.#marks.get(key)?.state;
    return state === 'suspect' ? 'apart' : state === 'doubtful' ? 'doubtful' : 'any';
  }

  /** True if the key is doubtful, suspect or quarantined. Until work on the key has succeeded, the node does not observe the object. */
  isHeldOff(key: string): boolean {
    const state = this.#marks.get(key)?.state;
    return state === 'doubtful' || state === 'suspect' || state === 'quarantined';
  }

  *quarantined(): Generator<readonly [key: string, mark: Mark]> {
    for (const [key, mark] of this.#marks) if (mark.state === 'quarantined') yield [key, mark];
  }

  /**
   * Does the work, or returns 'quarantined' if the key is quarantined with this hash. The work returns 'retry' if it may have ended before its dangerous part.
   * After 'retry', a doubtful or suspect key keeps its state. The work must not throw.
   */
  async work(
    key: string,
    hash: string,
    act: () => Promise<'done' | 'retry'>,
  ): Promise<'done' | 'retry' | 'quarantined'> {
    const former = this.#marks.get(key);
    const mark = former?.hash === hash ? former : undefined;
    if (mark?.state === 'quarantined') return 'quarantined';
    if (mark?.state === 'suspect') return this.#alone(key, mark, act);
    if (mark?.state === 'doubtful') return this.#sifted(key, mark, act);
    this.#ended.delete(key);
    this.#resting.delete(key);
    // A mark in state `sifting` is left from work on this key that has just ended. This work then counts as a part of the sifting.
    this.#put(key, mark?.state === 'sifting' ? mark : { hash, state: 'working', crashes: 0 });
    if (former?.state === 'quarantined') this.#events.changed();
    await new Promise<void>((resolve) => this.#ports.schedule(resolve));
    const result = await act();
    this.#ended.add(key);
    this.#scheduleSweep();
    return result;
  }

  /** Ends all waits of the guard at once. After this, the guard starts no wait. */
  stop(): void {
    this.#stopped = true;
    this.#sweeping?.stop();
    this.#retrying?.stop();
    for (const wake of this.#sleepers) wake();
  }

  /** Removes all marks of work. Call this when the process ends properly, after all work has ended. */
  end(): void {
    const isWork = ({ state }: Mark) => state === 'working' || state === 'sifting';
    this.#remove([...this.#marks].filter(([, mark]) => isWork(mark)).map(([key]) => key));
  }

  async #alone(key: string, mark: Mark, act: () => Promise<'done' | 'retry'>): Promise<'done' | 'retry'> {
    // Waits until the effects of other work have ended. Otherwise a crash that these effects cause would count against this key.
    while (!this.#stopped && this.#ended.size + this.#resting.size > 0) await this.#sleep(settleMs);
    this.#put(key, { ...mark, state: 'working' });
    // A disk that accepts no writes must not stop the work. Without the flush, this mark is as reliable as the marks of ordinary work.
    await this.#ports.store.flushed().catch(() => {});
    const result = await act();
    await this.#sleep(settleMs);
    if (result === 'done') this.#remove([key]);
    else this.#put(key, mark);
    return result;
  }

  /** Works on a doubtful key, at the same time as on other doubtful keys. At most `siftedMax` keys have work that runs, or whose effects have not ended. */
  async #sifted(key: string, mark: Mark, act: () => Promise<'done' | 'retry'>): Promise<'done' | 'retry'> {
    const isFull = () => this.#sifting + this.#ended.size + this.#resting.size >= siftedMax;
    while (!this.#stopped && isFull()) await this.#sleep(settleMs);
    this.#sifting++;
    this.#put(key, { ...mark, state: 'sifting' });
    await new Promise<void>((resolve) => this.#ports.schedule(resolve));
    const result = await act();
    this.#sifting--;
    if (result === 'retry') {
      this.#put(key, mark);
      return result;
    }
    this.#ended.add(key);
    this.#scheduleSweep();
    return result;
  }

  #sleep(ms: number): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        timer.stop();
        this.#sleepers.delete(wake);
        resolve();
      };
      const timer = this.#ports.clock.after(ms, wake);
      this.#sleepers.add(wake);
    });
  }

  #scheduleSweep(): void {
    if (this.#stopped) return;
    this.#sweeping ??= this.#ports.clock.after(settleMs, () => {
      this.#sweeping = undefined;
      const settled = [...this.#resting];
      this.#resting = this.#ended;
      this.#ended = new Set();
      this.#remove(settled);
      if (this.#resting.size > 0) this.#scheduleSweep();
    });
  }

  /** Looks at intervals for keys whose quarantine has expired, and allows one more attempt for each of them. */
  #scheduleRetry(): void {
    const { clock } = this.#ports;
    if (this.#stopped || [...this.quarantined()].length === 0) return;
    this.#retrying = clock.after(quarantineMinMs / 4, () => {
      for (const [key, mark] of [...this.quarantined()]) {
        if (!isRetryDue(mark, clock.wallMs())) continue;
        this.#put(key, again(mark));
        this.#events.changed();
        this.#events.due(key);
      }
      this.#scheduleRetry();
    });
  }

  #put(key: string, mark: Mark): void {
    this.#marks.set(key, mark);
    this.#write((t) => t.put(rowKey(key), text(JSON.stringify(mark))));
  }

  #remove(keys: readonly string[]): void {
    if (keys.length === 0) return;
    for (const key of keys) this.#marks.delete(key);
    this.#write((t) => {
      for (const key of keys) t.remove(rowKey(key));
    });
  }

  /** Writes marks. If the write fails, the work continues without a mark: a full disk must not stop the work, which may even free space. */
  #write(act: (t: Transaction) => void): void {
    try {
      this.#ports.store.write(act);
    } catch (error) {
      this.#ports.log.warn({ error: describeError(error) }, 'a mark of work could not be written');
    }
  }
}

function readMarks(rows: Iterable<[Uint8Array, Uint8Array]>): Map<string, Mark> {
  const { length } = prefixOf('crashMark');
  return new Map(Array.from(rows, ([key, value]) => [asText(key.subarray(length)), JSON.parse(asText(value)) as Mark]));
}

function rowKey(key: string): Uint8Array {
  return concat(prefixOf('crashMark'), text(key));
}
