/**
 * How much a side may have in flight on a feed: what the peer allows (its credit), and no more than the line takes in a short time, so that beats
 * and streams never wait long behind data. The rate is measured from acknowledgements: bytes that were acknowledged between the sending of
 * something and its own acknowledgement, over that time (delivery rate estimation, draft-cheng-iccrg-delivery-rate-estimation).
 *
 * Pure: what was sent and acknowledged comes in, room comes out.
 */

/** A packet train that any line carries: 2.6 s at 50 kbit/s. Sessions begin with it, since nothing is known of the line yet. */
export const windowMinBytes = 16 * 1024;
/** 100 Mbit/s at a round trip of 300 ms. Also the credit that a side gives: what comes is applied at once, so it is not memory that is held. */
export const windowMaxBytes = 4 * 1024 * 1024;
/** A peer that says no credit is one that does not count it. */
const creditDefaultBytes = 512 * 1024;
/** A batch: large enough that a message's fixed cost does not matter, and half a window, so that the line is busy while one is acknowledged. */
export const batchBytesMax = 64 * 1024;
/** Messages in flight: on an idle line nothing waits, on a busy one changes keep each other company until the next acknowledgement. */
export const inFlightMax = 64;
/** Entries in one answer of a reconciliation, on lines that are worth it: each answer is waited for. */
const answerBytesMax = 256 * 1024;
/** What may queue on the line besides its own round trip. */
const queueMs = 250;
/** Data in flight are at most this long on the line: that is what a beat waits. */
const waitMaxMs = 2_000;
/** The least round trip is of the last one to two of these spans: routes change. */
const roundTripSpanMs = 30_000;

interface SentMessage {
  /** Acknowledged by a cursor; by credit, if it went beside the order; by the next request, if it is an answer. */
  readonly to: number | 'credit' | 'answer';
  readonly bytes: number;
  readonly atMs: number;
  /** Bytes that had been delivered when it was sent, and when the last of them was. */
  readonly deliveredBytes: number;
  readonly deliveredAtMs: number;
  /** The window was used up: what is measured is the line, not how little there was to send. */
  readonly full: boolean;
}

export interface Flow {
  readonly creditBytes: number;
  readonly inFlight: readonly SentMessage[];
  readonly inFlightBytes: number;
  /** Given back of the oldest message that waits for credit: less than it has. */
  readonly creditedBytes: number;
  readonly deliveredBytes: number;
  readonly deliveredAtMs: number;
  /** Bytes a ms; undefined until something was measured. */
  readonly rate: number | undefined;
  readonly roundTrip: { readonly sinceMs: number; readonly nowMs: number; readonly beforeMs: number };
}

const nothing: readonly SentMessage[] = [];

export function openFlow(announcedBytes: number, nowMs: number): Flow {
  return {
    creditBytes: announcedBytes > 0 ? announcedBytes : creditDefaultBytes,
    inFlight: nothing,
    inFlightBytes: 0,
    creditedBytes: 0,
    deliveredBytes: 0,
    deliveredAtMs: nowMs,
    rate: undefined,
    roundTrip: { sinceMs: nowMs, nowMs: Number.POSITIVE_INFINITY, beforeMs: Number.POSITIVE_INFINITY },
  };
}

export function flowWindowBytes(flow: Flow): number {
  const { rate, roundTrip } = flow;
  // What measures a rate measures a round trip.
  if (rate === undefined) return windowMinBytes;
  return Math.min(windowMaxBytes, Math.max(windowMinBytes, Math.round(rate * windowSpanMs(roundTrip))));
}

/** What a window is the work of: the line is kept busy over a round trip, and nothing waits long behind it. */
function windowSpanMs({ nowMs, beforeMs }: Flow['roundTrip']): number {
  const leastMs = Math.min(nowMs, beforeMs);
  return Math.min(waitMaxMs, Math.max(2 * leastMs, leastMs + queueMs));
}

/** Bytes that may be sent now; at least something whenever nothing is in flight, however little the peer allows. */
export function roomBytes(flow: Flow): number {
  if (flow.inFlight.length === 0) return Math.max(1, Math.min(flow.creditBytes, flowWindowBytes(flow)));
  if (flow.inFlight.length >= inFlightMax) return 0;
  return Math.max(0, Math.min(flow.creditBytes, flowWindowBytes(flow)) - flow.inFlightBytes);
}

/** The largest message of data: what is larger goes in pieces of this size. */
export function messageBytes(flow: Flow): number {
  return Math.min(batchBytesMax, Math.floor(flowWindowBytes(flow) / 2));
}

/** Of entries in an answer: nothing else is in flight with it, and each one measures the line for the next. */
export function answerBytes(flow: Flow): number {
  return Math.min(answerBytesMax, flowWindowBytes(flow));
}

export function onSent(flow: Flow, to: SentMessage['to'], bytes: number, nowMs: number): Flow {
  const inFlightBytes = flow.inFlightBytes + bytes;
  // A pause is no part of what is measured.
  const deliveredAtMs = flow.inFlight.length === 0 ? nowMs : flow.deliveredAtMs;
  const full = inFlightBytes >= flowWindowBytes(flow);
  const sent: SentMessage = { to, bytes, atMs: nowMs, deliveredBytes: flow.deliveredBytes, deliveredAtMs, full };
  return { ...flow, inFlight: [...flow.inFlight, sent], inFlightBytes, deliveredAtMs };
}

export function onAcknowledged(flow: Flow, cursor: number, nowMs: number): Flow {
  return delivered(flow, ({ to }) => typeof to === 'number' && to <= cursor, nowMs);
}

function isAnswer({ to }: SentMessage): boolean {
  return to === 'answer';
}

/** The consumer asks on, or is done. */
export function onAnswerTaken(flow: Flow, nowMs: number): Flow {
  if (!flow.inFlight.some(isAnswer)) return flow;
  return delivered(flow, isAnswer, nowMs);
}

/**
 * Credit names no message: which one was flushed first, and how much is given back at once, is the peer's matter. So bytes are counted, and the oldest goes
 * first. Undefined: the peer gives back what it never got.
 */
export function onCredit(flow: Flow, bytes: number, nowMs: number): Flow | undefined {
  let left = flow.creditedBytes + bytes;
  const done = new Set<SentMessage>();
  for (const sent of flow.inFlight) {
    if (sent.to !== 'credit') continue;
    if (left < sent.bytes) return delivered({ ...flow, creditedBytes: left }, (one) => done.has(one), nowMs);
    left -= sent.bytes;
    done.add(sent);
  }
  if (left > 0) return undefined;
  return delivered({ ...flow, creditedBytes: 0 }, (one) => done.has(one), nowMs);
}

function delivered(flow: Flow, isDone: (sent: SentMessage) => boolean, nowMs: number): Flow {
  const left: SentMessage[] = [];
  let newest: SentMessage | undefined;
  let bytes = 0;
  for (const sent of flow.inFlight) {
    if (isDone(sent)) {
      newest = sent;
      bytes += sent.bytes;
    } else {
      left.push(sent);
    }
  }
  if (!newest) return flow;
  const deliveredBytes = flow.deliveredBytes + bytes;
  const measuredBytes = deliveredBytes - newest.deliveredBytes;
  // What is acknowledged within the ms in which it was sent took some part of one.
  const tookMs = Math.max(0.1, nowMs - newest.deliveredAtMs);
  const roundTrip = nextRoundTrip(flow.roundTrip, Math.max(0.1, nowMs - newest.atMs), nowMs);
  return {
    ...flow,
    inFlight: left.length === 0 ? nothing : left,
    inFlightBytes: flow.inFlightBytes - bytes,
    deliveredBytes,
    deliveredAtMs: nowMs,
    // An answer without entries, or a batch of what is superseded, measures the round trip alone.
    rate: measuredBytes === 0 ? flow.rate : nextRate({ ...flow, roundTrip }, measuredBytes / tookMs, newest.full),
    roundTrip,
  };
}

/**
 * The window is doubled at most, since acknowledgements that were held up and come together look like a fast line: so how little was sent before takes
 * nothing of that. It falls by halves, and never by what had little to send.
 */
function nextRate({ rate, roundTrip }: Flow, sample: number, full: boolean): number {
  if (rate === undefined) return sample;
  if (sample < rate) return full ? (rate + sample) / 2 : rate;
  const leastRate = windowMinBytes / windowSpanMs(roundTrip);
  return Math.min(sample, 2 * Math.max(rate, leastRate));
}

function nextRoundTrip(known: Flow['roundTrip'], sampleMs: number, nowMs: number): Flow['roundTrip'] {
  if (nowMs - known.sinceMs >= roundTripSpanMs) return { sinceMs: nowMs, nowMs: sampleMs, beforeMs: known.nowMs };
  if (sampleMs >= known.nowMs) return known;
  return { ...known, nowMs: Math.min(known.nowMs, sampleMs) };
}
