/** What an agent asks of its cluster's API server at most. */
export interface ClientLimits {
  /** Requests a second that last; a burst of one second's worth goes at once. Watches count when they begin. */
  readonly requestsPerSecond: number;
  /** Requests under way at once, watches left aside. */
  readonly inFlight: number;
}

/** Less than what an API server gives to all clients of a priority level together, and more than the agent's own work brings about. */
export const defaultLimits: ClientLimits = { requestsPerSecond: 400, inFlight: 16 };
