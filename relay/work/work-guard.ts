/**
 * Finds the piece of the scheduler's work that ends the process, and sets it aside: all else goes on, and what was in mailboxes stays.
 *
 * Before each piece its name is noted (crash-journal.ts), beside the store: the step that it is part of is one transaction, of which nothing is left when the
 * process ends in it. A start that finds a note has a suspect (core/crash/crash-marks.ts says what such marks mean); a piece that was noted twice is the one. What
 * a piece sets off after its step is not looked at.
 *
 * Bound: a mark for each piece that is set aside or suspect.
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

/** Outlives the process and not the machine; nothing of it is ever half there. */
export interface CrashJournal {
  /** What was noted when the last process ended. */
  readonly found: string | undefined;
  write(words: string): void;
}

export interface PoisonWorkGuardPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Of the program: another build may have learned to take what ended this one. */
  readonly build: string;
  /** What the process said as it ended last. */
  readonly crashMessage?: string | undefined;
  /** Absent: the process does not end by itself. */
  readonly workNote?: CrashJournal | undefined;
}

type Marked = Mark & WorkItem;

export class PoisonWorkGuard {
  readonly #ports: PoisonWorkGuardPorts;
  readonly #marks: Map<string, Marked>;
  #isNoted = false;
  #retrying: Timer | undefined;

  constructor(ports: PoisonWorkGuardPorts) {
    this.#ports = ports;
    const { store, clock, log, build, crashMessage: words, workNote } = ports;
    const before = store.read((reader) => readMarks(reader));
    const noted = readNote(workNote?.found);
    if (noted) before.set(nameOf(noted), working(noted, before.get(nameOf(noted))));
    this.#marks = found(before, afterStart(before, { build, wallMs: clock.wallMs(), words }));
    const changed = [...this.#marks].filter(([key, { state }]) => before.get(key)?.state !== state);
    workNote?.write('');
    if (changed.length === 0) return;
    this.#write((t) => {
      for (const [key, mark] of changed) {
        put(t, key, mark);
        // What is set aside is no work that others wait for; what is tried again is.
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
    this.#retrying?.stop();
  }

  /** Names the piece that begins now; `about` only when it is not its key. What is to be done of it, in the caller's transaction; undefined: it is set aside. */
  begin(t: Transaction, in_: WorkClass, work: ScheduleWork, about?: string): ScheduleWork | undefined {
    const todo = this.#marks.size === 0 ? work : this.#take(t, in_, work);
    if (!todo) return undefined;
    const piece: WorkItem = { in: in_, work: todo, about: about ?? (in_ === 'row' ? work.key : `${in_} ${work.key}`) };
    this.#ports.workNote?.write(JSON.stringify(piece));
    this.#isNoted = true;
    return todo;
  }

  /** The piece went well: no suspect any more, once its transaction has been committed. */
  ended(t: Transaction, in_: WorkClass, work: ScheduleWork): void {
    if (this.#marks.size === 0) return;
    const key = nameOf({ in: in_, work });
    if (this.#marks.get(key)?.state !== 'suspect') return;
    t.remove(rowKey(key));
    t.afterCommit(() => this.#marks.delete(key));
  }

  /** No piece is worked on. */
  rest(): void {
    if (this.#isNoted) this.#ports.workNote?.write('');
    this.#isNoted = false;
  }

  setAside(): Quarantined[] {
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

  /** One more attempt for each that has been set aside long enough. */
  #retryLater(): void {
    const { clock } = this.#ports;
    this.#retrying = clock.after(quarantineMinMs / 4, () => {
      const waited = [...this.#marks].filter(
        ([, mark]) => mark.state === 'quarantined' && isRetryDue(mark, clock.wallMs()),
      );
      this.#write((t) => {
        for (const [key, mark] of waited) {
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

  /** A full disk must not hold up the work: it goes on unmarked. */
  #write(act: (t: Transaction) => void): void {
    try {
      this.#ports.store.write(act);
    } catch (error) {
      this.#ports.log.warn({ error: describeError(error) }, 'a mark of work could not be written');
    }
  }
}

const rowPrefix = concat(prefixOf('crashMark'), text('work/'));

/** The end of the machine may have left anything. */
function readNote(words: string | undefined): WorkItem | undefined {
  try {
    return words === undefined ? undefined : (JSON.parse(words) as WorkItem);
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

/** The process ended in it. Another write of the same is other work. */
function working(piece: WorkItem, known: Marked | undefined): Marked {
  const hash = hashOf(piece.work);
  return { ...piece, hash, state: 'working', crashes: known?.hash === hash ? known.crashes : 0 };
}

function found(before: ReadonlyMap<string, Marked>, after: ReadonlyMap<string, Mark>): Map<string, Marked> {
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

/** What work is about can't be told from its key where it has no revision. */
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
