import { describe, expect, it } from 'vitest';
import { Crowd } from '../../../support/crowd.ts';

const children = 1_000;

describe('a parent with a thousand children', () => {
  it('has all of them back within the bound of the admission after it was killed, at a steady pace', async () => {
    const crowd = new Crowd();
    crowd.startParent();
    crowd.startChildren(children);
    await crowd.run(10_000);
    expect(crowd.connected.size).toBe(children);
    crowd.killParent();
    await crowd.run(3_000);
    crowd.connected.clear();
    crowd.begunAtMs.length = 0;
    crowd.startParent();
    const backAtMs = crowd.clock.monotonicMs();
    // Their own waits after three seconds of failed dials are at most 16 s; the turns of a thousand children take 1.5 s.
    await crowd.run(18_000);
    expect(crowd.connected.size).toBe(children);
    expect(crowd.begunAtMs.at(-1)! - backAtMs).toBeLessThanOrEqual(18_000);
    // A burst of 400 and 400 a second.
    const inFirstSecond = crowd.begunAtMs.filter((atMs) => atMs - backAtMs <= 1_000);
    expect(inFirstSecond.length).toBeLessThanOrEqual(810);
  });
});
