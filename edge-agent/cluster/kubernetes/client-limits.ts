/** The most that an agent asks of its cluster's API server. */
export interface ClientLimits {
  /** The lasting rate of requests. A burst of one second's requests goes at once. Watches count when they begin. */
  readonly requestsPerSecond: number;
  /** Requests on their way at once, without watches. */
  readonly inFlight: number;
  /** Bytes of these requests and their answers in memory at once. One request with its answer may have half of this. */
  readonly inFlightBytes: number;
}

/**
 * Less than what an API server gives to all clients of a priority level together, and more than the agent's own work needs. An object has 1.5 MB at most
 * (https://etcd.io/docs/v3.5/dev-guide/limit/), and a page of 500 ordinary objects has about 2 MB.
 */
export const defaultLimits: ClientLimits = { requestsPerSecond: 400, inFlight: 16, inFlightBytes: 16 * 2 ** 20 };
/** With less, half of the limit would be too little for an object of the largest size and its request. */
export const inFlightBytesMin = 8 * 2 ** 20;
