/**
 * Which origin revisions no space can have given by now. SpaceIncarnations of a space begin at the milliseconds since 1970 (core/apiserver/storage/history.ts), so what
 * it gave is not far ahead of the time of day. Somebody who says more would stand above all that the space will ever say.
 *
 * Such a number is worth nothing: it neither keeps its row from what comes later, nor counts for how far a source is. The row itself is taken like any
 * other, since it may be the clock that is wrong, here or where the space is.
 */

/** A clock that was wrong by a year is believed. */
export const aheadMaxMs = 366 * 24 * 3_600_000;

/** As feeds ask. `key`: of the row, read only where the number is far ahead; left out of one that is known to be of a space: others count for themselves. */
export type FarAhead = (originRevision: number, key?: () => string | undefined) => boolean;

export function isFarAhead(originRevision: number, wallMs: number): boolean {
  return originRevision > wallMs + aheadMaxMs;
}
