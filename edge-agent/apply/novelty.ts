/**
 * Whether an object that this agent has never applied is likely new to the cluster as well, by how it was with those before: a majority among the last few. Most
 * are new; beside a lost store, or beside somebody who brings the same, none is. A wrong guess costs one request that the cluster refuses.
 */

/** As many as are worked on at once: they have all been guessed when the first turns out to be there. */
const countMax = 8;

export class Novelty {
  /** Goes up with each that was there, and down with each that was not. */
  #there = 0;

  get isLikely(): boolean {
    return this.#there < countMax / 2;
  }

  note(isNew: boolean): void {
    this.#there = Math.max(0, Math.min(countMax, this.#there + (isNew ? -1 : 1)));
  }
}
