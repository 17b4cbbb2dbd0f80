/**
 * Decides what to do if the digests of the two ends of a feed differ at the same revision. The rule for resuming should make this impossible. If it happens
 * anyway, the feed is reconciled and an alarm is raised. But some differences are intended: a consumer keeps rows that are newer than the producer's, and rows
 * that the producer has lost. A reconciliation does not remove these differences. So a difference that is the same after a reconciliation counts as intended,
 * and causes no further reconciliation. The only state is two differences.
 */
export class Mismatch {
  /** The difference that led to the newest reconciliation. */
  #suspected: string | undefined;
  /** The difference that remained after a reconciliation. */
  #intended: string | undefined;

  /** `difference` is a result of `digestDifference` (core/feed/digest.ts). Returns true if the feed has to be reconciled. */
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
