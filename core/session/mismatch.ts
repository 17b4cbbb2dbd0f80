/**
 * What to do when the digests of the two ends of a feed differ at one revision. The rule for who may resume should make that impossible; if it happens
 * all the same, the feed is reconciled, and somebody is told. Some differences are meant: a consumer keeps what is newer than its producer's, and what
 * its producer has lost. Those a reconciliation leaves as they are, and they are not taken for a mismatch again. Pure but for what it remembers.
 */
export class Mismatch {
  /** Led to the last reconciliation. */
  #suspected: string | undefined;
  /** Was still there after it. */
  #meant: string | undefined;

  /** `difference` as core/feed/digest.ts words it; true: reconcile. */
  isOne(difference: string): boolean {
    if (difference === '' || difference === this.#meant) return false;
    if (difference === this.#suspected) {
      this.#meant = difference;
      return false;
    }
    this.#suspected = difference;
    return true;
  }
}
