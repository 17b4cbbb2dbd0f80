/**
 * How much a side may have in flight on a feed: no more than the peer allows (its credit), and no more than the line transmits in a short time, so that beats
 * and streams never wait long behind data. The rate comes from acknowledgements: the bytes that were acknowledged between the sending of a message and the
 * message's own acknowledgement, divided by that time (delivery rate estimation, draft-cheng-iccrg-delivery-rate-estimation).
 *
 * Pure: the input is what was sent and acknowledged, the output is the room for more.
 */

/** An amount that any line carries: 2.6 s at 50 kbit/s. A session begins with this window, since it knows nothing about the line yet. */
export const windowMinBytes = 16 * 1024;
/** 100 Mbit/s at a round trip of 300 ms. This is also the credit that a side gives. The receiver applies data at once, so the credit does not occupy memory. */
export const windowMaxBytes = 4 * 1024 * 1024;
/** A peer that announces no credit does not count credit; this value is assumed. */
const creditDefaultBytes = 512 * 1024;
/**
 * Size of a batch. A batch is large enough that the fixed cost of a message does not matter, and is half a window, so that the line is busy while one batch
 * is being acknowledged.
 */
export const batchBytesMax = 64 * 1024;
/** Messages in flight. On an idle line no message waits. On a busy line, changes wait together until the next acknowledgement. */
export const inFlightMax = 64;
/** Bytes of entries in one answer of a reconciliation, on fast lines, because the consumer waits for each answer. */
const answerBytesMax = 256 * 1024;
/** How long data may queue on the line, in addition to the round trip. */
const queueMs = 250;
/** Data in flight occupy the line for at most this time. A beat waits as long. */
const waitMaxMs = 2_000;
/** The least round trip is the minimum of the last one to two spans of this length, because routes change. */
const roundTripSpanMs = 30_000;

interface SentMessage {
  /** The kind of acknowledgement: a cursor; credit, if the message went beside the order of the feed; or the next request, if the message is an answer. */
  readonly to: number | 'credit' | 'answer';
  readonly bytes: number;
  readonly atMs: number;
  /** Bytes that had been delivered when this message was sent, and the time of that delivery. */
  readonly deliveredBytes: number;
  readonly deliveredAtMs: number;
  /** The window was full, so the sample measures the line, and not how little there was to send. */
  readonly full: boolean;
}

export interface Flow {
  readonly creditBytes: number;
  readonly inFlight: readonly SentMessage[];
  readonly inFlightBytes: number;
  /** Credit already returned for the oldest message that waits for credit; less than that message's bytes. */
  readonly creditedBytes: number;
  readonly deliveredBytes: number;
  readonly deliveredAtMs: number;
  /** Bytes per ms. Undefined before the first measurement. */
  readonly rate: number | undefined;
  /** The least round trip of the present span, which began at `sinceMs`, and of the span before. */
  readonly roundTrip: { readonly sinceMs: number; readonly leastMs: number; readonly leastBeforeMs: number };
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
    roundTrip: { sinceMs: nowMs, leastMs: Number.POSITIVE_INFINITY, leastBeforeMs: Number.POSITIVE_INFINITY },
  };
}

export function flowWindowBytes(flow: Flow): number {
  const { rate, roundTrip } = flow;
  // A measurement gives a rate and a round trip together.
  if (rate === undefined) return windowMinBytes;
  return Math.min(windowMaxBytes, Math.max(windowMinBytes, Math.round(rate * windowSpanMs(roundTrip))));
}

/** The time that a full window takes on the line: the line is busy over a round trip, and nothing waits long behind the window. */
function windowSpanMs({ leastMs, leastBeforeMs }: Flow['roundTrip']): number {
  const roundTripMs = Math.min(leastMs, leastBeforeMs);
  return Math.min(waitMaxMs, Math.max(2 * roundTripMs, roundTripMs + queueMs));
}

/** Bytes that may be sent now. At least 1 whenever nothing is in flight, however little the peer allows. */
export function roomBytes(flow: Flow): number {
  if (flow.inFlight.length === 0) return Math.max(1, Math.min(flow.creditBytes, flowWindowBytes(flow)));
  if (flow.inFlight.length >= inFlightMax) return 0;
  return Math.max(0, Math.min(flow.creditBytes, flowWindowBytes(flow)) - flow.inFlightBytes);
}

/** The largest message of data. Larger contents go in pieces of this size. */
export function messageBytes(flow: Flow): number {
  return Math.min(batchBytesMax, Math.floor(flowWindowBytes(flow) / 2));
}

/** Bytes of entries in an answer. Nothing else is in flight with the answer, and each answer measures the line for the next one. */
export function answerBytes(flow: Flow): number {
  return Math.min(answerBytesMax, flowWindowBytes(flow));
}

export function onSent(flow: Flow, to: SentMessage['to'], bytes: number, nowMs: number): Flow {
  const inFlightBytes = flow.inFlightBytes + bytes;
  // The time of a pause is not part of the measurement.
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

/** The consumer has sent its next request, or has finished the reconciliation. */
export function onAnswerTaken(flow: Flow, nowMs: number): Flow {
  if (!flow.inFlight.some(isAnswer)) return flow;
  return delivered(flow, isAnswer, nowMs);
}

/**
 * Credit names no message: the peer decides which message it flushes first, and how much credit it returns at once. So bytes are counted, and the oldest
 * message is completed first. Undefined: the peer returns more than it received.
 */
export function onCredit(flow: Flow, bytes: number, nowMs: number): Flow | undefined {
  let leftBytes = flow.creditedBytes + bytes;
  const completed = new Set<SentMessage>();
  for (const sent of flow.inFlight) {
    if (sent.to !== 'credit') continue;
    if (leftBytes < sent.bytes)
      return delivered({ ...flow, creditedBytes: leftBytes }, (one) => completed.has(one), nowMs);
    leftBytes -= sent.bytes;
    completed.add(sent);
  }
  if (leftBytes > 0) return undefined;
  return delivered({ ...flow, creditedBytes: 0 }, (one) => completed.has(one), nowMs);
}

function delivered(flow: Flow, isDone: (sent: SentMessage) => boolean, nowMs: number): Flow {
  const inFlight: SentMessage[] = [];
  let newest: SentMessage | undefined;
  let bytes = 0;
  for (const sent of flow.inFlight) {
    if (isDone(sent)) {
      newest = sent;
      bytes += sent.bytes;
    } else {
      inFlight.push(sent);
    }
  }
  if (!newest) return flow;
  const deliveredBytes = flow.deliveredBytes + bytes;
  const measuredBytes = deliveredBytes - newest.deliveredBytes;
  // A message that is acknowledged within the ms in which it was sent took a part of a ms.
  const tookMs = Math.max(0.1, nowMs - newest.deliveredAtMs);
  const roundTrip = nextRoundTrip(flow.roundTrip, Math.max(0.1, nowMs - newest.atMs), nowMs);
  return {
    ...flow,
    inFlight: inFlight.length === 0 ? nothing : inFlight,
    inFlightBytes: flow.inFlightBytes - bytes,
    deliveredBytes,
    deliveredAtMs: nowMs,
    // An answer without entries, or a batch whose entries are all superseded, measures only the round trip.
    rate: measuredBytes === 0 ? flow.rate : nextRate({ ...flow, roundTrip }, measuredBytes / tookMs, newest.full),
    roundTrip,
  };
}

/**
 * One sample at most doubles the rate, because acknowledgements that were delayed and arrive together look like a fast line. The doubling starts from the
 * rate of the least window at least, so a side that sent little before loses nothing by this limit. The rate falls to the middle between old and new, and
 * only by samples that used up the window.
 */
function nextRate({ rate, roundTrip }: Flow, sample: number, full: boolean): number {
  if (rate === undefined) return sample;
  if (sample < rate) return full ? (rate + sample) / 2 : rate;
  const leastRate = windowMinBytes / windowSpanMs(roundTrip);
  return Math.min(sample, 2 * Math.max(rate, leastRate));
}

function nextRoundTrip(before: Flow['roundTrip'], sampleMs: number, nowMs: number): Flow['roundTrip'] {
  if (nowMs - before.sinceMs >= roundTripSpanMs)
    return { sinceMs: nowMs, leastMs: sampleMs, leastBeforeMs: before.leastMs };
  if (sampleMs >= before.leastMs) return before;
  return { ...before, leastMs: Math.min(before.leastMs, sampleMs) };
}
