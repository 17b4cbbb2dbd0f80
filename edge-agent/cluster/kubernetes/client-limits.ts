/** What an agent asks of its cluster's API server at most. */
export interface ClientLimits {
  /** Requests a second that last; a burst of one second's worth goes at once. Watches count when they begin. */
  readonly requestsPerSecond: number;
  /** Requests under way at once, watches left aside. */
  readonly inFlight: number;
  /** Bytes of these and of their answers in memory at once. One request with its answer may have half of it. */
  readonly inFlightBytes: number;
}

/**
 * Less than what an API server gives to all clients of a priority level together, and more than the agent's own work brings about. An object has 1.5 MB at most
 * (https://etcd.io/docs/v3.5/dev-guide/limit/), and a page of 500 ordinary ones some 2 MB.
 */
export const defaultLimits: ClientLimits = { requestsPerSecond: 400, inFlight: 16, inFlightBytes: 16 * 2 ** 20 };
/** With less than that, half of it would be too little for an object of the largest size that there is and the request for it. */
export const inFlightBytesMin = 8 * 2 ** 20;
