import { SeededRandom } from '../../../core/runtime/random.ts';

/** A random stream with readable methods. */
export class Chance {
  readonly #random: SeededRandom;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
  }

  fraction(): number {
    return this.#random.fraction();
  }

  is(probability: number): boolean {
    return this.fraction() < probability;
  }

  /** A whole number in [0, max). All numbers are equally likely. */
  below(max: number): number {
    return Math.floor(this.fraction() * max);
  }

  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
}
