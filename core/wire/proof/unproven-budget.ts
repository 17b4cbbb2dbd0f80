/**
 * Limits how much a peer may send before it has proven its identity. Anybody can connect up to this point. The handshake rate and the time limit for a
 * proof allow about two thousand such peers at once. All bytes of a frame stay in memory until the frame is complete.
 */

/** A chain of 64 KiB, the most that the parent reads, and a Hello. */
export const unprovenBytesMax = 128 * 1024;
/** Each received piece is kept separately and needs about 240 bytes more than its content. On a real line, a piece has a kilobyte or more. */
export const unprovenPiecesMax = 256;

export class UnprovenBudget {
  #bytes = 0;
  #pieces = 0;

  /** Counts the bytes. Returns false if the budget is used up. */
  take(bytes: number): boolean {
    this.#bytes += bytes;
    this.#pieces++;
    return this.#bytes <= unprovenBytesMax && this.#pieces <= unprovenPiecesMax;
  }
}
