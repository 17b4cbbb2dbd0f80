/**
 * What a peer may send before it has proven who it is. Anybody may come so far, some two thousand at once by the rate of the door and the time for a proof,
 * and all of a frame is kept until it is whole.
 */

/** Five certificates of 16 KiB, which is what is read, and a Hello. */
export const unprovenBytesMax = 128 * 1024;
/** Each that comes by itself is kept by itself, for some 240 bytes beside its own; those of a line are a kilobyte and more. */
export const unprovenPiecesMax = 256;

export class UnprovenBudget {
  #bytes = 0;
  #pieces = 0;

  /** False: it is used up. */
  take(bytes: number): boolean {
    this.#bytes += bytes;
    this.#pieces++;
    return this.#bytes <= unprovenBytesMax && this.#pieces <= unprovenPiecesMax;
  }
}
