/** One of the agent's own limits and what is used of it, as its metrics and its judge (own-limits.ts) read it. */
export interface LimitUse {
  /** Where it is set: `cluster.kubernetes.limits.inFlight`. */
  readonly field: string;
  /** CamelCase, of the condition: `RequestsInFlight`. */
  readonly reason: string;
  /** In its own unit: bytes, requests, or requests a second. */
  readonly max: number;
  readonly used: number;
  /** As whoever set it writes it: `16Mi`. */
  readonly shown: string;
  /** Ms that all that had to wait for it have waited so far, together; absent: nothing waits for it. */
  readonly waitedMs?: number;
  /** What to do about it. */
  readonly remedy: string;
}
