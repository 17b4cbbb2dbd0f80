/**
 * The order in which requests get the node's one thread. Each flow has a queue of its own, and the flows take turns. So a flow with many requests delays a
 * request of another flow by one request, not by all of them.
 */
import { BanyanError } from '../../runtime/errors.ts';

/** The flow of a request is its user and its space. */
export interface Asking {
  readonly flow: string;
  /** The length of the body. */
  readonly bytes: number;
}

/** Waiting requests of one flow: enough for a thousand informers of one program that come back at once. */
export const flowWaitingMax = 1_000;
/** Waiting requests of all flows. */
export const waitingMax = 4_000;
/** Bytes of the waiting bodies of one flow: ten bodies of the maximal length. */
export const flowBytesMax = 16 * 1024 * 1024;
/** Bytes of all waiting bodies. The smallest nodes have 256 MiB of memory. */
export const bytesMax = 64 * 1024 * 1024;
/** A request with a longer body is heavy: it may take as long as a hundred others. */
const heavyBytes = 16 * 1024;
/** Light requests that go before the next heavy one. So a light request waits for one heavy request at most, and heavy ones get half of the thread. */
export const lightPerHeavy = 100;
/** Kubernetes clients wait for this time and then send the request again. */
const retryAfterSeconds = 1;

interface Waiting<Request> extends Asking {
  readonly request: Request;
}

interface Flow<Request> {
  readonly queue: Waiting<Request>[];
  bytes: number;
}

/** The flows with waiting requests, the next one first. */
type Flows<Request> = Map<string, Flow<Request>>;

export class FairQueue<Request> {
  readonly #light: Flows<Request> = new Map();
  readonly #heavy: Flows<Request> = new Map();
  /** Light requests that may still go before a heavy one. */
  #lightLeft = lightPerHeavy;
  #waiting = 0;
  #bytes = 0;

  get size(): number {
    return this.#waiting;
  }

  /** Throws TooManyRequests if too much waits. */
  add(asking: Asking, request: Request): void {
    const { flow: name, bytes } = asking;
    const flows = bytes > heavyBytes ? this.#heavy : this.#light;
    const flow = flows.get(name) ?? { queue: [], bytes: 0 };
    if (flow.queue.length >= flowWaitingMax || flow.bytes + bytes > flowBytesMax)
      throw tooMany(`${flow.queue.length} of your requests to this space wait, with bodies of ${flow.bytes} bytes`);
    if (this.#waiting >= waitingMax || this.#bytes + bytes > bytesMax)
      throw tooMany(`${this.#waiting} requests wait at this node, with bodies of ${this.#bytes} bytes`);
    flows.set(name, flow);
    flow.queue.push({ ...asking, request });
    flow.bytes += bytes;
    this.#waiting++;
    this.#bytes += bytes;
  }

  /** Takes the next request out. Its flow goes to the end of the flows. */
  next(): Request | undefined {
    const isHeavy = this.#light.size === 0 || (this.#heavy.size > 0 && this.#lightLeft === 0);
    this.#lightLeft = isHeavy ? lightPerHeavy : Math.max(0, this.#lightLeft - 1);
    const flows = isHeavy ? this.#heavy : this.#light;
    const [first] = flows;
    if (!first) return undefined;
    const [name, flow] = first;
    const { bytes, request } = flow.queue.shift()!;
    flow.bytes -= bytes;
    this.#waiting--;
    this.#bytes -= bytes;
    flows.delete(name);
    if (flow.queue.length > 0) flows.set(name, flow);
    return request;
  }
}

function tooMany(what: string): BanyanError {
  return new BanyanError('TooManyRequests', `${what}: send fewer at once, or try again later`, { retryAfterSeconds });
}
