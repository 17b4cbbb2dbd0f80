/** How fast the embedded cluster plays workloads forward. */

export interface PodPace {
  /** Bounds of the time between two stations of a pod's life. */
  readonly stepMinMs: number;
  readonly stepMaxMs: number;
}

export interface ClusterPace extends PodPace {
  /**
   * A rollout without progress is called failed after this at the latest, whatever its own deadline: nothing here takes
   * minutes, so whoever tries out a broken image need not wait for them.
   */
  readonly progressDeadlineMaxMs: number;
}

export const defaultPace: ClusterPace = { stepMinMs: 100, stepMaxMs: 300, progressDeadlineMaxMs: 10_000 };
