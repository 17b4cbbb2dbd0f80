import { expect, test } from 'vitest';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { RequestBounds } from '../../../../../edge-agent/cluster/kubernetes/request-bounds.ts';

function bounds(requestsPerSecond: number, inFlight: number) {
  const clock = new VirtualClock();
  const made = new RequestBounds({ requestsPerSecond, inFlight, inFlightBytes: 100 }, clock);
  const use = (reason: string) => made.uses().find((one) => one.reason === reason)!;
  const settle = async () => {
    for (let i = 0; i < 10; i++) await Promise.resolve();
  };
  return { clock, made, use, settle };
}

test('requests are sent at their rate, and their waiting time is counted while they wait', async () => {
  const { clock, made, use, settle } = bounds(2, 10);
  let sent = 0;
  for (let i = 0; i < 4; i++) void made.slot().then(() => sent++);
  await settle();
  expect(sent).toBe(2);
  expect(use('RequestRate')).toMatchObject({ max: 2, used: 2, shown: '2', waitedMs: 0 });
  clock.advance(250);
  expect(use('RequestRate').waitedMs).toBe(500);
  for (let i = 0; i < 8; i++) {
    clock.advance(250);
    await settle();
  }
  expect(sent).toBe(4);
  expect(use('RequestRate').waitedMs).toBe(1_500);
  expect(use('RequestsInFlight').used).toBe(4);
});

test('a free slot goes to the next one that waits', async () => {
  const { clock, made, use, settle } = bounds(1_000, 1);
  const first = await made.slot();
  let second: (() => void) | undefined;
  void made.slot().then((release) => {
    second = release;
  });
  clock.advance(40);
  await settle();
  expect(second).toBeUndefined();
  expect(use('RequestsInFlight')).toMatchObject({ used: 1, waitedMs: 40 });
  first();
  await settle();
  clock.advance(40);
  expect(use('RequestsInFlight')).toMatchObject({ used: 1, waitedMs: 40 });
  second?.();
  expect(use('RequestsInFlight').used).toBe(0);
});

test('waiting bytes are counted like the others', async () => {
  const { clock, made, use, settle } = bounds(1_000, 10);
  const [a, b, c] = [made.bytes(), made.bytes(), made.bytes()];
  void a.take(50);
  void b.take(40);
  void c.take(10);
  clock.advance(30);
  expect(use('BytesInFlight')).toMatchObject({ used: 90, max: 100, waitedMs: 30 });
  b.end();
  await settle();
  expect(use('BytesInFlight')).toMatchObject({ used: 60, waitedMs: 30 });
  expect(made.bytesMax).toBe(50);
});
