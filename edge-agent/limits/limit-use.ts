/** One of the agent's own limits, and how much of the limit is used. The metrics and own-limits.ts read it. */
export interface LimitUse {
  /** The field that sets the limit: `cluster.kubernetes.limits.inFlight`. */
  readonly field: string;
  /** The reason of the condition, in CamelCase: `RequestsInFlight`. */
  readonly reason: string;
  /** In the unit of the limit: bytes, requests, or requests a second. */
  readonly max: number;
  readonly used: number;
  /** The limit as people write it: `16Mi`. */
  readonly shown: string;
  /** The sum of the times that work has waited for the limit so far, in milliseconds. Absent: no work waits for this limit. */
  readonly waitedMs?: number;
  /** The remedy for people: how to raise the limit, or how to need less. */
  readonly remedy: string;
}
