/**
 * Places that a summary counts as stale or never, as part of a partial. The level that knows the connection names the place: a last hop names agents, and the
 * parent of a disconnected relay names the relay with the number of its destinations. A place carries times and no ages, so it stays the same while time
 * passes.
 */
import * as z from 'zod';
import { countUpTo, destinationsMax } from '../object/bounded-counts.ts';
import { compareText } from '../object/text-order.ts';

export interface AwayPlace {
  /** Path of an agent, or of a relay with all of its destinations: `eu:paris`. */
  readonly path: string;
  /** Number of destinations at or below the path that the entry is about. */
  readonly destinations: number;
  /**
   * `Away`: it is not connected. `NeverConnected`: it has never been connected to its parent. `NotReported`: it is connected, and has not reported about the
   * placement yet.
   */
  readonly reason: 'Away' | 'NeverConnected' | 'NotReported';
  /** Only for `Away`: wall time of the parent in ms, in whole seconds, at which the parent last heard the node. Absent: the parent does not know the time. */
  readonly sinceMs?: number;
}

/** Limit for the sample: one page to read, as for failures. */
export const awayMax = 10;

export const awaySchema = z
  .array(
    z.object({
      path: z.string(),
      destinations: countUpTo(destinationsMax),
      reason: z.enum(['Away', 'NeverConnected', 'NotReported']),
      sinceMs: z.number().int().min(0).exactOptional(),
    }),
  )
  .max(awayMax)
  .default([]);

/** Merges samples: keeps the places that are away for the longest time, then the others by path. Associative and commutative, like `smallestFailures`. */
export function longestAway(...samples: readonly (readonly AwayPlace[])[]): readonly AwayPlace[] {
  const all = samples.flat();
  return all.length < 2 ? all : all.sort(compareAway).slice(0, awayMax);
}

function compareAway(a: AwayPlace, b: AwayPlace): number {
  const [sinceA, sinceB] = [a.sinceMs ?? Number.MAX_SAFE_INTEGER, b.sinceMs ?? Number.MAX_SAFE_INTEGER];
  return (
    sinceA - sinceB || compareText(a.path, b.path) || compareText(a.reason, b.reason) || a.destinations - b.destinations
  );
}
