/**
 * The partial of the built-in summary: the state of one placement at a set of destinations. Two partials of disjoint sets merge into the partial of both sets
 * together. The merge is associative and commutative, so the order of merging does not matter. A merge with `emptyPartial` changes only the generation and the
 * target.
 */
import * as z from 'zod';
import { boundedMovePart, type MovePart, mergeMoveParts, movePartSchema } from '../move/move-part.ts';
import { countUpTo, cutCounts, destinationsMax, expectedMax } from '../object/bounded-counts.ts';
import { stableStringify } from '../object/canonical.ts';
import { decodeChecked } from '../object/checked.ts';
import { compareText } from '../object/text-order.ts';
import { boundedRolloutPart, mergeParts, partSchema, type RolloutPart } from '../rollout/part.ts';
import { text } from '../store/bytes.ts';
import { type AwayPlace, awaySchema, longestAway } from './away.ts';

export interface Partial {
  /** The placement's generation at its origin. */
  readonly generation: number;
  /** The target for which the counts are exact; see TargetAttributes in core/entries/down-attributes.ts. */
  readonly target: number;
  readonly counts: DestinationCounts;
  /**
   * When the destination that has been disconnected for the longest time was last heard: wall time in ms of the parent that noticed, in whole seconds. A time
   * and no age, so that the partial stays the same while time passes. Absent: no destination is disconnected, or the time is not known.
   */
  readonly oldestSinceMs?: number;
  /** A sample of at most `failuresMax` failures: the first ones in the order of path, then object. Notes about adopted objects come after all failures. */
  readonly failures: readonly Failure[];
  /** A sample of at most `awayMax` places that are counted as stale or never. */
  readonly away: readonly AwayPlace[];
  /** Only while a release is unfinished. */
  readonly rollout?: RolloutPart;
  /** Only if the placement has an order of moves (`spec.move`). */
  readonly move?: MovePart;
}

/** Numbers of destinations. fresh + stale + never + quarantined = expected. */
export interface DestinationCounts {
  readonly expected: number;
  readonly fresh: number;
  readonly stale: number;
  readonly never: number;
  readonly quarantined: number;
  /** Destinations whose agent has stored all objects of the target. */
  readonly synced: number;
  /** Destinations whose cluster has accepted all objects of the target. */
  readonly applied: number;
  /** Destinations at which all objects of the target are available. */
  readonly available: number;
  readonly failed: number;
  readonly conflicted: number;
  /** Destinations whose newest report is for an older target. */
  readonly outdated: number;
}

export interface Failure {
  /** Path of the destination's agent: `eu:paris:store-17`. */
  readonly path: string;
  /** `deployments.apps shop/till` */
  readonly object: string;
  readonly reason: string;
  readonly message: string;
}

/** Limit for the sample of failures: one page to read. It also limits the size of a placement's status, for any number of failing destinations. */
export const failuresMax = 10;

export const countNames = [
  'expected',
  'fresh',
  'stale',
  'never',
  'quarantined',
  'synced',
  'applied',
  'available',
  'failed',
  'conflicted',
  'outdated',
] as const satisfies readonly (keyof DestinationCounts)[];

const zeroCounts: DestinationCounts = mapCounts(() => 0);

export function emptyPartial(generation: number, target: number): Partial {
  return { generation, target, counts: zeroCounts, failures: [], away: [] };
}

export function mergePartials(a: Partial, b: Partial): Partial {
  const counts: Record<keyof DestinationCounts, number> = { ...a.counts };
  for (const name of countNames) counts[name] += b.counts[name];
  const rollout = mergeParts(a.rollout, b.rollout);
  const oldestSinceMs = earliest(a.oldestSinceMs, b.oldestSinceMs);
  return {
    generation: Math.max(a.generation, b.generation),
    target: Math.max(a.target, b.target),
    counts,
    ...(oldestSinceMs === undefined ? {} : { oldestSinceMs }),
    failures: smallestFailures(a.failures, b.failures),
    away: longestAway(a.away, b.away),
    ...(rollout ? { rollout } : {}),
    ...mergedMove(a.move, b.move),
  };
}

/** Whether all destinations are available. A placement without a destination is not complete. */
export function isComplete({ counts: { expected, available } }: Pick<Partial, 'counts'>): boolean {
  return expected > 0 && available === expected;
}

export function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}

function mergedMove(a: MovePart | undefined, b: MovePart | undefined): { move?: MovePart } {
  const move = a && b ? mergeMoveParts(a, b) : (a ?? b);
  return move ? { move } : {};
}

/** Merges samples: keeps the smallest failures. This is associative, because the smallest failures of all are also among the smallest of their own sample. */
export function smallestFailures(...samples: readonly (readonly Failure[])[]): readonly Failure[] {
  const all = samples.flat();
  return all.length === 0 ? all : all.sort(compareFailures).slice(0, failuresMax);
}

/** Encodes a partial. Equal partials give equal bytes, so that an unchanged partial is not sent again. */
export function encodePartial(partial: Partial): Uint8Array {
  const { away, ...rest } = partial;
  const { counts, rollout, move } = rest;
  const sent = {
    ...rest,
    ...(away.length > 0 ? { away } : {}),
    counts: reportedCounts(counts),
    ...(rollout ? { rollout: boundedRolloutPart(rollout) } : {}),
    ...(move ? { move: boundedMovePart(move) } : {}),
  };
  return text(stableStringify(sent));
}

/** Cuts the counts to the limit. `expected` stays the sum of the four counts, even if these were cut, because the parent checks the sum. */
function reportedCounts(counts: DestinationCounts): DestinationCounts {
  if (counts.expected <= destinationsMax) return counts;
  const cut = cutCounts({ ...counts });
  return { ...cut, expected: cut.fresh + cut.stale + cut.never + cut.quarantined };
}

const count = countUpTo(destinationsMax).default(0);
const partialSchema = z.object({
  generation: z.number().int().min(0),
  target: z.number().int().min(0),
  // A count that the sender leaves out is read as 0.
  counts: z.object({ ...mapCounts(() => count), expected: countUpTo(expectedMax).default(0) }),
  oldestSinceMs: z.number().int().min(0).exactOptional(),
  failures: z
    .array(z.object({ path: z.string(), object: z.string(), reason: z.string(), message: z.string() }))
    .max(failuresMax),
  away: awaySchema,
  rollout: partSchema.exactOptional(),
  move: movePartSchema.exactOptional(),
});

/** Decodes the partial that a child sent. Throws Protocol if the bytes are no partial. */
export function decodePartial(bytes: Uint8Array): Partial {
  return decodeChecked('a partial', partialSchema, bytes);
}

function mapCounts<T>(value: () => T): Record<keyof DestinationCounts, T> {
  return Object.fromEntries(countNames.map((name) => [name, value()])) as Record<keyof DestinationCounts, T>;
}

/**
 * The reason of a note about an object that was on the cluster before the agent took it over. Such a note is no failure. There may be one for each
 * destination, so the sample has these notes only where it has room.
 */
export const adoptedReason = 'Adopted';

function compareFailures(a: Failure, b: Failure): number {
  return (
    Number(a.reason === adoptedReason) - Number(b.reason === adoptedReason) ||
    compareText(a.path, b.path) ||
    compareText(a.object, b.object) ||
    compareText(a.reason, b.reason) ||
    compareText(a.message, b.message)
  );
}
