/**
 * Guesses whether an object that this agent has never applied is also new to the cluster. The guess follows the majority among the last few such objects.
 * Most are new. If the store was lost, or somebody else brings the same objects, none is new. A wrong guess costs one request, which the cluster refuses.
 */

/** The number of objects that the applier works on at once. All of them have been guessed when the first answer shows that an object exists. */
const countMax = 8;

export class Novelty {
  /** Goes up with each object that existed, and down with each object that did not. */
  #there = 0;

  get isLikely(): boolean {
    return this.#there < countMax / 2;
  }

  note(isNew: boolean): void {
    this.#there = Math.max(0, Math.min(countMax, this.#there + (isNew ? -1 : 1)));
  }
}
