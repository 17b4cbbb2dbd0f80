/**
 * Finds origin revisions that no space can have given by now. Every store incarnation of a space begins at the milliseconds since 1970
 * (core/apiserver/storage/history.ts), so revisions of a space are not far ahead of the time of day. A higher revision would stand above every revision that
 * the space will ever give.
 *
 * Such a revision does not count: it does not protect its row from later entries, and does not count as the position of a source. The row itself is stored
 * like any other, since the wrong clock may be here or at the space.
 */

/** A clock that is ahead by up to a year is believed. */
export const aheadMaxMs = 366 * 24 * 3_600_000;

/**
 * The check as feeds use it. `key`: the key of the row; read only if the number is far ahead. Absent for revisions that certainly belong to a space; other
 * numbers are not checked.
 */
export type FarAhead = (originRevision: number, key?: () => string | undefined) => boolean;

export function isFarAhead(originRevision: number, wallMs: number): boolean {
  return originRevision > wallMs + aheadMaxMs;
}
