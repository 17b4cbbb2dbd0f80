/**
 * One summary of one placement at this node: a segment tree over the children. A relay has one slot, with the partial that it sends. An agent has a
 * tree of its own over the rows of its objects. So a change of one object costs log2(objects) and log2(children) merges.
 */
import { SegmentTree } from '../../../core/summary/segment-tree.ts';
import type { Summarizer } from '../../../core/summary/summarizer.ts';
import { mergeUserPartials, type UserPartial } from '../../../core/summary/user-partial.ts';

/** Called when a row of an object is added or removed. */
export interface RowWatch {
  added(object: string): void;
  removed(object: string): void;
}

export class UserSummary {
  /** May be replaced by another summarizer with the same fingerprint: that one shows the same rows in another form. */
  summarizer: Summarizer;
  readonly #children = new SegmentTree<UserPartial>(mergeUserPartials);
  /** Keyed by agent, then by object. */
  readonly #rows = new Map<string, SegmentTree<UserPartial>>();
  /** Agents whose rows have changed since the last total. */
  readonly #changed = new Set<string>();
  /** Relays whose subtree has another version of the summarizer, or none yet. Their partials can't be merged. */
  readonly #outdated = new Set<string>();
  /** Children whose rows have not been read yet. While there are any, the total is not reported. */
  readonly loading = new Set<string>();
  readonly #watch: RowWatch | undefined;

  constructor(summarizer: Summarizer, watch?: RowWatch) {
    this.summarizer = summarizer;
    this.#watch = watch;
  }

  children(): Iterable<string> {
    return new Set([...this.#children.keys(), ...this.#rows.keys(), ...this.#outdated, ...this.loading]);
  }

  hasChild(child: string): boolean {
    const isCounted = this.#rows.has(child) || this.#children.get(child) !== undefined;
    return isCounted || this.#outdated.has(child) || this.loading.has(child);
  }

  /** Returns whether `setRelay` was called for the relay, with a partial or without. */
  hasRelay(child: string): boolean {
    return this.#outdated.has(child) || this.#children.get(child) !== undefined;
  }

  /** `partial` is the relay's report. Absent: the relay has reported nothing that can be merged. */
  setRelay(child: string, partial: UserPartial | undefined): void {
    if (partial) {
      this.#outdated.delete(child);
      this.#children.set(child, partial);
    } else {
      this.#outdated.add(child);
      this.#children.delete(child);
    }
  }

  /** `partial` absent: this agent has no row of the object. */
  setRow(agent: string, object: string, partial: UserPartial | undefined): void {
    const rows = this.#rows.get(agent) ?? new SegmentTree<UserPartial>(mergeUserPartials);
    this.#rows.set(agent, rows);
    const isNew = rows.get(object) === undefined;
    if (partial) {
      rows.set(object, partial);
      if (isNew) this.#watch?.added(object);
    } else if (rows.delete(object)) {
      this.#watch?.removed(object);
    }
    this.#changed.add(agent);
  }

  hasRow(agent: string, object: string): boolean {
    return this.#rows.get(agent)?.get(object) !== undefined;
  }

  deleteChild(child: string): void {
    this.loading.delete(child);
    this.#changed.delete(child);
    this.#outdated.delete(child);
    for (const object of this.#rows.get(child)?.keys() ?? []) this.#watch?.removed(object);
    this.#rows.delete(child);
    this.#children.delete(child);
  }

  /** Ends the summary: removes all children. */
  clear(): void {
    for (const child of this.children()) this.deleteChild(child);
  }

  /** `expected` returns the number of destinations at or below a child. */
  total(expected: (child: string) => number): UserPartial {
    for (const agent of this.#changed) {
      const total = this.#rows.get(agent)?.total();
      if (total) this.#children.set(agent, total);
      else this.#children.delete(agent);
    }
    this.#changed.clear();
    const total = this.#children.total() ?? this.summarizer.empty;
    let { outdated } = total;
    for (const child of this.#outdated) outdated += expected(child);
    return outdated === total.outdated ? total : { ...total, outdated };
  }

  /** The number of merges done since the start. */
  get merges(): number {
    let merges = this.#children.merges;
    for (const rows of this.#rows.values()) merges += rows.merges;
    return merges;
  }
}
