import { expect, test } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { MemoryLimit } from '../../../../edge-agent/limits/memory-limit.ts';

const mi = 2 ** 20;

function limited(bounds: { configuredBytes?: number; containerBytes?: number }) {
  const clock = new VirtualClock();
  const process = { bytes: 100 * mi };
  const exceeded: string[] = [];
  const limit = new MemoryLimit({
    ...bounds,
    clock,
    residentBytes: () => process.bytes,
    exceeded: (why) => exceeded.push(why),
  });
  limit.start();
  return { clock, process, exceeded, limit };
}

test('the smaller of the configured limit and the container’s limit counts', () => {
  expect(limited({}).limit.use()).toBeUndefined();
  expect(limited({ configuredBytes: 200 * mi }).limit.use()).toMatchObject({
    field: 'limits.memory',
    max: 200 * mi,
    shown: '200Mi',
    used: 100 * mi,
  });
  expect(limited({ configuredBytes: 200 * mi, containerBytes: 128 * mi }).limit.use()).toMatchObject({
    field: 'container.memory',
    shown: '128Mi',
    remedy: expect.stringMatching(/agent\.resources\.limits\.memory/),
  });
});

test('an agent that stays above its cap ends, but not one that has just started, or is above it for a moment', () => {
  const { clock, process, exceeded } = limited({ configuredBytes: 128 * mi });
  process.bytes = 129 * mi;
  clock.advance(590_000);
  expect(exceeded).toEqual([]);
  clock.advance(10_000);
  expect(exceeded).toEqual([
    expect.stringMatching(/^135266304 bytes are resident, more than limits\.memory \(128Mi\)$/),
  ]);
  process.bytes = 128 * mi;
  clock.advance(10_000);
  process.bytes = 129 * mi;
  clock.advance(20_000);
  process.bytes = 100 * mi;
  clock.advance(60_000);
  expect(exceeded).toHaveLength(1);
});

test('the container’s limit ends nothing here, and an ended check reads no more', async () => {
  const contained = limited({ containerBytes: 50 * mi });
  contained.clock.advance(3_600_000);
  expect(contained.exceeded).toEqual([]);
  const ended = limited({ configuredBytes: 50 * mi });
  await ended.limit[Symbol.asyncDispose]();
  ended.clock.advance(3_600_000);
  expect(ended.exceeded).toEqual([]);
});
