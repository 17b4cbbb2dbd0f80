/**
 * How much a peer may send before it has proven its identity. Anybody may connect this far: some two thousand peers at once, by the handshake rate and the
 * time for a proof. All bytes of a frame are kept until the frame is complete.
 */

/** Five certificates of 16 KiB, which are as many as the parent reads, and a Hello. */
export const unprovenBytesMax = 128 * 1024;
/** Each received piece is kept by itself, and takes some 240 bytes in addition to its own. Pieces from a real line have a kilobyte and more. */
export const unprovenPiecesMax = 256;

export class UnprovenBudget {
  #bytes = 0;
  #pieces = 0;

  /** False: the budget is used up. */
  take(bytes: number): boolean {
    this.#bytes += bytes;
    this.#pieces++;
    return this.#bytes <= unprovenBytesMax && this.#pieces <= unprovenPiecesMax;
  }
}
