/**
 * Guesses whether an object that this agent has never applied is also new to the cluster. The guess follows the majority among the last few objects that the
 * agent had never applied. Most objects are new. But if the store was lost, or if somebody else brings the same objects, none is new. A wrong guess costs one
 * request, which the cluster refuses.
 */

/** The number of objects that the applier works on at once. The agent has made the guess for all of them when the first answer shows that an object exists. */
const countMax = 8;

export class Novelty {
  /** Plus one for each object that existed, minus one for each object that did not exist; between 0 and `countMax`. */
  #there = 0;

  get isLikely(): boolean {
    return this.#there < countMax / 2;
  }

  note(isNew: boolean): void {
    this.#there = Math.max(0, Math.min(countMax, this.#there + (isNew ? -1 : 1)));
  }
}
