/**
 * The streams of one session: their ids, their limits, the census, and their calls. If the parent asks for a stream, it sends the request on the session, and
 * the child opens a call for the stream. If the child asks, it opens the call itself, and the request is the first frame on the call.
 */

import type { Clock, Timer } from '../runtime/clock.ts';
import { BanyanError, describeError } from '../runtime/errors.ts';
import { TokenBucket } from '../runtime/token-bucket.ts';
import { streamsMax } from '../wire/codec/part-limits.ts';
import type { Frame, Open } from '../wire/generated/mesh.ts';
import type { Link, LinkEvents } from '../wire/link.ts';
import { type CensusState, censusEveryMs, noSuspects, takeCensus } from './census.ts';
import { RefusedStream } from './refused-stream.ts';
import {
  type ByteStream,
  bulkWindowBytes,
  type Offer,
  type ResetCode,
  type StreamHandler,
  type StreamObserver,
  type StreamRequest,
  type StreamReset,
  streamWindowBytes,
} from './stream.ts';
import { StreamEnd, type StreamEndPorts } from './stream-end.ts';
import { openFrame, resetFrame, resetFromWire, streamRequestFromWire } from './stream-frames.ts';
import { UsedIds } from './used-ids.ts';

export interface SessionStreamsPorts {
  readonly side: 'parent' | 'child';
  /** The link of the session. */
  readonly link: Link;
  /** Path of this node. */
  readonly at: string;
  readonly clock: Clock;
  readonly observer: StreamObserver;
  /** Called when the other side asks for a stream. */
  offered(offer: Offer): void;
}

/**
 * Limit for the sum of all windows of a session. Half of it is reserved, so that streams which open later get at least `windowBytesMin`. With the other half,
 * four bulk streams or 32 other streams get their full windows.
 */
export const windowBytesTotal = 16 * 1024 * 1024;
/** The smallest window of a stream, even if all streams are open: half a megabyte per second at a round trip of 60 ms. */
const windowBytesMin = windowBytesTotal / 2 / streamsMax;
/** Limit for the opens of the other side: a burst of as many as there may be streams, then one in `openEveryMs`. */
const opensBurst = streamsMax;
const openEveryMs = 10;
/** Limit for calls of the child whose Open has not arrived yet: as many as the burst of opens. Each of them costs a timer and a call of about 15 KB. */
const callsWithoutOpenMax = opensBurst;
/** Limit for the recorded ids that may still arrive, on calls with their own connections: as many as open calls, plus the same number of failed calls. */
const skippedMax = 2 * streamsMax;
/**
 * Limit for the answers to refused requests and to unknown streams in a census. If a peer sends more requests, the extra requests get no answer before their
 * deadline. If a peer lists more unknown streams, the rest are answered after its next list. This is rare: a full list is half of the burst, and lists are
 * half a minute apart.
 */
const refusalsBurst = 2 * streamsMax;
const refusalEveryMs = 5;

export class SessionStreams {
  readonly #ports: SessionStreamsPorts;
  readonly #ends = new Map<number, StreamEnd>();
  readonly #opens: TokenBucket;
  readonly #refusals: TokenBucket;
  /** Calls of the child whose first frame has not arrived. */
  readonly #callsWithoutOpen = new Set<Link>();
  readonly #used: UsedIds;
  #nextId: number;
  #windows = 0;
  #census: CensusState = noSuspects;
  #timer: Timer | undefined;
  #endedBy: string | undefined;

  constructor(ports: SessionStreamsPorts) {
    this.#ports = ports;
    const nowMs = ports.clock.monotonicMs();
    this.#opens = new TokenBucket(opensBurst, openEveryMs, nowMs);
    this.#refusals = new TokenBucket(refusalsBurst, refusalEveryMs, nowMs);
    this.#nextId = ports.side === 'parent' ? 2 : 1;
    this.#used = new UsedIds(ports.side === 'parent' ? 1 : 2, skippedMax);
  }

  get size(): number {
    return this.#ends.size;
  }

  /** Asks the other side for a stream. If this is not possible, the handler gets the reason in a later turn of the event loop. */
  open(request: StreamRequest, handler: StreamHandler): ByteStream {
    const refusal = this.#refusalOf(request);
    if (refusal) return new RefusedStream(handler, refusal);
    const id = this.#nextId;
    this.#nextId += 2;
    const window = this.#takeWindow(request.bulk);
    const end = this.#add(id, window, request.deadlineMs, { handler });
    const frame = openFrame(id, request, window);
    if (this.#ports.side === 'parent') this.#ports.link.send(frame);
    else this.#call(id, request.bulk, end, frame);
    return end;
  }

  /** Processes a frame of the session that is about a stream. */
  receive({ frame }: Frame): void {
    if (this.#endedBy !== undefined) return;
    switch (frame?.$case) {
      case 'open':
        return this.#onOpen(frame.value);
      case 'reset':
        return this.#ends.get(frame.value.stream)?.resetByPeer(resetFromWire(frame.value));
      case 'census':
        return this.#onCensus(frame.value.streams);
    }
  }

  /** Only at the parent: accepts a call that the child has opened for a stream. Throws NotFound, TooManyRequests or Protocol to refuse the call. */
  accept(id: number, link: Link): LinkEvents {
    if (this.#endedBy !== undefined) throw new BanyanError('NotFound', `there is no stream ${id}: ${this.#endedBy}`);
    if (id % 2 === 1) return this.#onCall(id, link);
    const end = this.#ends.get(id);
    if (!end || end.isAttached) {
      this.#ports.observer.refused('Unknown');
      throw new BanyanError(
        'NotFound',
        `nobody waits for a call of stream ${id}: it was not asked for, or came too late`,
      );
    }
    end.attach(link);
    return end;
  }

  /** Ends all streams, because the session is over. */
  end(reason: string): void {
    this.#endedBy = reason;
    this.#timer?.stop();
    for (const end of [...this.#ends.values()]) end.lost(reason);
  }

  // ------------------------------------------------------------------------------------------- the other side asks

  /** Only at the child: processes a request of the parent, which arrives on the session. */
  #onOpen(open: Open): void {
    const refuse = (reset: StreamReset) => this.#ports.link.send(resetFrame(open.stream, reset));
    const end = this.#take(open, refuse);
    if (!end) return;
    let answered = false;
    const offer: Offer = {
      request: end.request,
      accept: (handler) => {
        if (!answered && !end.end.isClosed) this.#call(open.stream, open.bulk, end.end);
        answered = true;
        return end.end.accept(handler);
      },
      refuse: (reset) => end.end.reset(reset),
      onGone: (gone) => end.end.onGone(gone),
    };
    this.#ports.offered(offer);
  }

  /** Only at the parent: handles a call that the child opened for its own request. The first frame on the call is the request. */
  #onCall(id: number, link: Link): LinkEvents {
    const tooMany = this.#tooManyCalls() ?? this.#tooFast();
    if (tooMany) {
      this.#ports.observer.refused('TooMany');
      throw new BanyanError('TooManyRequests', `the call of stream ${id} is refused: ${tooMany}; ask later`);
    }
    this.#callsWithoutOpen.add(link);
    let end: StreamEnd | undefined;
    const timer = this.#ports.clock.after(openWithinMs, () => link.close('no open arrived'));
    const refuse = (reset: StreamReset) => {
      link.send(resetFrame(id, reset));
      link.close(reset.message);
    };
    return {
      onFrame: (frame) => {
        if (end) return end.onFrame(frame);
        timer.stop();
        this.#callsWithoutOpen.delete(link);
        if (frame.frame?.$case !== 'open' || frame.frame.value.stream !== id) {
          this.#ports.observer.refused('Protocol');
          return refuse(this.#resetOf('Protocol', `the first frame on the call of stream ${id} is not its open`));
        }
        const taken = this.#take(frame.frame.value, refuse);
        // The call is closed even if the refusal gets no answer (too many refusals). Otherwise it would stay open as long as the session.
        if (!taken) return link.close('its open is not taken');
        end = taken.end;
        end.attach(link);
        this.#ports.offered({
          request: taken.request,
          accept: (handler) => taken.end.accept(handler),
          refuse: (reset) => taken.end.reset(reset),
          onGone: (gone) => taken.end.onGone(gone),
        });
      },
      onBytes: () => end?.onBytes(),
      onDrain: () => end?.onDrain(),
      onClose: (error) => {
        timer.stop();
        this.#callsWithoutOpen.delete(link);
        end?.onClose(error);
      },
    };
  }

  #take(open: Open, refuse: (reset: StreamReset) => void): { end: StreamEnd; request: StreamRequest } | undefined {
    const { side } = this.#ports;
    const turnAway = (code: ResetCode, message: string) => {
      this.#ports.observer.refused(code);
      if (this.#mayAnswer()) refuse(this.#resetOf(code, message));
      return undefined;
    };
    const { stream } = open;
    if (!this.#used.take(stream)) {
      this.#ends.get(stream)?.lost(`its id ${stream} was used again`);
      return turnAway('Protocol', `an open with the id ${stream}, which is used, or not of that side`);
    }
    // At the parent, `#onCall` has counted the call already.
    const tooFast = side === 'child' ? this.#tooFast() : undefined;
    if (tooFast) return turnAway('TooMany', tooFast);
    let request: StreamRequest;
    try {
      request = streamRequestFromWire(open);
    } catch (error) {
      return turnAway('BadRequest', describeError(error));
    }
    const full = this.#full();
    if (full) return turnAway('TooMany', full);
    const window = this.#takeWindow(request.bulk);
    const end = this.#add(stream, window, request.deadlineMs, { credit: open.creditBytes });
    return { end, request };
  }

  // ------------------------------------------------------------------------------------------------------ helpers

  /** Only at the child: opens the call of a stream. `first`: the first frame on the call. */
  #call(id: number, bulk: boolean, end: StreamEnd, first?: Frame): void {
    const { link } = this.#ports;
    const failed = (reason: string) => end.reset(this.#resetOf('Unavailable', reason));
    if (!link.openStream) return failed(`${link.transport} carries no streams`);
    link.openStream(id, bulk, end).then(
      (call) => {
        if (first && !end.isClosed) call.send(first);
        end.attach(call);
      },
      (error: unknown) => failed(describeError(error)),
    );
  }

  #add(
    id: number,
    window: number,
    deadlineMs: number,
    side: { handler: StreamHandler } | { credit: number },
  ): StreamEnd {
    const { at, clock, observer, link } = this.#ports;
    const ports: StreamEndPorts = {
      id,
      at,
      clock,
      observer,
      windowBytes: window,
      deadlineMs,
      peer: link.peer.path === '' ? 'the center' : link.peer.path,
      sendReset: (frame) => {
        if (this.#endedBy === undefined) link.send(frame);
      },
      closed: () => {
        this.#windows -= window;
        this.#ends.delete(id);
      },
    };
    const end = new StreamEnd(ports, side);
    this.#ends.set(id, end);
    this.#scheduleCensus();
    return end;
  }

  #refusalOf(request: StreamRequest): StreamReset | undefined {
    if (this.#endedBy !== undefined) return this.#resetOf('Unavailable', this.#endedBy);
    const full = this.#full();
    if (!full) return undefined;
    this.#ports.observer.refused('TooMany');
    return this.#resetOf('TooMany', `${full}, as ${request.kind} to ${request.path} was asked for`);
  }

  #full(): string | undefined {
    if (this.#ends.size < streamsMax) return undefined;
    return `${streamsMax} streams are open between ${this.#ports.at || 'the center'} and ${this.#ports.link.peer.path || 'the center'}`;
  }

  #tooFast(): string | undefined {
    if (this.#opens.take(this.#ports.clock.monotonicMs()) === 0) return undefined;
    return `more than ${1000 / openEveryMs} streams a second are asked for`;
  }

  #tooManyCalls(): string | undefined {
    if (this.#callsWithoutOpen.size < callsWithoutOpenMax) return undefined;
    return `${callsWithoutOpenMax} calls wait for the open of their stream`;
  }

  #takeWindow(bulk: boolean): number {
    const reserved = windowBytesMin * (streamsMax - this.#ends.size - 1);
    const free = windowBytesTotal - this.#windows - reserved;
    const window = Math.max(windowBytesMin, Math.min(bulk ? bulkWindowBytes : streamWindowBytes, free));
    this.#windows += window;
    return window;
  }

  #mayAnswer(): boolean {
    return this.#refusals.take(this.#ports.clock.monotonicMs()) === 0;
  }

  #resetOf(code: ResetCode, message: string): StreamReset {
    return { code, message, at: this.#ports.at };
  }

  // ------------------------------------------------------------------------------------------------------- census

  /** Sets the timer for the next census. It runs only while there are streams, so an idle session sends no census. */
  #scheduleCensus(): void {
    if (this.#timer) return;
    this.#timer = this.#ports.clock.after(censusEveryMs, () => {
      this.#timer = undefined;
      if (this.#ends.size === 0 || this.#endedBy !== undefined) return;
      this.#ports.link.send({ frame: { $case: 'census', value: { streams: [...this.#ends.keys()] } } });
      this.#scheduleCensus();
    });
  }

  #onCensus(streams: readonly number[]): void {
    const { state, unknown } = takeCensus(this.#census, streams, (id) => this.#ends.has(id), streamsMax);
    this.#census = state;
    for (const id of unknown) {
      this.#ports.observer.refused('Unknown');
      if (this.#mayAnswer())
        this.#ports.link.send(resetFrame(id, this.#resetOf('Unknown', `stream ${id} is not known here`)));
    }
  }
}

/** Time within which the Open must arrive on a new call. The child sends it immediately, so ten seconds are more than enough. */
const openWithinMs = 10_000;
