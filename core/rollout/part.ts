/**
 * The part of a partial about an unfinished release. Parts merge like the rest of a partial. The number of waves and the greatest count bound their size. The
 * counts of different releases are never added: a part of an older release only shows that a node below has not received the newer release yet.
 */
import * as z from 'zod';
import { countUpTo, cutCounts, destinationsMax } from '../object/bounded-counts.ts';
import { smallestPositions } from './waves.ts';

export interface WaveCounts {
  readonly expected: number;
  /** Number of connected destinations. */
  readonly fresh: number;
  /** Number of connected destinations that have the candidate. */
  readonly exposed: number;
  /** Number of exposed destinations at which the whole candidate is available. */
  readonly available: number;
  /** Number of exposed destinations at which a part of the candidate fails. */
  readonly failed: number;
}

export interface RolloutPart {
  readonly release: number;
  /**
   * The highest wave that all connected last hops have received. `receivedByAll`: there is no connected last hop. `notReceived`: a last hop has only an older
   * release.
   */
  readonly received: number;
  /** Counts of each wave; the rest wave is the last one. */
  readonly waves: readonly WaveCounts[];
  /** The smallest positions of connected destinations, at most `k`. */
  readonly smallest: readonly number[];
  readonly k: number;
  /** Number of destinations that could be next, but whose last hop has spent its share of the error budget. */
  readonly barred: number;
}

export const receivedByAll = 1_000;
export const notReceived = -2;
/** Limit for the waves of a placement: more than any plan needs. */
export const wavesMax = 20;
/** Limit for the `count` of a wave. Partials carry as many positions until the waves are drawn, and the release row after that: 1,000 numbers are 20 KiB. */
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

/** The part of a disconnected child. Its destinations still belong to the waves, but their states are unknown. */
export function silentPart(part: RolloutPart): RolloutPart {
  const waves = part.waves.map(({ expected }) => ({ ...noCounts, expected }));
  return { ...part, received: receivedByAll, waves, smallest: [], barred: 0 };
}

/** The part with counts cut to the largest number that a parent accepts. */
export function boundedRolloutPart(part: RolloutPart): RolloutPart {
  const waves = part.waves.map((wave) => cutCounts({ ...wave }));
  return { ...part, waves, ...cutCounts({ barred: part.barred }) };
}

const count = countUpTo(destinationsMax);
/** The schema has the same limits as the sender. The comments of the fields explain them. */
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
