/**
 * Positions: the resourceVersions of a fleet. Each node below counts its own changes, so one number does not tell a client's place in all of them. A node
 * keeps for each number that it gives out the places in its own log and at each child relay. A child's place is again a number, which that child keeps.
 *
 * A number that is too old, of another node or of an earlier process is unknown: the client has to list again.
 */
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';

export interface Position {
  /** The place in this node's own log. Absent: the client has not received all copies of this node's agents. */
  local?: number;
  /** For agents whose index was made during this list: when it was made. The list has read these agents after `local`. */
  readonly read: Map<string, number>;
  /** The place at each child relay. Absent: the client has received nothing from this relay, or not everything. */
  readonly relays: Map<string, string>;
}

/**
 * Limit for the sum of all places: about 10 MB. With ten child relays, a node keeps the positions of 6,000 events, so a watch that breaks in a burst can
 * continue. Beyond the limit, the oldest positions are dropped.
 */
const placesMax = 100_000;
/** A position without places needs as much memory as these. */
const placesOfPosition = 5;

export class Positions {
  readonly #clock: Clock;
  readonly #kept = new Map<string, { readonly position: Position; places: number }>();
  #places = 0;
  #last = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Gives the position a number. The caller may still complete the position while it makes the list. */
  keep(position: Position): string {
    // Numbers follow the clock, so a process that starts again never gives out a number twice.
    this.#last = Math.max(this.#last + 1, this.#clock.wallMs());
    const number = String(this.#last);
    this.#kept.set(number, { position, places: 0 });
    this.recount(number);
    return number;
  }

  /** Call it when the position has got more places. */
  recount(number: string): void {
    const kept = this.#kept.get(number);
    if (!kept) return;
    const { relays, read } = kept.position;
    this.#places -= kept.places;
    kept.places = placesOfPosition + relays.size + read.size;
    this.#places += kept.places;
    for (const [oldest, { places }] of this.#kept) {
      if (this.#places <= placesMax || oldest === number) break;
      this.#kept.delete(oldest);
      this.#places -= places;
    }
  }

  /** Forgets all positions. */
  clear(): void {
    this.#kept.clear();
    this.#places = 0;
  }

  /** Throws Expired if this node does not know the number. */
  get(number: string): Position {
    const kept = this.#kept.get(number);
    if (kept) return kept.position;
    throw expired(`this node does not know the resourceVersion ${number}`);
  }
}

/** All errors of this kind have the same remedy, and clients of Kubernetes apply it by themselves. */
export function expired(why: string): BanyanError {
  return new BanyanError(
    'Expired',
    `${why}: it is too old, or of another node; list again, without continue and resourceVersion`,
  );
}

export function copyOf({ local, read, relays }: Position): Position {
  return { ...(local === undefined ? {} : { local }), read: new Map(read), relays: new Map(relays) };
}
