/**
 * The answers of child relays to one list, in the order of the relays. While one relay has nothing for the page, more relays are asked at once: a selector that
 * few copies match would otherwise take a round trip for each relay. A page that the first relay fills asks nobody else.
 */
import type { FleetChild } from './fleet.ts';
import type { FleetLine } from './fleet-lines.ts';
import { PartSignal } from './signals.ts';

/** Relays that one list asks at once. The window of a stream bounds the bytes of an unread answer to 256 KiB, so a list holds at most 2 MiB of them. */
export const askedAtOnceMax = 8;

export class RelayAnswers {
  readonly #relays: readonly FleetChild[];
  readonly #ask: (relay: FleetChild, signal: AbortSignal) => AsyncIterable<FleetLine>;
  readonly #begun = new Map<string, AsyncIterable<FleetLine>>();
  readonly #part: PartSignal;
  #atOnce = 1;

  constructor(
    relays: readonly FleetChild[],
    ask: (relay: FleetChild, signal: AbortSignal) => AsyncIterable<FleetLine>,
    signal?: AbortSignal,
  ) {
    this.#relays = relays;
    this.#ask = ask;
    this.#part = new PartSignal(signal);
  }

  /** The answer of this relay. Also asks the next ones, if the relays before had too little. */
  of(relay: FleetChild): AsyncIterable<FleetLine> {
    const index = this.#relays.indexOf(relay);
    for (const one of this.#relays.slice(index, index + this.#atOnce)) {
      if (!this.#begun.has(one.name)) this.#begun.set(one.name, this.#ask(one, this.#part.signal));
    }
    return this.#begun.get(relay.name)!;
  }

  /** Call it when a relay had fewer copies than the page needs. */
  widen(): void {
    this.#atOnce = Math.min(askedAtOnceMax, 2 * this.#atOnce);
  }

  /** Gives up all answers that were not read. */
  end(): void {
    this.#part.end();
  }
}
