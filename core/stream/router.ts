/**
 * Where streams meet at a node. Its own API, its parent and its children ask for streams. The node's own rules decide about each request. Then an endpoint of
 * the node takes the stream, or the node asks the next hop, within the rest of the deadline.
 */
import type { Clock } from '../runtime/clock.ts';
import { durationText } from '../runtime/duration-text.ts';
import { BanyanError } from '../runtime/errors.ts';
import type { Link } from '../wire/link.ts';
import { handOn } from './hand-on.ts';
import { openLoopback } from './loopback.ts';
import { nextHop } from './route.ts';
import type {
  ByteStream,
  Offer,
  RequestOrigin,
  ResetCode,
  StreamHandler,
  StreamObserver,
  StreamRequest,
  StreamReset,
} from './stream.ts';
import { checkRequest } from './stream-frames.ts';
import { SessionStreams } from './streams.ts';

/** Takes the offer or refuses it. */
export type Endpoint = (offer: Offer) => void;

/**
 * A neighbour of this node. While it is attached: its streams, and in `others` the streams of its other replicas. Otherwise: whether the neighbour exists at
 * all, and how long it has been disconnected.
 */
export type AdjacentNode =
  | { readonly streams: SessionStreams; readonly others?: readonly SessionStreams[] }
  | { readonly known: boolean; readonly silentMs?: number };

export interface RouterPorts {
  readonly path: string;
  readonly clock: Clock;
  readonly observer: StreamObserver;
  /** Undefined: the request may pass; otherwise the reason against it. Every hop decides by its own rules. */
  authorize(request: StreamRequest, origin: RequestOrigin): string | undefined;
  /** `below`: the next name on the way. One of several replicas may be nearer to it than the others. */
  child(name: string, below?: string): AdjacentNode;
  /** Undefined at the root. */
  parent(): AdjacentNode | undefined;
}

/** Each hop keeps a tenth of the remaining deadline, and at least 20 ms. So the hop next to a silent node is the first to report the time-out. */
const deadlineShare = 0.1;
const deadlineReserveMs = 20;

export class StreamRouter {
  readonly #ports: RouterPorts;
  readonly #endpoints = new Map<string, Endpoint>();

  constructor(ports: RouterPorts) {
    this.#ports = ports;
  }

  /** Sets what this node does with streams of a kind. */
  register(kind: string, endpoint: Endpoint): void {
    this.#endpoints.set(kind, endpoint);
  }

  /** The streams of a new session, with a child by its name or with the parent. */
  sessionWith(adjacent: { child: string } | 'parent', link: Link): SessionStreams {
    const { path, clock, observer } = this.#ports;
    return new SessionStreams({
      side: adjacent === 'parent' ? 'child' : 'parent',
      link,
      at: path,
      clock,
      observer,
      offered: (offer) => {
        if (adjacent === 'parent') this.#take(offer, 'above');
        else this.#take(offer, 'below', adjacent.child);
      },
    });
  }

  /** Opens a stream from this node itself. Throws BadRequest for a request that no node would take. */
  open(request: StreamRequest, handler: StreamHandler): ByteStream {
    checkRequest(request);
    const { path: at, clock, observer } = this.#ports;
    return openLoopback({ at, clock, observer }, request, handler, (offer) => this.#take(offer, 'here'));
  }

  #take(offer: Offer, origin: RequestOrigin, from?: string): void {
    const { request } = offer;
    const forbidden = this.#ports.authorize(request, origin);
    if (forbidden !== undefined) return this.#refuse(offer, 'Forbidden', forbidden);
    const hop = nextHop(this.#ports.path, request.path, origin, from);
    switch (hop.to) {
      case 'here':
        return this.#serve(offer);
      case 'child': {
        const at = this.#ports.path === '' ? hop.name : `${this.#ports.path}:${hop.name}`;
        return this.#handOn(offer, this.#ports.child(hop.name, hop.below), `child ${at}`);
      }
      case 'parent': {
        const parent = this.#ports.parent();
        if (parent) return this.#handOn(offer, parent, 'parent');
        return this.#refuse(offer, 'NotFound', `there is no ${request.path} in this tree`);
      }
      case 'nowhere':
        return this.#refuse(offer, 'NotFound', hop.why);
    }
  }

  #serve(offer: Offer): void {
    const { kind } = offer.request;
    const endpoint = this.#endpoints.get(kind);
    if (!endpoint) {
      const kinds = [...this.#endpoints.keys()].sort().join(', ');
      return this.#refuse(offer, 'NotFound', `this node has no streams of the kind ${kind}; it has ${kinds || 'none'}`);
    }
    try {
      endpoint(offer);
    } catch (error) {
      if (!(error instanceof BanyanError)) throw error;
      this.#refuse(offer, error.code === 'BadRequest' ? 'BadRequest' : 'Internal', error.message);
    }
  }

  #handOn(offer: Offer, adjacent: AdjacentNode, who: string): void {
    if (!('streams' in adjacent)) {
      if (!adjacent.known) return this.#refuse(offer, 'NotFound', `there is no ${who}`);
      return this.#refuse(offer, 'Disconnected', `the ${who} is not connected`, adjacent.silentMs);
    }
    const { deadlineMs } = offer.request;
    const remainingMs = Math.floor(deadlineMs - Math.max(deadlineReserveMs, deadlineMs * deadlineShare));
    if (remainingMs <= 0)
      return this.#refuse(
        offer,
        'DeadlineExceeded',
        `${durationText(deadlineMs)} is too little time to ask the ${who}`,
      );
    handOn(offer, [adjacent.streams, ...(adjacent.others ?? [])], remainingMs, this.#ports.clock);
  }

  #refuse(offer: Offer, code: ResetCode, message: string, sinceMs?: number): void {
    this.#ports.observer.refused(code);
    const since = sinceMs === undefined ? {} : { sinceMs: Math.round(sinceMs) };
    const reset: StreamReset = { code, message, at: this.#ports.path, ...since };
    offer.refuse(reset);
  }
}
