/**
 * The part of a partial that is about an unfinished release. Parts merge as the rest of a partial does. Their size is bounded by the number of waves and the
 * greatest count. Parts of different releases do not mix: an older part only shows that somebody below has not received the newer release yet.
 */
import * as z from 'zod';
import { countUpTo, cutCounts, destinationsMax } from '../object/bounded-counts.ts';
import { smallestPositions } from './waves.ts';

export interface WaveCounts {
  readonly expected: number;
  /** Connected destinations. */
  readonly fresh: number;
  /** Fresh destinations that have the candidate. */
  readonly exposed: number;
  /** Exposed destinations where all of the candidate is available. */
  readonly available: number;
  /** Exposed destinations where something of the candidate fails. */
  readonly failed: number;
}

export interface RolloutPart {
  readonly release: number;
  /**
   * The smallest wave index that every connected last hop has received. `receivedByAll` without any last hop; `notReceived` if a last hop has only older
   * releases.
   */
  readonly received: number;
  /** Counts by wave; the rest wave is the last. */
  readonly waves: readonly WaveCounts[];
  /** The smallest positions of connected destinations, at most `k`. */
  readonly smallest: readonly number[];
  readonly k: number;
  /** Destinations that could be next, but whose last hop has spent its own share of the error budget. */
  readonly barred: number;
}

export const receivedByAll = 1_000;
export const notReceived = -2;
/** How many waves an author may name. More waves would be a program, not a plan. */
export const wavesMax = 20;
/** The greatest `count` of a wave. It bounds a partial until the waves are drawn, and the release row after that: 1,000 numbers take some 20 KiB. */
export const countMax = 1_000;

export const noCounts: WaveCounts = { expected: 0, fresh: 0, exposed: 0, available: 0, failed: 0 };

export function emptyPart(release: number, k: number): RolloutPart {
  return { release, received: receivedByAll, waves: [], smallest: [], k, barred: 0 };
}

export function mergeParts(a: RolloutPart | undefined, b: RolloutPart | undefined): RolloutPart | undefined {
  if (!a || !b) return a ?? b;
  if (a.release !== b.release) {
    const newer = a.release > b.release ? a : b;
    return { ...newer, received: notReceived };
  }
  const k = Math.max(a.k, b.k);
  return {
    release: a.release,
    received: Math.min(a.received, b.received),
    waves: Array.from({ length: Math.max(a.waves.length, b.waves.length) }, (_, wave) =>
      addCounts(a.waves[wave] ?? noCounts, b.waves[wave] ?? noCounts),
    ),
    smallest: smallestPositions(a.smallest, b.smallest, k),
    k,
    barred: a.barred + b.barred,
  };
}

export function addCounts(a: WaveCounts, b: WaveCounts): WaveCounts {
  return {
    expected: a.expected + b.expected,
    fresh: a.fresh + b.fresh,
    exposed: a.exposed + b.exposed,
    available: a.available + b.available,
    failed: a.failed + b.failed,
  };
}

/** The sum of all waves up to and including `wave`. */
export function countsUpTo(part: RolloutPart | undefined, wave: number): WaveCounts {
  return (part?.waves ?? []).slice(0, wave + 1).reduce(addCounts, noCounts);
}

/** The part of a child that is not connected: its destinations still belong to the waves, their states are unknown. */
export function silentPart(part: RolloutPart): RolloutPart {
  const waves = part.waves.map(({ expected }) => ({ ...noCounts, expected }));
  return { ...part, received: receivedByAll, waves, smallest: [], barred: 0 };
}

/** The part with counts that a parent accepts. */
export function boundedRolloutPart(part: RolloutPart): RolloutPart {
  const waves = part.waves.map((wave) => cutCounts({ ...wave }));
  return { ...part, waves, ...cutCounts({ barred: part.barred }) };
}

const count = countUpTo(destinationsMax);
/** The bounds that a sender keeps too; the comments of the fields explain them. */
export const partSchema = z.object({
  release: z.number().int().min(0),
  received: z.number().int(),
  waves: z
    .array(z.object({ expected: count, fresh: count, exposed: count, available: count, failed: count }))
    .max(wavesMax + 1),
  smallest: z.array(z.number().min(0).max(1)).max(countMax),
  k: countUpTo(countMax),
  barred: count,
});
