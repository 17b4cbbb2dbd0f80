/**
 * Writes a mark into the store before work on a key begins (crash-marks.ts). A mark costs one write in the transaction of a turn, and no flush: a commit
 * survives the end of the process, and if the whole machine ends, no entry caused it. Only the marks of suspects are flushed. Suspects are few, and the
 * guard works on one at a time.
 *
 * Bound: one mark for each piece of work that runs or has ended within two sweeps, and one for each suspect and each quarantined key.
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
  /** The build of the program. Another build may be able to handle an entry that ended this build, so a new build tries again. */
  readonly build: string;
  /** The message of the error that ended the former process (crash-message.ts). Undefined if the process left none. */
  readonly crashMessage?: string | undefined;
  /** Calls `run` shortly after the present commit. */
  readonly schedule: (run: () => void) => void;
}

export interface CrashGuardEvents {
  /** The listener has to work on the key once more. */
  due(key: string): void;
  /** The set of quarantined keys changed. */
  changed(): void;
}

/** The effects of a piece of work end within this time, including the first answers of the cluster. The guard also sweeps marks at this interval. */
export const settleMs = 250;
/** Number of doubtful keys in work at once. A crash makes all of them suspects, and each suspect then costs a quarter of a second. */
export const siftedMax = 64;

/** The other work that may run beside a piece of work: any, doubtful work only, or none (`apart`). */
export type Company = 'any' | 'doubtful' | 'apart';

export class CrashGuard {
  readonly #ports: CrashGuardPorts;
  readonly #marks: Map<string, Mark>;
  /** Keys whose work has ended since the last sweep. Their marks stay for now, because effects of the work may still end the process. */
  #ended = new Set<string>();
  /** Keys whose work had ended before the last sweep. The next sweep removes their marks. */
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
      'the process ended in the middle of work: what it worked on is done again apart from the rest',
    );
  }

  listen(events: CrashGuardEvents): void {
    this.#events = events;
    this.#scheduleRetry();
  }

  /** The other work that may run beside work on the key. */
  companyOf(key: string): Company {
    const state = this.#marks.get(key)?.state;
    return state === 'suspect' ? 'apart' : state === 'doubtful' ? 'doubtful' : 'any';
  }

  /** True if the key is doubtful, suspect or quarantined. The node does not observe the object until work on the key has succeeded. */
  isHeldOff(key: string): boolean {
    const state = this.#marks.get(key)?.state;
    return state === 'doubtful' || state === 'suspect' || state === 'quarantined';
  }

  *quarantined(): Generator<readonly [key: string, mark: Mark]> {
    for (const [key, mark] of this.#marks) if (mark.state === 'quarantined') yield [key, mark];
  }

  /**
   * Does the work, or returns 'quarantined' if the key is quarantined with this hash. If the key is held off and the work returns 'retry', the work may not
   * have reached its dangerous part. Then the key keeps its former state. The work must not throw.
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
    // If the sifting of this key has just ended, and its mark is still there, this work counts as a part of the sifting.
    this.#put(key, mark?.state === 'sifting' ? mark : { hash, state: 'working', crashes: 0 });
    if (former?.state === 'quarantined') this.#events.changed();
    await new Promise<void>((resolve) => this.#ports.schedule(resolve));
    const result = await act();
    this.#ended.add(key);
    this.#scheduleSweep();
    return result;
  }

  /** Ends all waits of the guard at once, and starts no new ones. */
  stop(): void {
    this.#stopped = true;
    this.#sweeping?.stop();
    this.#retrying?.stop();
    for (const wake of this.#sleepers) wake();
  }

  /** Removes all marks of work. For an orderly end of the process, after all work has ended. */
  end(): void {
    const isWork = ({ state }: Mark) => state === 'working' || state === 'sifting';
    this.#remove([...this.#marks].filter(([, mark]) => isWork(mark)).map(([key]) => key));
  }

  async #alone(key: string, mark: Mark, act: () => Promise<'done' | 'retry'>): Promise<'done' | 'retry'> {
    // Waits until the effects of other work are over. Otherwise a crash that they cause would be blamed on this key.
    while (!this.#stopped && this.#ended.size + this.#resting.size > 0) await this.#sleep(settleMs);
    this.#put(key, { ...mark, state: 'working' });
    // A disk that takes no writes must not hold up the work. Without the flush, this mark is as good as the marks of ordinary work.
    await this.#ports.store.flushed().catch(() => {});
    const result = await act();
    await this.#sleep(settleMs);
    if (result === 'done') this.#remove([key]);
    else this.#put(key, mark);
    return result;
  }

  /** Works on a doubtful key beside other doubtful keys. At most `siftedMax` of them run or still have effects. */
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

  /** Looks at intervals for keys whose quarantine is over, and allows one more attempt for each. */
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

  /** A full disk must not hold up the work: the work may even free space. If the write fails, the work goes on without a mark. */
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
