import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { World } from '../../../transcripts/world.ts';

const objectKey = (name: string) => `o/center.s//configmaps/shop/${name}`;
/** 50 kbit/s, and a transport that accepts 256 KiB before it reports that it is full. */
const bytesPerSecond = 6_250;
const bufferBytes = 256 * 1024;

async function fill(rows: (put: (key: string, bytes: number) => void) => void) {
  const world = new World();
  world.start('parent');
  world.line('kid').bytesPerSecond = bytesPerSecond;
  world.line('kid').bufferBytes = bufferBytes;
  world.start('kid');
  await world.run(100);
  rows((key, bytes) => world.put('parent', key, 'x'.repeat(bytes)));
  world.takeLines();
  return world;
}

/** Virtual ms at which the matching lines were logged. */
const timesOf = (lines: readonly string[], what: RegExp) =>
  lines.filter((line) => what.test(line)).map((line) => Number(line.trim().split(' ')[0]));

describe('a line of 50 kbit/s with a large object among small ones', () => {
  it('transmits beats throughout, breaks nothing and does not starve the small ones', async () => {
    const world = await fill((put) => {
      for (let i = 0; i < 100; i++) put(objectKey(`before-${i}`), 300);
      put(objectKey('large'), 1_000_000);
      for (let i = 0; i < 100; i++) put(objectKey(`small-${i}`), 300);
      put('t/center.s/p', 2);
    });
    const lines: string[] = [];
    const heldAfter = async (ms: number) => {
      await world.run(ms);
      lines.push(...world.takeLines());
      return world.held('kid');
    };
    // 200 objects are some 85 KB: 14 s of the line alone, and they share it with the large object.
    const early = await heldAfter(40_000);
    expect(early.filter((key) => key.includes('small-') || key.includes('before-'))).toHaveLength(200);
    expect(early).not.toContain(objectKey('large'));
    expect(early).not.toContain('t/center.s/p');
    const late = await heldAfter(160_000);
    expect(late).toContain(objectKey('large'));
    expect(late).toContain('t/center.s/p');
    expect(lines.filter((line) => line.includes('disconnected'))).toEqual([]);
    for (const side of ['parent > kid', 'kid > parent']) {
      const beats = timesOf(lines, new RegExp(`${side} +beat`));
      expect(beats.length).toBeGreaterThanOrEqual(12);
    }
    // A beat waits behind the bytes in flight, which the line transmits in two to three seconds.
    expect(Math.max(...world.line('kid').waits('parent', 'beat'))).toBeLessThan(3_000);
  });

  it('lets small objects overtake that are written while the large one is on its way, with the target behind each of them', async () => {
    const world = await fill((put) => {
      put(objectKey('large'), 1_000_000);
      put('t/center.s/p', 2);
    });
    await world.run(5_000);
    for (let i = 0; i < 20; i++) {
      world.put('parent', objectKey(`small-${i}`), `small ${i}`);
      world.put('parent', 't/center.s/p', `target ${i}`);
      await world.run(250);
    }
    await world.run(5_000);
    expect(world.held('kid').filter((key) => key.includes('small-'))).toHaveLength(20);
    expect(world.held('kid')).not.toContain(objectKey('large'));
    expect(world.held('kid')).not.toContain('t/center.s/p');
  });

  it('keeps the received pieces when the line breaks every half minute', async () => {
    const world = await fill((put) => put(objectKey('large'), 600_000));
    for (let i = 0; i < 5; i++) {
      await world.run(30_000);
      world.line('kid').break();
    }
    await world.run(30_000);
    expect(world.held('kid')).toEqual([objectKey('large')]);
    expect(world.line('kid').carriedBytes('parent')).toBeLessThan(1.2 * 600_000);
  });

  it('transmits several large ones, and the small ones before them', async () => {
    const world = await fill((put) => {
      for (const name of ['large-1', 'large-2', 'large-3']) put(objectKey(name), 100_000);
      for (let i = 0; i < 50; i++) put(objectKey(`small-${i}`), 300);
    });
    await world.run(20_000);
    expect(world.held('kid').filter((key) => key.includes('small-'))).toHaveLength(50);
    await world.run(60_000);
    expect(world.held('kid')).toHaveLength(53);
    expect(world.show('parent')[0]).toContain('head 53 acknowledged 53');
  });

  it('lets nothing overtake its requirements: a definition, or another kind of entry', async () => {
    const world = await fill((put) => {
      put('o/center.s/apiextensions.k8s.io/customresourcedefinitions//big.example.com', 100_000);
      put(objectKey('small'), 300);
    });
    await world.run(10_000);
    expect(world.held('kid')).toEqual([]);
    await world.run(20_000);
    expect(world.held('kid')).toHaveLength(2);
  });

  it('drops a large content that has changed on its way', async () => {
    const world = await fill((put) => put(objectKey('large'), 400_000));
    await world.run(20_000);
    world.put('parent', objectKey('large'), 'small by now');
    await world.run(10_000);
    expect(world.show('kid')[1]).toContain(
      `${objectKey('large')}=small by now cursor 2`.replace(' cursor', '] cursor'),
    );
    expect(world.line('kid').carriedBytes('parent')).toBeLessThan(200_000);
  });

  it('reuses the pieces of a large content that changed on its way and changes back', async () => {
    const world = await fill((put) => put(objectKey('large'), 200_000));
    await world.run(20_000);
    world.put('parent', objectKey('large'), 'small for a moment');
    world.put('parent', objectKey('large'), 'x'.repeat(200_000));
    await world.run(40_000);
    expect(world.show('kid')[1]).toContain('cursor 3');
    expect(world.line('kid').carriedBytes('parent')).toBeLessThan(220_000);
  });

  it('starts anew with a large content that comes again after it was complete, and breaks nothing', async () => {
    const world = await fill((put) => put(objectKey('large'), 200_000));
    await world.run(20_000);
    world.line('kid').break();
    world.put('parent', objectKey('large'), 'small for a while');
    await world.run(20_000);
    world.takeLines();
    world.put('parent', objectKey('large'), 'x'.repeat(200_000));
    await world.run(60_000);
    expect(world.show('kid')[1]).toContain('cursor 3');
    expect(timesOf(world.takeLines(), /Protocol|dials/)).toEqual([]);
  });

  it('ends with the parent’s rows, whatever is put, removed and broken meanwhile', async () => {
    const step = fc.record({
      what: fc.constantFrom('put', 'put', 'put', 'remove', 'break', 'restart'),
      key: fc.constantFrom('large-1', 'large-2', 'a', 'b', 'c'),
      bytes: fc.integer({ min: 1, max: 60_000 }),
      afterMs: fc.nat(4_000),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const world = await fill(() => {});
        for (const { what, key, bytes, afterMs } of steps) {
          const size = key.startsWith('large') ? bytes : 100 + (bytes % 300);
          if (what === 'put') world.put('parent', objectKey(key), `${bytes}${'x'.repeat(size)}`);
          else if (what === 'remove') world.remove('parent', objectKey(key));
          else if (what === 'break') world.line('kid').break();
          else {
            world.crash('kid', false);
            world.start('kid');
          }
          await world.run(afterMs);
        }
        await world.run(180_000);
        expect(world.show('kid')[1]!.split(']')[0]!.slice(4)).toBe(world.show('parent')[0]!.split(']')[0]!.slice(9));
      }),
      { seed: 3, numRuns: 15 },
    );
  });
});
