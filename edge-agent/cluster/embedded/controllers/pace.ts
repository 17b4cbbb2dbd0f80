/** How fast the embedded cluster simulates workloads. */

export interface PodPace {
  /** The shortest and longest time between two steps in the life of a pod. */
  readonly stepMinMs: number;
  readonly stepMaxMs: number;
}

export interface ClusterPace extends PodPace {
  /**
   * A rollout without progress counts as failed after this time, even if its own deadline is longer. No step of the embedded cluster takes minutes. So a
   * person who tries out a broken image need not wait for minutes.
   */
  readonly progressDeadlineMaxMs: number;
}

export const defaultPace: ClusterPace = { stepMinMs: 100, stepMaxMs: 300, progressDeadlineMaxMs: 10_000 };
