/**
 * What a partial says of an unfinished release: mergeable like the rest of it, bounded by the number of waves and the greatest count. Parts of
 * different releases do not mix: the older one counts for nothing but that somebody has not heard of the newer one yet.
 */
import * as z from 'zod';
import { countUpTo, cutCounts, destinationsMax } from '../object/bounded-counts.ts';
import { smallestPositions } from './waves.ts';

export interface WaveCounts {
  readonly expected: number;
  /** Connected. */
  readonly fresh: number;
  /** Of the fresh ones: those that the candidate was handed to. */
  readonly exposed: number;
  /** Of the exposed ones: those where all of the candidate is available. */
  readonly available: number;
  /** Of the exposed ones: those where something of the candidate fails. */
  readonly failed: number;
}

export interface RolloutPart {
  readonly release: number;
  /** The smallest wave index that all connected last hops have heard of; `receivedByAll` if there is none of them, `notHeard` if one knows only older releases. */
  readonly heard: number;
  /** By wave, the rest last. */
  readonly waves: readonly WaveCounts[];
  /** The smallest positions of connected destinations, at most `k`. */
  readonly smallest: readonly number[];
  readonly k: number;
  /** Destinations that could be next, but for a last hop whose own error budget is spent. */
  readonly barred: number;
}

export const receivedByAll = 1_000;
export const notReceived = -2;
/** Waves that an author may name: more are a program, not a plan. */
export const wavesMax = 20;
/** The greatest count of a wave; what a partial carries until they are drawn, and a release from then on, is bounded by it: 1,000 numbers are some 20 KiB. */
export const countMax = 1_000;

export const noCounts: WaveCounts = { expected: 0, fresh: 0, exposed: 0, available: 0, failed: 0 };

export function emptyPart(release: number, k: number): RolloutPart {
  return { release, heard: receivedByAll, waves: [], smallest: [], k, barred: 0 };
}

export function mergeParts(a: RolloutPart | undefined, b: RolloutPart | undefined): RolloutPart | undefined {
  if (!a || !b) return a ?? b;
  if (a.release !== b.release) {
    const newer = a.release > b.release ? a : b;
    return { ...newer, heard: notReceived };
  }
  const k = Math.max(a.k, b.k);
  return {
    release: a.release,
    heard: Math.min(a.heard, b.heard),
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

/** The waves up to and including one. */
export function countsUpTo(part: RolloutPart | undefined, wave: number): WaveCounts {
  return (part?.waves ?? []).slice(0, wave + 1).reduce(addCounts, noCounts);
}

/** Of a child that is not connected: who belongs to the waves is known, how they are is not. */
export function silentPart(part: RolloutPart): RolloutPart {
  const waves = part.waves.map(({ expected }) => ({ ...noCounts, expected }));
  return { ...part, heard: receivedByAll, waves, smallest: [], barred: 0 };
}

/** As its parent takes it. */
export function boundedRolloutPart(part: RolloutPart): RolloutPart {
  const waves = part.waves.map((wave) => cutCounts({ ...wave }));
  return { ...part, waves, ...cutCounts({ barred: part.barred }) };
}

const count = countUpTo(destinationsMax);
/** Bounded as the sender has to: see the fields. */
export const partSchema = z.object({
  release: z.number().int().min(0),
  heard: z.number().int(),
  waves: z
    .array(z.object({ expected: count, fresh: count, exposed: count, available: count, failed: count }))
    .max(wavesMax + 1),
  smallest: z.array(z.number().min(0).max(1)).max(countMax),
  k: countUpTo(countMax),
  barred: count,
});
