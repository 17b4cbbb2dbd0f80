/**
 * Marks work in the store before it begins (crash-marks.ts). A mark costs a write in the transaction of a turn and no flush: what is committed survives the end
 * of the process, and when the machine ends it was no entry's fault. Only suspects, which are few, are marked durably, and wait for each other.
 *
 * Bound: a mark for each piece of work that runs or has ended within two sweeps, and one for each suspect and each quarantined key.
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
  /** Of the program: another build may have learned to take what ended this one. */
  readonly build: string;
  /** What the process said as it ended last. */
  readonly crashMessage?: string | undefined;
  /** Has `run` called soon, after the commit that runs now. */
  readonly schedule: (run: () => void) => void;
}

export interface CrashGuardEvents {
  /** The key is to be worked on once more. */
  due(key: string): void;
  /** What is quarantined is something else now. */
  changed(): void;
}

/** What the work set off comes to its end within this, the cluster's first answers included; it is also how often marks are swept. */
export const settleMs = 250;
/** What is doubtful is sifted so many at a time: a crash among them makes as many suspect, which then cost a quarter of a second each. */
export const siftedMax = 64;

/** With which other work it may run: `apart`: with none. */
export type Company = 'any' | 'doubtful' | 'apart';

export class CrashGuard {
  readonly #ports: CrashGuardPorts;
  readonly #marks: Map<string, Mark>;
  /** Of which the work has ended since the last sweep, and before it. */
  #ended = new Set<string>();
  #resting = new Set<string>();
  #sifting = 0;
  #sweeping: Timer | undefined;
  #retrying: Timer | undefined;
  readonly #sleepers = new Set<() => void>();
  #stopped = false;
  #told: CrashGuardEvents = { due() {}, changed() {} };

  constructor(ports: CrashGuardPorts) {
    this.#ports = ports;
    const { store, clock, log, build, crashMessage: words } = ports;
    const before = store.read((reader) => readMarks(reader.scan(prefixRange(prefixOf('crashMark')))));
    this.#marks = afterStart(before, { build, wallMs: clock.wallMs(), words });
    const changed = [...this.#marks].filter(([key, mark]) => before.get(key) !== mark);
    if (changed.length === 0) return;
    this.#write((t) => {
      for (const [key, mark] of changed) t.put(rowKey(key), text(JSON.stringify(mark)));
    });
    const named = (state: Mark['state']) => changed.filter(([, mark]) => mark.state === state).map(([key]) => key);
    const [doubtful, suspect] = [named('doubtful').length, named('suspect').length];
    log.warn(
      { ...(doubtful > 0 ? { doubtful } : {}), suspect, quarantined: named('quarantined'), words },
      'the process ended in the middle of work: what it worked on is done again apart from the rest',
    );
  }

  listen(told: CrashGuardEvents): void {
    this.#told = told;
    this.#retryLater();
  }

  /** Of the work on the key. */
  companyOf(key: string): Company {
    const state = this.#marks.get(key)?.state;
    return state === 'suspect' ? 'apart' : state === 'doubtful' ? 'doubtful' : 'any';
  }

  /** Doubtful, suspect or quarantined: nothing of it is looked at until work on it has gone well. */
  isHeldOff(key: string): boolean {
    const state = this.#marks.get(key)?.state;
    return state === 'doubtful' || state === 'suspect' || state === 'quarantined';
  }

  *quarantined(): Generator<readonly [key: string, mark: Mark]> {
    for (const [key, mark] of this.#marks) if (mark.state === 'quarantined') yield [key, mark];
  }

  /**
   * Does the work, unless it is known to end the process: 'quarantined'. Work on what is held off that says 'retry' may not have come to what is dangerous: it
   * stays what it was. The work must not throw.
   */
  async work(
    key: string,
    hash: string,
    act: () => Promise<'done' | 'retry'>,
  ): Promise<'done' | 'retry' | 'quarantined'> {
    const known = this.#marks.get(key);
    const mark = known?.hash === hash ? known : undefined;
    if (mark?.state === 'quarantined') return 'quarantined';
    if (mark?.state === 'suspect') return this.#alone(key, mark, act);
    if (mark?.state === 'doubtful') return this.#sifted(key, mark, act);
    this.#ended.delete(key);
    this.#resting.delete(key);
    // Work on what has just been sifted counts as a part of that.
    this.#put(key, mark?.state === 'sifting' ? mark : { hash, state: 'working', crashes: 0 });
    if (known?.state === 'quarantined') this.#told.changed();
    await new Promise<void>((resolve) => this.#ports.schedule(resolve));
    const result = await act();
    this.#ended.add(key);
    this.#sweepLater();
    return result;
  }

  /** No piece of work is waited for in vain from now on. */
  stop(): void {
    this.#stopped = true;
    this.#sweeping?.stop();
    this.#retrying?.stop();
    for (const wake of this.#sleepers) wake();
  }

  /** All work has ended, and so does the process: in order. */
  end(): void {
    const isWork = ({ state }: Mark) => state === 'working' || state === 'sifting';
    this.#remove([...this.#marks].filter(([, mark]) => isWork(mark)).map(([key]) => key));
  }

  async #alone(key: string, mark: Mark, act: () => Promise<'done' | 'retry'>): Promise<'done' | 'retry'> {
    // What others have set off is over before: it would be blamed on this one.
    while (!this.#stopped && this.#ended.size + this.#resting.size > 0) await this.#sleep(settleMs);
    this.#put(key, { ...mark, state: 'working' });
    // A disk that takes nothing must not hold up the work: the mark is then as good as the others', without a flush.
    await this.#ports.store.flushed().catch(() => {});
    const result = await act();
    await this.#sleep(settleMs);
    if (result === 'done') this.#remove([key]);
    else this.#put(key, mark);
    return result;
  }

  /** Beside others of its kind, as far as what they set off has settled. */
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
    this.#sweepLater();
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

  #sweepLater(): void {
    if (this.#stopped) return;
    this.#sweeping ??= this.#ports.clock.after(settleMs, () => {
      this.#sweeping = undefined;
      const over = [...this.#resting];
      this.#resting = this.#ended;
      this.#ended = new Set();
      this.#remove(over);
      if (this.#resting.size > 0) this.#sweepLater();
    });
  }

  /** One more attempt for each whose quarantine is over. */
  #retryLater(): void {
    const { clock } = this.#ports;
    if (this.#stopped || [...this.quarantined()].length === 0) return;
    this.#retrying = clock.after(quarantineMinMs / 4, () => {
      for (const [key, mark] of [...this.quarantined()]) {
        if (!isRetryDue(mark, clock.wallMs())) continue;
        this.#put(key, again(mark));
        this.#told.changed();
        this.#told.due(key);
      }
      this.#retryLater();
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

  /** A full disk must not hold up the work, which may be what makes room: it goes on unmarked. */
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
