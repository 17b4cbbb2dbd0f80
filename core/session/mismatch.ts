/**
 * Decides what to do when the digests of the two ends of a feed differ at one revision. The rule for who may resume should make such a difference impossible.
 * If one occurs all the same, the feed is reconciled, and people are informed. Some differences are intended: a consumer keeps rows that are newer than its
 * producer's, and rows that its producer has lost. A reconciliation leaves these rows as they are, and the same difference is not taken for a mismatch again.
 * Pure, except for the two differences that it remembers.
 */
export class Mismatch {
  /** The difference that led to the newest reconciliation. */
  #suspected: string | undefined;
  /** The difference that was still there after that reconciliation. */
  #intended: string | undefined;

  /** `difference` as core/feed/digest.ts formats it. True: reconcile. */
  isOne(difference: string): boolean {
    if (difference === '' || difference === this.#intended) return false;
    if (difference === this.#suspected) {
      this.#intended = difference;
      return false;
    }
    this.#suspected = difference;
    return true;
  }
}
