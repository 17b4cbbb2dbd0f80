/**
 * When a child of several siblings leaves one that is cut off from the root, for the next. Pure; failover-dialer.ts carries it out.
 *
 * A sibling whose own uplink is dead serves its children as if nothing were, but hears of nothing new, and says so: its beats tell how long ago it has
 * heard of the root. What the others have heard is not known before one of them is tried. So a child tries, and a root that is a good deal fresher there
 * was worth it; if all of them are cut off it was in vain, and the next time comes after twice as long: when the center is away for a day, a child below
 * siblings moves less than ten times.
 */

export interface RootWatch {
  /** Moves that led to no fresher root, in a row. */
  readonly vain: number;
  /** Times in a row that home was left for this. */
  readonly homeLeft: number;
  /** Hysteresis: it is not left before. */
  readonly staysUntilMs: number;
  /** Of the present sibling, since its root was found to be old: not all of its children go at once. */
  readonly leavesAtMs: number | undefined;
  /** What was left, until it is known whether that was worth it. */
  readonly left: { readonly ageMs: number; readonly atMs: number } | undefined;
}

/** A relay finds its parent dead after 60 s and tries again after 60 s at most: one that is reached again is back by then. */
export const rootStaleMs = 180_000;
/** So many children as a sibling has do not come to the other one in a moment. */
export const leaveSpreadMs = 60_000;
/** Two beats and what they are late by on two ways. */
export const fresherByMs = 45_000;
/** As long as a session elsewhere has to last before a child goes home. */
export const staysForMs = 600_000;
/** Of `staysForMs`: five hours, which is nothing beside an absence that is found so often. */
const doublingsMax = 5;
/** Of the way home: it goes home within three hours of the day that home is whole again. */
const homewardDoublingsMax = 3;

export const rootWatch: RootWatch = {
  vain: 0,
  homeLeft: 0,
  staysUntilMs: 0,
  leavesAtMs: undefined,
  left: undefined,
};

export interface RootReport {
  /** As a beat of the parent says. */
  readonly ageMs: number;
  readonly nowMs: number;
  readonly isHome: boolean;
}

/** `fraction`: uniform in [0, 1). */
export function onRootReport(
  before: RootWatch,
  heard: RootReport,
  fraction: () => number,
): { readonly watch: RootWatch; readonly leaves: boolean } {
  const { ageMs, nowMs, isHome } = heard;
  const watch = judged(before, heard);
  if (ageMs < rootStaleMs) {
    return { watch: { ...watch, leavesAtMs: undefined, homeLeft: isHome ? 0 : watch.homeLeft }, leaves: false };
  }
  if (nowMs < watch.staysUntilMs) return { watch, leaves: false };
  const leavesAtMs = watch.leavesAtMs ?? nowMs + Math.round(leaveSpreadMs * fraction());
  if (nowMs < leavesAtMs) return { watch: { ...watch, leavesAtMs }, leaves: false };
  const homeLeft = watch.homeLeft + (isHome ? 1 : 0);
  return { watch: { ...watch, homeLeft, leavesAtMs: undefined, left: { ageMs, atMs: nowMs } }, leaves: true };
}

/**
 * Another session, for whatever reason. `isElsewhere`: at another sibling than the last one. What was found of that one is no reason to stay here, unless
 * the child has come to see whether the root is fresher here.
 */
export function onSessionChanged(watch: RootWatch, isElsewhere: boolean): RootWatch {
  const staysUntilMs = isElsewhere && !watch.left ? 0 : watch.staysUntilMs;
  if (watch.leavesAtMs === undefined && staysUntilMs === watch.staysUntilMs) return watch;
  return { ...watch, leavesAtMs: undefined, staysUntilMs };
}

/** By how much the way home takes longer, since home was found cut off. */
export function returnDelayFactor({ homeLeft }: RootWatch): number {
  return 2 ** Math.min(homewardDoublingsMax, homeLeft);
}

/** At the first word of the sibling that was tried. */
function judged(watch: RootWatch, { ageMs, nowMs }: RootReport): RootWatch {
  const { left } = watch;
  if (!left) return watch;
  const wasWorthIt = ageMs + fresherByMs <= left.ageMs + nowMs - left.atMs;
  const vain = wasWorthIt ? 0 : watch.vain + 1;
  return { ...watch, vain, left: undefined, staysUntilMs: nowMs + staysForMs * 2 ** Math.min(doublingsMax, vain) };
}
