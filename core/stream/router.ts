/**
 * Handles requests for streams at a node. The requests come from the node's own API, its parent and its children. The node's own rules allow or refuse each
 * request. Then an endpoint of the node accepts the stream, or the node asks the next hop, within the remaining deadline.
 */
import type { Clock } from '../runtime/clock.ts';
import { durationText } from '../runtime/duration-text.ts';
import { BanyanError } from '../runtime/errors.ts';
import type { Link } from '../wire/link.ts';
import { handOn } from './hand-on.ts';
import { openLoopback } from './loopback.ts';
import { nextHop } from './route.ts';
import type { StreamRules } from './rules.ts';
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
import { namedAsOfChild } from './vouching.ts';

/** Accepts or refuses the offer. */
export type Endpoint = (offer: Offer) => void;

/**
 * A neighbour of this node. If it is connected: its streams, and in `others` the streams of its other replicas. If not: whether this node knows the neighbour
 * at all, and how long it has been disconnected.
 */
export type AdjacentNode =
  | { readonly streams: SessionStreams; readonly others?: readonly SessionStreams[] }
  | {
      readonly known: boolean;
      readonly silentMs?: number /** The node has never connected. */;
      readonly isNew?: boolean;
    };

export interface RouterPorts {
  readonly path: string;
  readonly clock: Clock;
  readonly observer: StreamObserver;
  /** Returns why the request is forbidden. Undefined: it is allowed. Each hop has its own rules. `child`: the name of the child that asks. */
  readonly authorize: StreamRules;
  /** The child with this name. `below`: the next name in the path. If the child has replicas, the replica to which `below` is attached should come first. */
  child(name: string, below?: string): AdjacentNode;
  /** The parent. Undefined at the root. */
  parent(): AdjacentNode | undefined;
}

/**
 * Share of the remaining deadline that each hop keeps for itself; at least 20 ms. So if a node does not answer, the hop next to it is the first to report the
 * time-out.
 */
const deadlineShare = 0.1;
const deadlineReserveMs = 20;

export class StreamRouter {
  readonly #ports: RouterPorts;
  readonly #endpoints = new Map<string, Endpoint>();

  constructor(ports: RouterPorts) {
    this.#ports = ports;
  }

  /** Sets the endpoint of this node for streams of a kind. */
  register(kind: string, endpoint: Endpoint): void {
    this.#endpoints.set(kind, endpoint);
  }

  /** Makes the streams of a new session with a child or with the parent. */
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

  /** Opens a stream that begins at this node, for a user of this node. Throws BadRequest for an invalid request. */
  open(asked: Omit<StreamRequest, 'voucher'>, handler: StreamHandler): ByteStream {
    const { path: at, clock, observer } = this.#ports;
    const request = { ...asked, voucher: at };
    checkRequest(request);
    return openLoopback({ at, clock, observer }, request, handler, (offer) => this.#take(offer, 'here'));
  }

  #take(offer: Offer, origin: RequestOrigin, from?: string): void {
    const { request } = offer;
    const hop = nextHop(this.#ports.path, request.path, origin, from);
    const forbidden =
      this.#ports.authorize(request, origin, from) ??
      (origin === 'here' && hop.to !== 'here' ? this.#namedAsOfChild(request) : undefined);
    if (forbidden !== undefined) return this.#refuse(offer, 'Forbidden', forbidden);
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

  /** Why no other node may see the user of the request. Undefined: other nodes may. */
  #namedAsOfChild(request: StreamRequest): string | undefined {
    const { path, child } = this.#ports;
    return namedAsOfChild(request, path, (name) => {
      const adjacent = child(name);
      return 'streams' in adjacent || adjacent.known;
    });
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
      const state = adjacent.isNew ? 'has never connected' : 'is not connected';
      return this.#refuse(offer, 'Disconnected', `the ${who} ${state}`, adjacent.silentMs);
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
