/**
 * Finds the piece of the scheduler's work that ends the process, and quarantines it. All other work goes on, and mailboxes keep what they had.
 *
 * Before each piece, the guard writes the piece to the crash journal (relay/process/crash-journal.ts), a file beside the store. Each step of the scheduler is
 * one transaction; if the process ends during a step, nothing of the step is stored. A start that finds a piece in the journal makes it a suspect
 * (core/crash/crash-marks.ts explains the marks). If a second start finds the same piece, this piece is the reason. The guard does not see work that a piece
 * causes after its step.
 *
 * Bound: one mark for each quarantined or suspect piece.
 */
import {
  afterStart,
  again,
  crashReason,
  isRetryDue,
  type Mark,
  quarantineMinMs,
} from '../../core/crash/crash-marks.ts';
import type { Quarantined } from '../../core/feed/quarantine.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { describeError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import { asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Store, Transaction } from '../../core/store/store.ts';
import { clearDirty, markDirty, type ScheduleWork, type WorkClass } from './dirty.ts';
import { ownNodeTopic } from './topics.ts';

/** A piece of work, with its name for people. */
export interface WorkItem {
  readonly in: WorkClass;
  readonly work: ScheduleWork;
  readonly about: string;
}

/** A file that keeps its record when the process ends, but perhaps not when the machine ends. When the process ends, no record is half written. */
export interface CrashJournal {
  /** The record that was in the journal when the last process ended. */
  readonly found: string | undefined;
  write(record: string): void;
}

export interface PoisonWorkGuardPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** The build of the program. Another build may be able to do the work that ended the process of this one. */
  readonly build: string;
  /** The last message of the process that ended before this one. */
  readonly crashMessage?: string | undefined;
  /** Absent if work can't end the process. */
  readonly crashJournal?: CrashJournal | undefined;
}

type Marked = Mark & WorkItem;

export class PoisonWorkGuard {
  readonly #ports: PoisonWorkGuardPorts;
  readonly #marks: Map<string, Marked>;
  #isRecorded = false;
  #retryTimer: Timer | undefined;

  constructor(ports: PoisonWorkGuardPorts) {
    this.#ports = ports;
    const { store, clock, log, build, crashMessage: words, crashJournal } = ports;
    const before = store.read((reader) => readMarks(reader));
    const interrupted = readRecord(crashJournal?.found);
    if (interrupted) before.set(nameOf(interrupted), working(interrupted, before.get(nameOf(interrupted))));
    this.#marks = withWork(before, afterStart(before, { build, wallMs: clock.wallMs(), words }));
    const changed = [...this.#marks].filter(([key, { state }]) => before.get(key)?.state !== state);
    crashJournal?.write('');
    if (changed.length === 0) return;
    this.#write((t) => {
      for (const [key, mark] of changed) {
        put(t, key, mark);
        // Nobody waits for a quarantined piece, so it is not dirty any more. A piece that is tried again is dirty.
        if (mark.state === 'quarantined') clearDirty(t, mark.in, mark.work.key);
        else redo(t, mark);
      }
    });
    log.warn({ pieces: changed.map(([key]) => key), words }, 'the process ended in the middle of work');
  }

  start(): void {
    this.#retryLater();
  }

  stop(): void {
    this.#retryTimer?.stop();
  }

  /**
   * Records the piece that begins now. `about` is a name of the piece for people; absent: its key. Returns the work to do in the caller's transaction, or
   * undefined if the piece is quarantined.
   */
  begin(t: Transaction, in_: WorkClass, work: ScheduleWork, about?: string): ScheduleWork | undefined {
    const todo = this.#marks.size === 0 ? work : this.#take(t, in_, work);
    if (!todo) return undefined;
    const piece: WorkItem = { in: in_, work: todo, about: about ?? (in_ === 'row' ? work.key : `${in_} ${work.key}`) };
    this.#ports.crashJournal?.write(JSON.stringify(piece));
    this.#isRecorded = true;
    return todo;
  }

  /** Call it when the piece was done. When its transaction is committed, the piece is no suspect any more. */
  ended(t: Transaction, in_: WorkClass, work: ScheduleWork): void {
    if (this.#marks.size === 0) return;
    const key = nameOf({ in: in_, work });
    if (this.#marks.get(key)?.state !== 'suspect') return;
    t.remove(rowKey(key));
    t.afterCommit(() => this.#marks.delete(key));
  }

  /** Call it when the scheduler works on no piece. */
  rest(): void {
    if (this.#isRecorded) this.#ports.crashJournal?.write('');
    this.#isRecorded = false;
  }

  quarantinedWork(): Quarantined[] {
    return [...this.#marks.values()]
      .filter(({ state }) => state === 'quarantined')
      .map((mark) => ({ key: mark.about, originRevision: mark.work.originRevision, reason: crashReason(mark) }));
  }

  #take(t: Transaction, in_: WorkClass, work: ScheduleWork): ScheduleWork | undefined {
    const key = nameOf({ in: in_, work });
    const mark = this.#marks.get(key);
    if (mark?.state !== 'quarantined') return work;
    const both = merged(mark.work, work);
    if (work.originRevision > mark.work.originRevision) {
      t.remove(rowKey(key));
      t.afterCommit(() => this.#marks.delete(key));
      t.announce(ownNodeTopic, 'self');
      return both;
    }
    const more = { ...mark, work: both };
    put(t, key, more);
    t.afterCommit(() => this.#marks.set(key, more));
    return undefined;
  }

  /** Tries pieces again that have been quarantined long enough. */
  #retryLater(): void {
    const { clock } = this.#ports;
    this.#retryTimer = clock.after(quarantineMinMs / 4, () => {
      const retried = [...this.#marks].filter(
        ([, mark]) => mark.state === 'quarantined' && isRetryDue(mark, clock.wallMs()),
      );
      this.#write((t) => {
        for (const [key, mark] of retried) {
          const suspect: Marked = { ...again(mark), in: mark.in, work: mark.work, about: mark.about };
          t.afterCommit(() => this.#marks.set(key, suspect));
          put(t, key, suspect);
          redo(t, suspect);
          t.announce(ownNodeTopic, 'self');
        }
      });
      this.#retryLater();
    });
  }

  /** A full disk must not stop the work. If the mark can't be written, the work goes on without it. */
  #write(act: (t: Transaction) => void): void {
    try {
      this.#ports.store.write(act);
    } catch (error) {
      this.#ports.log.warn(
        { error: describeError(error) },
        'the mark of a piece of work could not be written: the work goes on',
      );
    }
  }
}

const rowPrefix = concat(prefixOf('crashMark'), text('work/'));

/** If the machine ended, the file may contain anything. */
function readRecord(record: string | undefined): WorkItem | undefined {
  try {
    return record === undefined ? undefined : (JSON.parse(record) as WorkItem);
  } catch {
    return undefined;
  }
}

function readMarks(reader: Reader): Map<string, Marked> {
  const rows = reader.scan(prefixRange(rowPrefix));
  return new Map(
    Array.from(rows, ([key, value]) => [asText(key.subarray(rowPrefix.length)), JSON.parse(asText(value)) as Marked]),
  );
}

/**
 * Returns the mark of a piece during which the process ended. If the piece has another hash than its earlier mark, it is other work, and its crashes count from
 * 0.
 */
function working(piece: WorkItem, former: Marked | undefined): Marked {
  const hash = hashOf(piece.work);
  return { ...piece, hash, state: 'working', crashes: former?.hash === hash ? former.crashes : 0 };
}

function withWork(before: ReadonlyMap<string, Marked>, after: ReadonlyMap<string, Mark>): Map<string, Marked> {
  return new Map(
    Array.from(after, ([key, mark]) => {
      const { in: in_, work, about } = before.get(key)!;
      return [key, { ...mark, in: in_, work, about }];
    }),
  );
}

function redo(t: Transaction, { in: in_, work }: Marked): void {
  markDirty(t, in_, work.key, work.refs, work.originRevision);
}

function merged(one: ScheduleWork, other: ScheduleWork): ScheduleWork {
  return {
    key: one.key,
    refs: [...new Set([...one.refs, ...other.refs])].sort(),
    originRevision: Math.max(one.originRevision, other.originRevision),
  };
}

/**
 * The hash of a piece is its revision. Work without a revision always has the same hash, because its key does not show whether the work behind it has changed.
 */
function hashOf({ originRevision }: ScheduleWork): string {
  return String(originRevision);
}

function put(t: Transaction, key: string, mark: Marked): void {
  t.put(rowKey(key), text(JSON.stringify(mark)));
}

function rowKey(key: string): Uint8Array {
  return concat(rowPrefix, text(key));
}

function nameOf({ in: in_, work }: Pick<WorkItem, 'in' | 'work'>): string {
  return `${in_} ${work.key}`;
}
