/**
 * Limits the bytes of requests and answers that are in memory at once. If there is no room, a holder waits until other holders give their bytes back. One
 * holder at a time is favoured: the first holder that had to wait gets half of the budget for itself. So several half-read answers never wait for each other.
 */
export class ByteBudget {
  readonly #max: number;
  readonly #waiting: { readonly holder: Holder; readonly bytes: number; readonly go: () => void }[] = [];
  #favoured: Holder | undefined;
  /** The bytes of all holders except the favoured holder. */
  #shared = 0;
  #used = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** How many bytes one request and its answer may have together. */
  get eachMax(): number {
    return Math.floor(this.#max / 2);
  }

  get used(): number {
    return this.#used;
  }

  hold(): BytesHeld {
    const holder: Holder = { bytes: 0 };
    return {
      take: (bytes) => this.#take(holder, bytes),
      end: () => this.#giveBack(holder),
    };
  }

  #take(holder: Holder, bytes: number): Promise<void> | undefined {
    if (this.#taken(holder, bytes)) return undefined;
    return new Promise((go) => {
      this.#waiting.push({ holder, bytes, go });
    });
  }

  #taken(holder: Holder, bytes: number): boolean {
    if (holder !== this.#favoured && this.#shared + bytes > this.#max - this.eachMax) {
      if (this.#favoured) return false;
      this.#favoured = holder;
      this.#shared -= holder.bytes;
    }
    holder.bytes += bytes;
    this.#used += bytes;
    if (holder !== this.#favoured) this.#shared += bytes;
    return true;
  }

  #giveBack(holder: Holder): void {
    this.#used -= holder.bytes;
    if (holder === this.#favoured) this.#favoured = undefined;
    else this.#shared -= holder.bytes;
    holder.bytes = 0;
    for (let next = this.#waiting[0]; next && this.#taken(next.holder, next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift();
      next.go();
    }
  }
}

interface Holder {
  bytes: number;
}

export interface BytesHeld {
  /**
   * Takes the bytes. Undefined: they are available now. Otherwise the promise resolves when they are. The caller takes no more than `eachMax` bytes in total.
   */
  take(bytes: number): Promise<void> | undefined;
  /** Gives back all bytes. Called once. */
  end(): void;
}
