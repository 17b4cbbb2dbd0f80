import { describe, expect, it } from 'vitest';
import { SessionPair } from '../../../support/session-pair.ts';

const hourMs = 3_600_000;
const reason = 'the certificate spiffe://shop/node/agent/eu/kid expired: renew it at the other end';

/** Many virtual hours in few steps; beats and acknowledgements happen in each step. */
async function pass(pair: SessionPair, ms: number, stepMs: number): Promise<void> {
  for (let done = 0; done < ms; done += stepMs) {
    pair.clock.advance(stepMs);
    await pair.run(5);
  }
}

/** The frames in order. */
function framesOf(pair: SessionPair): string[] {
  return pair.frames.map(({ from, frame }) => `${from}: ${frame.frame?.$case}`);
}

describe('a session on a link whose certificates expire', () => {
  it('ends when the earlier one expires, on either side, with the reason in its message', async () => {
    const pair = new SessionPair();
    pair.expiry = { atMs: pair.clock.wallMs() + 5_000, words: reason };
    pair.child.session.start();
    await pair.run(4_900);
    expect(pair.child.session.connected).toBe(true);
    await pair.run(200);
    expect(pair.events).toContain(`parent: disconnected, ${reason}`);
    expect(pair.events).toContain(`child: disconnected, ${reason}`);
    const goodbyes = pair.frames.flatMap(({ frame: { frame } }) => (frame?.$case === 'goodbye' ? [frame.value] : []));
    expect(goodbyes).toContainEqual({ reason, returnAfterMs: 0 });
  });

  it('starts anew, and resumes, if the certificate was renewed meanwhile', async () => {
    const pair = new SessionPair();
    pair.expiry = { atMs: pair.clock.wallMs() + 5_000, words: reason };
    pair.child.session.start();
    await pair.run(100);
    pair.put('p/center.a/x', 'one');
    await pair.run(4_500);
    pair.expiry = undefined;
    await pair.run(5_000);
    pair.put('p/center.a/y', 'two');
    await pair.run(100);
    expect(pair.events.filter((line) => line === 'child: connected')).toHaveLength(2);
    expect(pair.held()).toEqual({ 'p/center.a/x': 'one', 'p/center.a/y': 'two' });
  });

  it('does not begin if one of them has expired before the welcome could be sent', async () => {
    const pair = new SessionPair();
    pair.put('p/center.a/x', 'one');
    pair.expiry = { atMs: pair.clock.wallMs() + 1, words: reason };
    pair.child.session.start();
    await pair.run(100);
    expect(framesOf(pair).slice(0, 2)).toEqual(['child: hello', 'parent: retry']);
    expect(pair.events).toEqual([`child: unreached, expired: ${reason}`]);
    expect(pair.parent.sessions.ends.refused.get('expired')).toBe(1);
    expect(pair.refusals).toEqual(['eu:kid: expired']);
  });

  it('does not begin if one of them has expired while the welcome was on its way', async () => {
    const pair = new SessionPair();
    pair.put('p/center.a/x', 'one');
    pair.expiry = { atMs: pair.clock.wallMs() + 3, words: reason };
    pair.child.session.start();
    await pair.run(10);
    const ofChild = framesOf(pair).filter((line) => line.startsWith('child'));
    expect(ofChild.slice(0, 2)).toEqual(['child: hello', 'child: goodbye']);
    expect(framesOf(pair)[1]).toBe('parent: welcome');
    expect(pair.events).toContain(`child: unreached, ${reason}`);
    expect(pair.events).not.toContain('child: connected');
    expect(pair.child.session.ends.refused.get('expired')).toBe(1);
  });

  it('ends with a certificate that expires late, though timers do not reach that far', async () => {
    const pair = new SessionPair();
    pair.expiry = { atMs: pair.clock.wallMs() + 3 * hourMs, words: reason };
    pair.child.session.start();
    await pair.run(100);
    await pass(pair, 3 * hourMs - 60_000, 10_000);
    expect(pair.events).toEqual(['parent: connected', 'child: connected', 'child: caught up']);
    await pass(pair, 60_000, 10_000);
    expect(pair.events).toContain(`child: disconnected, ${reason}`);
  });
});
