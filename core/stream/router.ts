/**
 * Where streams meet at a node: what its API, its parent or a child asks for is judged by the node's own rules, then taken by an endpoint
 * here or asked of the next hop, with what is left of its deadline.
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

/** Of a neighbour: its streams while it is attached, those of its siblings after them; otherwise whether it is known at all, and since when it is gone. */
export type AdjacentNode =
  | { readonly streams: SessionStreams; readonly others?: readonly SessionStreams[] }
  | { readonly known: boolean; readonly silentMs?: number };

export interface RouterPorts {
  readonly path: string;
  readonly clock: Clock;
  readonly observer: StreamObserver;
  /** In words why not; undefined: it may pass. Asked at every hop, by that hop's own rules. */
  authorize(request: StreamRequest, origin: RequestOrigin): string | undefined;
  /** `below`: the name after it on the way, by which one of several siblings may be nearer than the others. */
  child(name: string, below?: string): AdjacentNode;
  /** Undefined at the root. */
  parent(): AdjacentNode | undefined;
}

/** Of what is left of a deadline a hop keeps a tenth, and this much at least, so that who is nearer to a node that is silent speaks first. */
const deadlineShare = 0.1;
const deadlineReserveMs = 20;

export class StreamRouter {
  readonly #ports: RouterPorts;
  readonly #endpoints = new Map<string, Endpoint>();

  constructor(ports: RouterPorts) {
    this.#ports = ports;
  }

  /** What this node does with streams of a kind. */
  register(kind: string, endpoint: Endpoint): void {
    this.#endpoints.set(kind, endpoint);
  }

  /** The streams of a new session with a child, by its name, or with the parent. */
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

  /** From this node itself. Throws BadRequest for a request that no node would take. */
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
      const known = [...this.#endpoints.keys()].sort().join(', ');
      return this.#refuse(offer, 'NotFound', `this node has no streams of the kind ${kind}; it has ${known || 'none'}`);
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
    const leftMs = Math.floor(deadlineMs - Math.max(deadlineReserveMs, deadlineMs * deadlineShare));
    if (leftMs <= 0)
      return this.#refuse(
        offer,
        'DeadlineExceeded',
        `${durationText(deadlineMs)} is too little time to ask the ${who}`,
      );
    handOn(offer, [adjacent.streams, ...(adjacent.others ?? [])], leftMs, this.#ports.clock);
  }

  #refuse(offer: Offer, code: ResetCode, message: string, sinceMs?: number): void {
    this.#ports.observer.refused(code);
    const since = sinceMs === undefined ? {} : { sinceMs: Math.round(sinceMs) };
    const reset: StreamReset = { code, message, at: this.#ports.path, ...since };
    offer.refuse(reset);
  }
}
