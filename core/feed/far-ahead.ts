/**
 * Finds origin revisions that no space can have reached yet. Each store incarnation of a space begins at the time in milliseconds since 1970
 * (core/apiserver/storage/history.ts), so the revisions of a space are not far ahead of the clock. A revision that is far ahead would be higher than all later
 * revisions of the space, and no later entry could replace its row.
 *
 * So nodes ignore a revision that is far ahead: any entry may replace its row, and the revision does not count as the position of a source. The row is stored
 * like any other row, because the clock of this node may be the wrong one.
 */

/** Tolerance for wrong clocks: one year. */
export const aheadMaxMs = 366 * 24 * 3_600_000;

/**
 * The check that feeds use. `key` returns the key of the row, and is called only if the number is far ahead. The key shows whether the number is a revision
 * of a space; other numbers are never too far ahead. Absent: the number certainly is a revision of a space.
 */
export type FarAhead = (originRevision: number, key?: () => string | undefined) => boolean;

export function isFarAhead(originRevision: number, wallMs: number): boolean {
  return originRevision > wallMs + aheadMaxMs;
}
