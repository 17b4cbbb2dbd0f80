import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Flow,
  flowWindowBytes,
  inFlightMax,
  messageBytes,
  onAcknowledged,
  onAnswerTaken,
  onCredit,
  onSent,
  openFlow,
  roomBytes,
  windowMaxBytes,
  windowMinBytes,
} from '../../../../core/session/flow.ts';

/** A line with a queue: bytes leave at its rate, and an acknowledgement returns a round trip later. The sender always has data. */
function run(line: { bytesPerMs: number; roundTripMs: number }, forMs: number, creditBytes = windowMaxBytes) {
  let flow = openFlow(creditBytes, 0);
  let freeAtMs = 0;
  let to = 0;
  let deliveredBytes = 0;
  const underWay: { to: number; bytes: number; backAtMs: number }[] = [];
  for (let nowMs = 0; nowMs < forMs; nowMs++) {
    for (let first = underWay[0]; first && first.backAtMs <= nowMs; first = underWay[0]) {
      underWay.shift();
      flow = onAcknowledged(flow, first.to, nowMs);
      deliveredBytes += first.bytes;
    }
    for (let room = roomBytes(flow); room > 0; room = roomBytes(flow)) {
      const bytes = Math.min(room, messageBytes(flow));
      flow = onSent(flow, ++to, bytes, nowMs);
      freeAtMs = Math.max(freeAtMs, nowMs) + bytes / line.bytesPerMs;
      underWay.push({ to, bytes, backAtMs: freeAtMs + line.roundTripMs });
    }
  }
  return { flow, deliveredBytes };
}

describe('the bytes in flight', () => {
  it('begin with few, since the line is unknown', () => {
    expect(flowWindowBytes(openFlow(windowMaxBytes, 0))).toBe(windowMinBytes);
  });

  it.each([
    { name: '100 Mbit/s and 200 ms', bytesPerMs: 12_500, roundTripMs: 200, share: 0.8 },
    { name: '10 Mbit/s and 50 ms', bytesPerMs: 1_250, roundTripMs: 50, share: 0.9 },
    { name: '1 Mbit/s and 600 ms', bytesPerMs: 125, roundTripMs: 600, share: 0.9 },
    { name: '50 kbit/s and 100 ms', bytesPerMs: 6.25, roundTripMs: 100, share: 0.9 },
  ])('fill a line of $name', ({ bytesPerMs, roundTripMs, share }) => {
    const { deliveredBytes } = run({ bytesPerMs, roundTripMs }, 30_000);
    expect(deliveredBytes).toBeGreaterThan(share * bytesPerMs * 30_000);
  });

  it('are at most some seconds of a thin line', () => {
    const { flow } = run({ bytesPerMs: 6.25, roundTripMs: 600 }, 60_000);
    expect(flow.inFlightBytes).toBeLessThanOrEqual(windowMinBytes);
  });

  it('fall when the line becomes thin', () => {
    let { flow } = run({ bytesPerMs: 1_250, roundTripMs: 50 }, 10_000);
    expect(flowWindowBytes(flow)).toBeGreaterThan(200_000);
    flow = onAcknowledged(flow, Number.MAX_SAFE_INTEGER, 10_000);
    for (let i = 0, nowMs = 10_000; i < 20; i++) {
      const bytes = flowWindowBytes(flow);
      flow = onSent(flow, i, bytes, nowMs);
      nowMs += bytes / 6.25;
      flow = onAcknowledged(flow, i, nowMs);
    }
    expect(flowWindowBytes(flow)).toBe(windowMinBytes);
  });

  it('do not fall because there was little to send', () => {
    let { flow } = run({ bytesPerMs: 1_250, roundTripMs: 50 }, 10_000);
    flow = onAcknowledged(flow, Number.MAX_SAFE_INTEGER, 10_000);
    const before = flowWindowBytes(flow);
    for (let i = 0; i < 20; i++) {
      flow = onSent(flow, i, 100, 11_000 + 100 * i);
      flow = onAcknowledged(flow, i, 11_050 + 100 * i);
    }
    expect(flowWindowBytes(flow)).toBe(before);
  });

  it.each([
    ['was an answer without entries', 0],
    ['was one removal', 64],
  ])('grow as fast if the first acknowledgements %s', (_what, firstBytes) => {
    const grown = (flow: Flow) => {
      let turns = 0;
      for (let nowMs = 1_000; flowWindowBytes(flow) < windowMaxBytes && turns < 100; turns++) {
        flow = onSent(flow, 'answer', flowWindowBytes(flow), nowMs);
        nowMs += 200;
        flow = onAnswerTaken(flow, nowMs);
      }
      return turns;
    };
    const begun = openFlow(windowMaxBytes, 0);
    const first = onAnswerTaken(onSent(begun, 'answer', firstBytes, 0), 200);
    // 16 KiB doubled eight times are 4 MiB.
    expect(grown(begun)).toBeLessThanOrEqual(8);
    expect(grown(first)).toBeLessThanOrEqual(8);
  });

  it('do not fall because a message without bytes is acknowledged while the window is used up', () => {
    let { flow } = run({ bytesPerMs: 1_250, roundTripMs: 50 }, 10_000);
    flow = onAcknowledged(flow, Number.MAX_SAFE_INTEGER, 10_000);
    flow = onSent(flow, 'credit', flowWindowBytes(flow), 10_000);
    const before = flowWindowBytes(flow);
    for (let i = 0; i < 10; i++) flow = onAcknowledged(onSent(flow, i, 0, 10_000), i, 10_050);
    expect(flowWindowBytes(flow)).toBe(before);
  });

  it('never exceed the peer’s credit, except for a first message', () => {
    const { flow } = run({ bytesPerMs: 12_500, roundTripMs: 200 }, 5_000, 40_000);
    expect(flow.inFlightBytes).toBeLessThanOrEqual(40_000);
    expect(roomBytes(openFlow(1, 0))).toBe(1);
  });

  it('accept no credit for bytes that were not sent', () => {
    const flow = onSent(openFlow(windowMaxBytes, 0), 'credit', 1_000, 0);
    expect(onCredit(flow, 1_001, 1)).toBeUndefined();
    expect(onCredit(flow, 1_000, 1)?.inFlightBytes).toBe(0);
  });

  it('accept credit in any order and parts, up to the bytes sent', () => {
    const parts = fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: inFlightMax });
    const anyOrder = parts.chain((sent) =>
      fc.tuple(fc.constant(sent), fc.shuffledSubarray(sent, { minLength: sent.length })),
    );
    fc.assert(
      fc.property(anyOrder, fc.boolean(), ([sent, given], inHalves) => {
        let flow: Flow = openFlow(windowMaxBytes, 0);
        for (const bytes of sent) flow = onSent(flow, 'credit', bytes, 0);
        const halves = given.flatMap((bytes) => [Math.floor(bytes / 2), Math.ceil(bytes / 2)]);
        let left = sent.reduce((sum, bytes) => sum + bytes, 0);
        for (const bytes of inHalves ? halves : given) {
          flow = onCredit(flow, bytes, 1)!;
          left -= bytes;
          expect(flow.inFlightBytes - flow.creditedBytes).toBe(left);
        }
        expect(flow.inFlight).toEqual([]);
        expect(onCredit(flow, 1, 1)).toBeUndefined();
      }),
      { seed: 7 },
    );
  });

  it('stay within their bounds whatever is sent and acknowledged, and when', () => {
    const event = fc.record({
      kind: fc.constantFrom('sent', 'beside', 'ack', 'credit'),
      bytes: fc.nat(100_000),
      afterMs: fc.nat(5_000),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 200 }), (events) => {
        let flow: Flow = openFlow(windowMaxBytes, 0);
        let nowMs = 0;
        let to = 0;
        for (const { kind, bytes, afterMs } of events) {
          nowMs += afterMs;
          if (kind === 'sent' && roomBytes(flow) > 0) flow = onSent(flow, ++to, bytes, nowMs);
          else if (kind === 'beside' && roomBytes(flow) > 0) flow = onSent(flow, 'credit', bytes, nowMs);
          else if (kind === 'ack') flow = onAcknowledged(flow, to - (bytes % 3), nowMs);
          else flow = onCredit(flow, bytes, nowMs) ?? flow;
          expect(flow.inFlightBytes).toBe(flow.inFlight.reduce((sum, sent) => sum + sent.bytes, 0));
          expect(flow.inFlight.length).toBeLessThanOrEqual(inFlightMax);
          expect(flowWindowBytes(flow)).toBeGreaterThanOrEqual(windowMinBytes);
          expect(flowWindowBytes(flow)).toBeLessThanOrEqual(windowMaxBytes);
        }
      }),
      { seed: 7 },
    );
  });
});
