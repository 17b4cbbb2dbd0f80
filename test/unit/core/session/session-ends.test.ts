import { Registry } from 'prom-client';
import { beforeEach, describe, expect, it } from 'vitest';
import { heldPieces } from '../../../../core/feed/pieces.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { endOf, SessionEnds, SessionError } from '../../../../core/session/session-ends.ts';
import { measureSessions } from '../../../../core/session/session-metrics.ts';
import { batchFrame, pieceFrame } from '../../../../core/session/wire-frames.ts';
import type { Link } from '../../../../core/wire/link.ts';
import { refusalOf } from '../../../../core/wire/refusals.ts';
import { ReplayLink } from '../../../support/recorded-frames.ts';
import { content, SessionPair } from '../../../support/session-pair.ts';

const mebibyte = 1024 * 1024;

describe('the end of a session', () => {
  it('is counted by a fixed word for its reason, or by the code of its error', () => {
    expect(endOf(undefined)).toBe('InOrder');
    expect(endOf(new SessionError('Silence', 'Unavailable', 'no frame was received for 60 s'))).toBe('Silence');
    expect(endOf(new BanyanError('Protocol', 'a frame that says 17'))).toBe('Protocol');
    expect(endOf(new Error('ECONNRESET'))).toBe('Other');
  });

  it('is a metric, separate for the two kinds of peers', async () => {
    const registry = new Registry();
    const [children, parent] = [new SessionEnds(), new SessionEnds()];
    measureSessions(registry, { children, parent });
    for (let i = 0; i < 2; i++) children.count(undefined);
    parent.count(new SessionError('CertificateExpired', 'Unauthorized', 'expired'));
    for (const reason of ['clone', 'clone', 'what a later version says']) parent.refuse(refusalOf(reason));
    parent.notReached(new BanyanError('Protocol', 'the proxy answers with a page'));
    parent.notReached('words');
    children.notReached(new Error('nobody dials a child'));
    const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith('banyan_'));
    expect(lines).toEqual([
      'banyan_session_ends_total{peer="child",reason="InOrder"} 2',
      'banyan_session_ends_total{peer="parent",reason="CertificateExpired"} 1',
      'banyan_session_refusals_total{peer="parent",reason="clone"} 2',
      'banyan_session_refusals_total{peer="parent",reason="other"} 1',
      'banyan_dial_failures_total{reason="Protocol"} 1',
      'banyan_dial_failures_total{reason="Other"} 1',
    ]);
  });
});

describe('a connection that never becomes a session', () => {
  it('is counted once, by the reason of its refusal, or as no_hello if nothing came', async () => {
    const { parent, clock } = new SessionPair();
    const { refused } = parent.sessions.ends;
    const connect = (path: string, role: 'agent' | 'relay') => {
      const link = new ReplayLink({ path, role });
      return { link, events: parent.sessions.accept(link) };
    };
    expect(() => connect('us:kid', 'agent')).toThrow('which is no child of "eu"');
    expect([...refused]).toEqual([['path', 1]]);
    connect('eu:kid', 'agent').events.onClose();
    expect(refused.get('no_hello')).toBe(1);
    const silent = connect('eu:kid', 'agent');
    clock.advance(10_000);
    expect(silent.link.closed).toBe('no hello came');
    silent.events.onClose();
    expect([...refused]).toEqual([
      ['path', 1],
      ['no_hello', 2],
    ]);
  });
});

describe('a pair of sessions', () => {
  let pair: SessionPair;
  let link: Link;
  beforeEach(async () => {
    pair = new SessionPair();
    const { dialer, session } = pair.child;
    const dial = dialer.dial.bind(dialer);
    dialer.dial = async (events, timeoutMs) => {
      link = await dial(events, timeoutMs);
      return link;
    };
    session.start();
    await pair.run(50);
  });

  /** Without any wait. */
  function send(count: number, bytes: number): void {
    const { epoch, incarnation } = pair.child.producer;
    for (let i = 1; i <= count; i++) {
      const key = `k${i}`;
      const body = 'x'.repeat(bytes);
      const entry = { keyHash: hash128(key), revision: i, originRevision: 0, content: content(key, body) };
      link.send(batchFrame('up', { entries: [entry], from: i - 1, to: i, head: i, epoch, incarnation }));
    }
  }

  it('counts an orderly end at both ends', async () => {
    pair.child.session.close();
    await pair.run(10);
    expect([...pair.child.session.ends.by]).toEqual([['InOrder', 1]]);
    expect([...pair.parent.sessions.ends.by]).toEqual([['InOrder', 1]]);
  });

  it('lets a peer have its credit and one message more in flight', async () => {
    // The child gets more than its credit, so it hangs up after that.
    send(7, mebibyte);
    await pair.run(5);
    expect(pair.up).toHaveLength(7);
    expect(pair.parent.sessions.ends.by.has('CreditExceeded')).toBe(false);
  });

  it('ends when a peer has clearly more in flight than its credit, before the excess is stored', async () => {
    send(20, mebibyte);
    await pair.run(5);
    expect(pair.up).toHaveLength(7);
    expect([...pair.parent.sessions.ends.by]).toEqual([['CreditExceeded', 1]]);
    expect(pair.events.some((line) => line.includes('where 4194304 and one message are allowed'))).toBe(true);
  });

  it('ends when a peer has pieces in flight clearly beyond its credit, before they are on the disk', async () => {
    const pieceBytes = 64 * 1024;
    const total = 4 * mebibyte;
    for (let i = 0; i < 200; i++) {
      const offset = (i * pieceBytes) % total;
      const contentHash = hash128(`content ${Math.floor((i * pieceBytes) / total)}`);
      link.send(pieceFrame('up', { contentHash, offset, total, data: Buffer.alloc(pieceBytes, i) }));
      // A complete content would be checked.
      if (offset + 2 * pieceBytes === total) i++;
    }
    await pair.run(5);
    expect([...pair.parent.sessions.ends.by]).toEqual([['CreditExceeded', 1]]);
    const { store, consumer } = pair.parent;
    const held = store.read((reader) => heldPieces(reader, consumer.id));
    expect(held.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(8 * mebibyte);
  });

  it('lets a peer that waits for its answers send any number of them', async () => {
    const { store, producer } = pair.child;
    store.write((t) => {
      for (let i = 0; i < 400; i++) producer.put(t, content(`k${i}`, 'x'.repeat(48 * 1024)), 0);
    });
    await pair.run(3_000);
    expect(pair.up).toHaveLength(400);
    expect([...pair.parent.sessions.ends.by]).toEqual([]);
  });
});
