/** The newest changes of the copies at this node's own agents, for watches. The log has only keys and facets: a watch reads the present state of a copy when it sends it. */
import type { Copy } from './agent-copies.ts';

/** Enough for a client that comes back within a minute while 160 copies change every second. An entry has about 500 bytes. */
const entriesMax = 10_000;

export interface LogEntry {
  readonly revision: number;
  readonly child: string;
  /** The text of `formatKey`. */
  readonly id: string;
  /** The copy before the change. Absent: there was none. */
  readonly before?: Copy;
}

export class CopyLog {
  #entries: LogEntry[] = [];
  #revision = 0;
  /** The log has all changes after this revision. */
  #since = 0;

  get revision(): number {
    return this.#revision;
  }

  /** Takes a revision that no change has. */
  skip(): number {
    this.#revision += 1;
    return this.#revision;
  }

  add(change: Omit<LogEntry, 'revision'>): LogEntry {
    const entry = { ...change, revision: this.skip() };
    this.#entries.push(entry);
    // Half of the array is cut at once, so that an addition costs the same on average however full the log is.
    if (this.#entries.length > 2 * entriesMax) {
      this.#since = this.#entries[entriesMax - 1]!.revision;
      this.#entries = this.#entries.slice(entriesMax);
    }
    return entry;
  }

  /** The changes after this revision. `expired`: some of them are not kept any more. */
  after(revision: number): readonly LogEntry[] | 'expired' {
    if (revision < this.#since) return 'expired';
    let index = this.#entries.length;
    while (index > 0 && this.#entries[index - 1]!.revision > revision) index--;
    return this.#entries.slice(index);
  }
}
