/**
 * The order in which requests get the node's one thread. Each flow has a queue of its own, and the flows take turns. A flow that had nothing to ask since its
 * last turn goes first, once. So a flow with many requests delays a client that sends one request after the other only by the request that works already.
 */
import { BanyanError } from '../../runtime/errors.ts';

/** The flow of a request is its user and its space. */
export interface Asking {
  readonly flow: string;
  /** The length of the body. */
  readonly bytes: number;
  /** True: the request has had a turn, for example for the first objects of a list. Then it is heavy. */
  readonly isFurther?: boolean;
}

/** The most that may wait, and what is heavy. */
export interface QueueBounds {
  /** Requests of one flow. */
  readonly flowWaiting: number;
  /** Requests of all flows. */
  readonly waiting: number;
  /** Bytes of the bodies of one flow. */
  readonly flowBytes: number;
  /** Bytes of all bodies. */
  readonly bytes: number;
  /** A request with a longer body is heavy. */
  readonly heavyBytes: number;
}

/**
 * The bounds of requests that wait for the node's thread. A thousand informers of one program may come back at once, and ten bodies of the maximal length. The
 * smallest nodes have 256 MiB of memory. A heavy request may take as long as a hundred others.
 */
export const turnBounds: QueueBounds = {
  flowWaiting: 1_000,
  waiting: 4_000,
  flowBytes: 16 * 1024 * 1024,
  bytes: 64 * 1024 * 1024,
  heavyBytes: 16 * 1024,
};
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

/** The flows of one class. Both maps have the next flow first. */
class Flows<Request> {
  /** Flows that were in neither map when their first request came. */
  readonly #fresh = new Map<string, Flow<Request>>();
  /**
   * Flows that have had a turn. A flow stays here until its next turn comes, even if none of its requests waits. Otherwise a few flows with one request after
   * the other could go first for ever.
   */
  readonly #served = new Map<string, Flow<Request>>();
  readonly #bounds: QueueBounds;
  /** Waiting requests. */
  size = 0;

  constructor(bounds: QueueBounds) {
    this.#bounds = bounds;
  }

  /** Throws TooManyRequests if too much of this flow waits. */
  add(waiting: Waiting<Request>): void {
    const { flow: name, bytes } = waiting;
    const flow = this.#served.get(name) ?? this.#fresh.get(name) ?? { queue: [], bytes: 0 };
    if (flow.queue.length >= this.#bounds.flowWaiting || flow.bytes + bytes > this.#bounds.flowBytes)
      throw tooMany(`${flow.queue.length} of your requests to this space wait, with bodies of ${flow.bytes} bytes`);
    if (!this.#served.has(name)) this.#fresh.set(name, flow);
    flow.queue.push(waiting);
    flow.bytes += bytes;
    this.size++;
  }

  /** Takes the next request out. Its flow goes to the end of the flows that have had a turn. */
  next(): Waiting<Request> | undefined {
    for (;;) {
      const flows = this.#fresh.size > 0 ? this.#fresh : this.#served;
      const [first] = flows;
      if (!first) return undefined;
      const [name, flow] = first;
      flows.delete(name);
      const waiting = flow.queue.shift();
      if (!waiting) continue;
      flow.bytes -= waiting.bytes;
      this.#served.set(name, flow);
      this.size--;
      return waiting;
    }
  }
}

export class FairQueue<Request> {
  readonly #bounds: QueueBounds;
  readonly #light: Flows<Request>;
  readonly #heavy: Flows<Request>;
  /** Light requests that may still go before a heavy one. */
  #lightLeft = lightPerHeavy;
  #waiting = 0;
  #bytes = 0;

  constructor(bounds = turnBounds) {
    this.#bounds = bounds;
    this.#light = new Flows(bounds);
    this.#heavy = new Flows(bounds);
  }

  get size(): number {
    return this.#waiting;
  }

  /** Throws TooManyRequests if too much waits. */
  add(asking: Asking, request: Request): void {
    const { bytes, isFurther = false } = asking;
    if (this.#waiting >= this.#bounds.waiting || this.#bytes + bytes > this.#bounds.bytes)
      throw tooMany(`${this.#waiting} requests wait at this node, with bodies of ${this.#bytes} bytes`);
    (isFurther || bytes > this.#bounds.heavyBytes ? this.#heavy : this.#light).add({ ...asking, request });
    this.#waiting++;
    this.#bytes += bytes;
  }

  /** Takes the next request out. */
  next(): Request | undefined {
    const isHeavy = this.#light.size === 0 || (this.#heavy.size > 0 && this.#lightLeft === 0);
    this.#lightLeft = isHeavy ? lightPerHeavy : Math.max(0, this.#lightLeft - 1);
    const next = (isHeavy ? this.#heavy : this.#light).next();
    if (!next) return undefined;
    this.#waiting--;
    this.#bytes -= next.bytes;
    return next.request;
  }
}

function tooMany(what: string): BanyanError {
  return new BanyanError('TooManyRequests', `${what}: send fewer at once, or try again later`, { retryAfterSeconds });
}
