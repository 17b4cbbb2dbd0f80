/**
 * Finds the piece of the scheduler's work that ends the process, and sets it aside: all else goes on, and what was in mailboxes stays.
 *
 * In good times it costs nothing. A start leaves a mark, which goes when the process has lived for a while. A start that finds the mark is careful for as long:
 * it does one piece at a time, and each has a mark of its own that is durable before it begins (core/crash/crash-marks.ts says what such marks mean); a piece
 * whose mark is found twice is the one. What a piece sets off after its commit is not looked at: its end would be blamed on the piece that follows, which gets
 * another attempt soon.
 *
 * Bound: a mark for each piece set aside, and one for the piece that is worked on.
 */
import { afterStart, again, crashReason, isDue, type Mark, retryMinMs } from '../../core/crash/crash-marks.ts';
import type { Quarantined } from '../../core/feed/quarantine.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { describeError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import { asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Store, Transaction } from '../../core/store/store.ts';
import { clearDirty, markDirty, type Work, type WorkClass } from './dirty.ts';
import type { Piece } from './pieces.ts';

export interface WorkGuardPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Of the program: another build may have learned to take what ended this one. */
  readonly build: string;
  /** What the process said as it ended last. */
  readonly lastWords?: string | undefined;
  /** There is work again. */
  due(): void;
  /** What is set aside is something else now. */
  changed(): void;
}

type Marked = Mark & Piece;

/** What ends a process again and again does so within this: until then what is there at a start has been looked at, and what was lost has come again. */
export const youngMs = 30_000;

export class WorkGuard {
  readonly #ports: WorkGuardPorts;
  readonly #marks: Map<string, Marked>;
  #careful: boolean;
  #beginning: { readonly key: string; readonly durable: Promise<void> } | undefined;
  /** The piece whose mark is durable. */
  #begun: string | undefined;
  #growing: Timer | undefined;
  #retrying: Timer | undefined;

  constructor(ports: WorkGuardPorts) {
    this.#ports = ports;
    const { store, clock, log, build, lastWords: words } = ports;
    const { before, started } = store.read((reader) => ({
      before: readMarks(reader),
      started: reader.get(startKey) !== undefined,
    }));
    this.#marks = found(before, afterStart(before, { build, wallMs: clock.wallMs(), words }));
    const changed = [...this.#marks].filter(([key, { state }]) => before.get(key)?.state !== state);
    this.#careful = started || this.#has('suspect');
    this.#write((t) => {
      t.put(startKey, text('{}'));
      for (const [key, mark] of changed) this.#changeAtStart(t, key, mark);
    });
    if (changed.length > 0) log.warn({ pieces: changed.map(([key]) => key), words }, 'work ended the process');
  }

  start(): void {
    this.#growUp();
    this.#retryLater();
  }

  /** Each piece is to be done alone, and begun first. */
  get isCareful(): boolean {
    return this.#careful;
  }

  hasBegun(piece: Piece): boolean {
    const key = nameOf(piece);
    return this.#begun === key || this.#marks.get(key)?.state === 'quarantined';
  }

  /** Leaves a mark of a piece, and takes away that of the one before; the work may begin when it is durable. */
  begin(piece: Piece): Promise<void> {
    const key = nameOf(piece);
    if (this.#beginning?.key === key) return this.#beginning.durable;
    const crashes = this.#marks.get(key)?.crashes ?? 0;
    const mark: Marked = { ...piece, hash: hashOf(piece.work), state: 'working', crashes };
    this.#write((t) => {
      this.#forget(t, 'working');
      put(t, key, mark);
    });
    this.#marks.set(key, mark);
    // A disk that takes nothing must not hold up the work.
    const flushed = this.#ports.store.flushed().catch(() => {});
    const durable = flushed.then(() => {
      this.#begun = key;
    });
    this.#beginning = { key, durable };
    return durable;
  }

  /** What is to be done of a piece in the caller's transaction; undefined: it is set aside, and is not dirty any more. */
  take(t: Transaction, in_: WorkClass, work: Work): Work | undefined {
    if (this.#marks.size === 0) return work;
    const key = nameOf({ in: in_, work });
    const mark = this.#marks.get(key);
    if (mark?.state !== 'quarantined') return work;
    const both = merged(mark.work, work);
    if (work.originRevision > mark.work.originRevision) {
      t.remove(rowKey(key));
      t.afterCommit(() => {
        this.#marks.delete(key);
        this.#ports.changed();
      });
      return both;
    }
    const more = { ...mark, work: both };
    clearDirty(t, in_, work.key);
    put(t, key, more);
    t.afterCommit(() => this.#marks.set(key, more));
    return undefined;
  }

  /** The process ends in order. */
  stop(): void {
    this.#retrying?.stop();
    this.#growing?.stop();
    this.#settle();
  }

  setAside(): Quarantined[] {
    return [...this.#marks.values()]
      .filter(({ state }) => state === 'quarantined')
      .map((mark) => ({
        key: mark.about,
        originRevision: mark.work.originRevision,
        reason: crashReason(mark),
      }));
  }

  #has(state: Mark['state']): boolean {
    return [...this.#marks.values()].some((mark) => mark.state === state);
  }

  /** What is set aside is no work that others wait for; what is tried again is. */
  #changeAtStart(t: Transaction, key: string, mark: Marked): void {
    put(t, key, mark);
    if (mark.state === 'quarantined') clearDirty(t, mark.in, mark.work.key);
    else redo(t, mark);
  }

  #growUp(): void {
    this.#growing?.stop();
    this.#growing = this.#ports.clock.after(youngMs, () => this.#settle());
  }

  #settle(): void {
    this.#careful = false;
    this.#beginning = undefined;
    this.#begun = undefined;
    this.#write((t) => {
      t.remove(startKey);
      this.#forget(t, 'working');
      this.#forget(t, 'suspect');
    });
  }

  #forget(t: Transaction, state: Mark['state']): void {
    for (const [key, mark] of [...this.#marks]) {
      if (mark.state !== state) continue;
      this.#marks.delete(key);
      t.remove(rowKey(key));
    }
  }

  /** One more attempt for each that has been set aside long enough. */
  #retryLater(): void {
    const { clock, due, changed } = this.#ports;
    this.#retrying = clock.after(retryMinMs / 4, () => {
      const waited = [...this.#marks].filter(([, mark]) => mark.state === 'quarantined' && isDue(mark, clock.wallMs()));
      this.#write((t) => {
        for (const [key, mark] of waited) {
          const suspect = { ...mark, ...again(mark) };
          this.#marks.set(key, suspect);
          put(t, key, suspect);
          redo(t, suspect);
        }
      });
      if (waited.length > 0) {
        this.#careful = true;
        this.#growUp();
        changed();
        due();
      }
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

const startKey = concat(prefixOf('crashMark'), text('start'));
const rowPrefix = concat(prefixOf('crashMark'), text('work/'));

function readMarks(reader: Reader): Map<string, Marked> {
  const rows = reader.scan(prefixRange(rowPrefix));
  return new Map(
    Array.from(rows, ([key, value]) => [asText(key.subarray(rowPrefix.length)), JSON.parse(asText(value)) as Marked]),
  );
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

function merged(one: Work, other: Work): Work {
  return {
    key: one.key,
    refs: [...new Set([...one.refs, ...other.refs])].sort(),
    originRevision: Math.max(one.originRevision, other.originRevision),
  };
}

/** What work is about can't be told from its key where it has no revision. */
function hashOf({ originRevision }: Work): string {
  return String(originRevision);
}

function put(t: Transaction, key: string, mark: Marked): void {
  t.put(rowKey(key), text(JSON.stringify(mark)));
}

function rowKey(key: string): Uint8Array {
  return concat(rowPrefix, text(key));
}

function nameOf({ in: in_, work }: Pick<Piece, 'in' | 'work'>): string {
  return `${in_} ${work.key}`;
}
