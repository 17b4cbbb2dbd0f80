/**
 * Decides when a child leaves a replica that is cut off from the root, and goes to the next replica. Pure functions; failover-dialer.ts carries the decision
 * out.
 *
 * A replica without a connection to its own parent still serves its children, but has no new data for them. Its beats contain the age of the newest report of
 * the root. The child cannot know this age at the other replicas, so it goes to the next replica and compares. If the root's report is much newer there, the
 * move was useful. If not, all replicas may be cut off, and the child waits twice as long before the next move. So if the center is away for a day, a child of
 * replicas moves fewer than ten times.
 */

export interface RootWatch {
  /** Number of consecutive moves after which the root's report was not newer. */
  readonly vainMoves: number;
  /** How many times in a row the child has left home because home was cut off. */
  readonly homeDepartures: number;
  /** Hysteresis: the child does not leave the present replica before this time. */
  readonly staysUntilMs: number;
  /** Time at which the child leaves the present replica, because its report of the root is too old. It is random, so that children do not leave together. */
  readonly leavesAtMs: number | undefined;
  /** The root's report at the previous replica. Present from the move until the first beat of the new replica shows whether the move was useful. */
  readonly departure: { readonly ageMs: number; readonly atMs: number } | undefined;
}

/**
 * The age at which the root's report is too old. A relay notices a dead parent after 60 s, and dials again after at most 60 s. So if the relay's parent is
 * reachable again, the relay is connected within this time, and its children do not have to leave.
 */
export const rootStaleMs = 180_000;
/** Random addition to the time of a move, so that the children of a replica do not arrive at the next one all together. */
export const leaveSpreadMs = 60_000;
/** A move was useful if the root's report is newer by at least this time: two beats, plus the delays of beats over two different routes. */
export const fresherByMs = 45_000;
/** Time for which a child stays at a replica after a move. It doubles with each move that was not useful. */
export const staysForMs = 600_000;
/** Limit for the doublings of `staysForMs`: up to five hours. */
const doublingsMax = 5;
/** Limit for the doublings of the time before the child goes home. With it, the child is home within three hours after home has the root again. */
const homewardDoublingsMax = 3;

export const rootWatch: RootWatch = {
  vainMoves: 0,
  homeDepartures: 0,
  staysUntilMs: 0,
  leavesAtMs: undefined,
  departure: undefined,
};

export interface RootReport {
  /** Age of the root's newest report, as a beat of the parent has it. */
  readonly ageMs: number;
  readonly nowMs: number;
  readonly isHome: boolean;
}

/** Processes the age in a beat. `leaves`: the child leaves the present replica now. `fraction`: uniform in [0, 1). */
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
 * Runs at each new session. `isElsewhere`: the session is at another replica than the previous session. Then the child does not have to stay for
 * `staysUntilMs`, because this time was for the previous replica. Exception: if the child moved to compare the root's reports, the time stays.
 */
export function onSessionChanged(watch: RootWatch, isElsewhere: boolean): RootWatch {
  const staysUntilMs = isElsewhere && !watch.departure ? 0 : watch.staysUntilMs;
  if (watch.leavesAtMs === undefined && staysUntilMs === watch.staysUntilMs) return watch;
  return { ...watch, leavesAtMs: undefined, staysUntilMs };
}

/** Factor for the time before the child goes home. It grows each time the child had to leave home because home was cut off. */
export function returnDelayFactor({ homeDepartures }: RootWatch): number {
  return 2 ** Math.min(homewardDoublingsMax, homeDepartures);
}

/** Runs at the first beat of the new replica: compares the root's report with that of the previous replica. */
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
