/**
 * Flow control: limits the bytes that a side has in flight on a feed. There are two limits. The first is the credit that the peer allows. The second is the
 * window: the bytes that the line transmits in a short time, so that beats and streams never wait long behind data. The window depends on the rate of the
 * line. For each message, the rate is the number of bytes that were acknowledged between the sending of the message and its own acknowledgement, divided by
 * this time (delivery rate estimation, draft-cheng-iccrg-delivery-rate-estimation).
 *
 * Pure functions: the caller reports sent and acknowledged messages, and gets the number of bytes that it may send.
 */

/** Smallest window. A session begins with it, before it has measured the line. Every line can carry it: it takes 2.6 s at 50 kbit/s. */
export const windowMinBytes = 16 * 1024;
/**
 * Largest window: enough for 100 Mbit/s at a round trip of 300 ms. Each side also gives this number as its credit. The receiver applies data immediately, so
 * a large credit does not occupy memory.
 */
export const windowMaxBytes = 4 * 1024 * 1024;
/** Credit of a peer that announces no credit. Such a peer does not count credit. */
const creditDefaultBytes = 512 * 1024;
/**
 * Limit for the size of a batch: large enough that the fixed cost of a message does not matter. A batch is also at most half a window, so that the line is
 * busy while the peer acknowledges the batch before.
 */
export const batchBytesMax = 64 * 1024;
/** Limit for messages in flight. An idle line never reaches it. On a busy line, new changes wait for the next acknowledgement and share one batch then. */
export const inFlightMax = 64;
/** Limit for the bytes of entries in one answer of a reconciliation. It is larger than a batch, because the consumer waits for each answer. */
const answerBytesMax = 256 * 1024;
/** How long data may queue on the line, in addition to the round trip. */
const queueMs = 250;
/** Longest time for which the data in flight may occupy the line. A beat waits at most this long. */
const waitMaxMs = 2_000;
/** The least round trip is measured over the present span of this length and the span before. It is forgotten after two spans, because routes change. */
const roundTripSpanMs = 30_000;

interface SentMessage {
  /**
   * Tells what acknowledges the message. A number: an acknowledgement of this cursor. `credit`: returned credit, for pieces and batches ahead. `answer`: the
   * next request of the reconciling peer.
   */
  readonly to: number | 'credit' | 'answer';
  readonly bytes: number;
  readonly atMs: number;
  /** The number of bytes that were delivered before this message was sent, and the time of the newest delivery. */
  readonly deliveredBytes: number;
  readonly deliveredAtMs: number;
  /** True: the window was full. Only then a low rate means a slow line; otherwise it may only mean that there was little to send. */
  readonly full: boolean;
}

export interface Flow {
  readonly creditBytes: number;
  readonly inFlight: readonly SentMessage[];
  readonly inFlightBytes: number;
  /** Credit that was returned for a part of the oldest message that waits for credit. Always less than the bytes of this message. */
  readonly creditedBytes: number;
  readonly deliveredBytes: number;
  readonly deliveredAtMs: number;
  /** Bytes per ms. Undefined before the first measurement. */
  readonly rate: number | undefined;
  /** The least round trip of the present span, which began at `sinceMs`, and the least round trip of the span before. */
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

/** The time that a full window may occupy the line: long enough to keep the line busy for a round trip, and short enough that beats do not wait long. */
function windowSpanMs({ leastMs, leastBeforeMs }: Flow['roundTrip']): number {
  const roundTripMs = Math.min(leastMs, leastBeforeMs);
  return Math.min(waitMaxMs, Math.max(2 * roundTripMs, roundTripMs + queueMs));
}

/** Bytes that may be sent now. If nothing is in flight, the result is at least 1, even if the peer allows nothing. */
export function roomBytes(flow: Flow): number {
  if (flow.inFlight.length === 0) return Math.max(1, Math.min(flow.creditBytes, flowWindowBytes(flow)));
  if (flow.inFlight.length >= inFlightMax) return 0;
  return Math.max(0, Math.min(flow.creditBytes, flowWindowBytes(flow)) - flow.inFlightBytes);
}

/** Limit for a message of data. Larger contents are sent in pieces of this size. */
export function messageBytes(flow: Flow): number {
  return Math.min(batchBytesMax, Math.floor(flowWindowBytes(flow) / 2));
}

/** Limit for the bytes of entries in an answer: a whole window, because nothing else is in flight then. Each answer also measures the line for the next. */
export function answerBytes(flow: Flow): number {
  return Math.min(answerBytesMax, flowWindowBytes(flow));
}

export function onSent(flow: Flow, to: SentMessage['to'], bytes: number, nowMs: number): Flow {
  const inFlightBytes = flow.inFlightBytes + bytes;
  // If nothing was in flight, the measurement begins now, so that a pause does not lower the rate.
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

/** Runs when the consumer has sent its next request or has finished the reconciliation: it has processed the answer. */
export function onAnswerTaken(flow: Flow, nowMs: number): Flow {
  if (!flow.inFlight.some(isAnswer)) return flow;
  return delivered(flow, isAnswer, nowMs);
}

/**
 * Processes returned credit. Credit does not name a message: the peer flushes messages in any order and may return credit for several at once. So only bytes
 * are counted, and they complete the oldest message first. Undefined: the peer returned more credit than it received bytes.
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
  // If a message is acknowledged in the same ms in which it was sent, it took less than 1 ms.
  const tookMs = Math.max(0.1, nowMs - newest.deliveredAtMs);
  const roundTrip = nextRoundTrip(flow.roundTrip, Math.max(0.1, nowMs - newest.atMs), nowMs);
  return {
    ...flow,
    inFlight: inFlight.length === 0 ? nothing : inFlight,
    inFlightBytes: flow.inFlightBytes - bytes,
    deliveredBytes,
    deliveredAtMs: nowMs,
    // A message without bytes (an answer without entries, or an empty batch) measures only the round trip.
    rate: measuredBytes === 0 ? flow.rate : nextRate({ ...flow, roundTrip }, measuredBytes / tookMs, newest.full),
    roundTrip,
  };
}

/**
 * Returns the rate after a sample. One sample can at most double the rate: if delayed acknowledgements arrive together, the line only seems fast. The doubling
 * starts at least from the rate of the smallest window, so the limit does not slow down a side that sent little before. Only a sample with a full window can
 * lower the rate, to the middle between the old rate and the sample.
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
