/** Limits for the requests of an agent to the API server of its cluster. */
export interface ClientLimits {
  /** The average rate of requests. A burst of one second's requests is sent at once. A watch counts once, when it begins. */
  readonly requestsPerSecond: number;
  /** How many requests may run at once. Watches do not count. */
  readonly inFlight: number;
  /** How many bytes these requests and their answers may have in memory at once. One request with its answer may have half of this. */
  readonly inFlightBytes: number;
}

/**
 * The defaults are less than an API server gives to all clients of one priority level, and more than the agent's own work needs. An object has at most 1.5 MB
 * (https://etcd.io/docs/v3.5/dev-guide/limit/), and a page of 500 ordinary objects has about 2 MB.
 */
export const defaultLimits: ClientLimits = { requestsPerSecond: 400, inFlight: 16, inFlightBytes: 16 * 2 ** 20 };
/** With less, half of the limit would be too small for an object of the largest size and its request. */
export const inFlightBytesMin = 8 * 2 ** 20;
