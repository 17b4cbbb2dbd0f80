/**
 * When a child leaves a replica that is cut off from the root, for the next replica. Pure; failover-dialer.ts carries the decision out.
 *
 * A replica whose own uplink is dead serves its children as usual, but receives nothing new. Its beats contain the age of the newest report of the root. The
 * child cannot know the age at the other replicas before it tries one. So the child tries the next replica. If the root's report is much fresher there, the
 * move was worth it. If all replicas are cut off, the move was in vain, and the next move comes after twice as long. So when the center is away for a day, a
 * child below replicas moves less than ten times.
 */

export interface RootWatch {
  /** Consecutive moves that led to no fresher report of the root. */
  readonly vainMoves: number;
  /** How often in a row the child has left home because home was cut off. */
  readonly homeDepartures: number;
  /** Hysteresis: the child does not leave the present replica before this time. */
  readonly staysUntilMs: number;
  /** When the child leaves the present replica, whose report of the root is too old. The time is random, so that not all children leave at once. */
  readonly leavesAtMs: number | undefined;
  /** The root's report at the replica that the child left last, until it is known whether the move was worth it. */
  readonly departure: { readonly ageMs: number; readonly atMs: number } | undefined;
}

/** A relay finds its parent dead after 60 s and dials again after at most 60 s. So a relay whose parent is reachable again is back within this time. */
export const rootStaleMs = 180_000;
/** Spreads the moves, so that not all children of a replica come to the next one in one moment. */
export const leaveSpreadMs = 60_000;
/** Two beats, and the delays of beats on two ways. */
export const fresherByMs = 45_000;
/** The time that a session elsewhere has to last before a child goes home. */
export const staysForMs = 600_000;
/** Doublings of `staysForMs`: up to five hours, which is short compared to an absence that is found so often. */
const doublingsMax = 5;
/** Doublings of the time before the child goes home: it goes home within three hours after home is connected to the root again. */
const homewardDoublingsMax = 3;

export const rootWatch: RootWatch = {
  vainMoves: 0,
  homeDepartures: 0,
  staysUntilMs: 0,
  leavesAtMs: undefined,
  departure: undefined,
};

export interface RootReport {
  /** The age in a beat of the parent. */
  readonly ageMs: number;
  readonly nowMs: number;
  readonly isHome: boolean;
}

/** `fraction`: uniform in [0, 1). */
export function onRootReport(
  before: RootWatch,
  report: RootReport,
  fraction: () => number,
): { readonly watch: RootWatch; readonly leaves: boolean } {
  const { ageMs, nowMs, isHome } = report;
  const watch = judged(before, report);
  if (ageMs < rootStaleMs) {
    return {
      watch: { ...watch, leavesAtMs: undefined, homeDepartures: isHome ? 0 : watch.homeDepartures },
      leaves: false,
    };
  }
  if (nowMs < watch.staysUntilMs) return { watch, leaves: false };
  const leavesAtMs = watch.leavesAtMs ?? nowMs + Math.round(leaveSpreadMs * fraction());
  if (nowMs < leavesAtMs) return { watch: { ...watch, leavesAtMs }, leaves: false };
  const homeDepartures = watch.homeDepartures + (isHome ? 1 : 0);
  return {
    watch: { ...watch, homeDepartures, leavesAtMs: undefined, departure: { ageMs, atMs: nowMs } },
    leaves: true,
  };
}

/**
 * A new session, for whatever reason. `isElsewhere`: at another replica than the last session. What the child found about the former replica is no reason to
 * stay at this one, unless the child came to see whether the report of the root is fresher here.
 */
export function onSessionChanged(watch: RootWatch, isElsewhere: boolean): RootWatch {
  const staysUntilMs = isElsewhere && !watch.departure ? 0 : watch.staysUntilMs;
  if (watch.leavesAtMs === undefined && staysUntilMs === watch.staysUntilMs) return watch;
  return { ...watch, leavesAtMs: undefined, staysUntilMs };
}

/** The factor by which the time before going home grows, since home was cut off. */
export function returnDelayFactor({ homeDepartures }: RootWatch): number {
  return 2 ** Math.min(homewardDoublingsMax, homeDepartures);
}

/** At the first beat of the replica that the child tries. */
function judged(watch: RootWatch, { ageMs, nowMs }: RootReport): RootWatch {
  const { departure } = watch;
  if (!departure) return watch;
  const wasWorthIt = ageMs + fresherByMs <= departure.ageMs + nowMs - departure.atMs;
  const vainMoves = wasWorthIt ? 0 : watch.vainMoves + 1;
  return {
    ...watch,
    vainMoves,
    departure: undefined,
    staysUntilMs: nowMs + staysForMs * 2 ** Math.min(doublingsMax, vainMoves),
  };
}
