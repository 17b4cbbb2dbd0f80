import { describe, expect, it } from 'vitest';
import { SessionPair } from '../../../support/session-pair.ts';

const hourMs = 3_600_000;
const words = 'the certificate spiffe://shop/node/agent/eu/kid expired: the other end has to renew it';

/** Many virtual hours in few steps; what beats and acknowledgements need in between comes in each. */
async function pass(pair: SessionPair, ms: number, stepMs: number): Promise<void> {
  for (let done = 0; done < ms; done += stepMs) {
    pair.clock.advance(stepMs);
    await pair.run(5);
  }
}

describe('a session on a link whose certificates expire', () => {
  it('ends when the first of them does, on either side, with the reason in words', async () => {
    const pair = new SessionPair();
    pair.expiry = { atMs: pair.clock.wallMs() + 5_000, words };
    pair.child.session.start();
    await pair.run(4_900);
    expect(pair.child.session.connected).toBe(true);
    await pair.run(200);
    expect(pair.said).toContain(`parent: disconnected, ${words}`);
    expect(pair.said).toContain(`child: disconnected, ${words}`);
    const goodbyes = pair.frames.flatMap(({ frame: { frame } }) => (frame?.$case === 'goodbye' ? [frame.value] : []));
    expect(goodbyes).toContainEqual({ reason: words, returnAfterMs: 0 });
  });

  it('begins anew, and goes on from where it was, when the certificate was renewed meanwhile', async () => {
    const pair = new SessionPair();
    pair.expiry = { atMs: pair.clock.wallMs() + 5_000, words };
    pair.child.session.start();
    await pair.run(100);
    pair.put('p/center.a/x', 'one');
    await pair.run(4_500);
    pair.expiry = undefined;
    await pair.run(5_000);
    pair.put('p/center.a/y', 'two');
    await pair.run(100);
    expect(pair.said.filter((line) => line === 'child: connected')).toHaveLength(2);
    expect(pair.held()).toEqual({ 'p/center.a/x': 'one', 'p/center.a/y': 'two' });
  });

  it('outlives no certificate that ends long after, though timers reach less far', async () => {
    const pair = new SessionPair();
    pair.expiry = { atMs: pair.clock.wallMs() + 3 * hourMs, words };
    pair.child.session.start();
    await pair.run(100);
    await pass(pair, 3 * hourMs - 60_000, 10_000);
    expect(pair.said).toEqual(['parent: connected', 'child: connected', 'child: caught up']);
    await pass(pair, 60_000, 10_000);
    expect(pair.said).toContain(`child: disconnected, ${words}`);
  });
});
