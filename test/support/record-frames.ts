/**
 * Records conversations of a child and its parent as bytes, frame by frame: `node test/support/record-frames.ts`. The product must understand the frames of a
 * released version for as long as docs/protocol.md promises (test/unit/core/session/recorded-frames.test.ts). Before a version is released, its conversations
 * are recorded again at every change of its frames. After the release, they are never recorded again.
 *
 * Each line has the milliseconds since the start, the sender, the kind, and the encoded frame as hex digits.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { hash128 } from '../../core/object/hash.ts';
import { versionMax } from '../../core/session/handshake.ts';
import { MemoryStore } from '../../core/store/memory/memory-store.ts';
import { encodeFrame } from '../../core/wire/codec/frames.ts';
import { large } from './recorded-frames.ts';
import { content, SessionPair } from './session-pair.ts';

const directory = `test/fixtures/frames/v${versionMax}`;
mkdirSync(directory, { recursive: true });
record('resumed', resumed);
record('reconciled', reconciled);
record('pieces', pieces);
record('cloned', cloned);

function record(name: string, play: () => Promise<SessionPair>): void {
  void play().then((pair) => {
    const startMs = pair.frames[0]!.atMs;
    const lines = pair.frames.map(({ atMs, from, frame }) => {
      const hex = encodeFrame(frame).toString('hex');
      return `${atMs - startMs} ${from} ${frame.frame?.$case} ${hex}\n`;
    });
    writeFileSync(`${directory}/${name}.txt`, lines.join(''));
  });
}

/** Values, a change, a tombstone, and the up feed. Then the line breaks, the session resumes, and the child ends. */
async function resumed(): Promise<SessionPair> {
  const pair = new SessionPair();
  for (const key of ['a', 'b', 'c']) pair.put(key, `${key}1`);
  pair.child.session.start();
  await pair.run(50);
  pair.put('b', 'b2');
  pair.parent.store.write((t) => pair.parent.producer.remove(t, hash128('c'), 0));
  pair.child.store.write((t) => pair.child.producer.put(t, content('labels', '{}'), 0));
  await pair.run(50);
  pair.child.dialer.cut();
  pair.put('d', 'd1');
  await pair.run(1500);
  await pair.run(40_000);
  pair.child.session.close();
  await pair.run(10);
  return pair;
}

/** The parent starts again without its store. At first it is not ready. Then its rows differ slightly from the child's rows. */
async function reconciled(): Promise<SessionPair> {
  const pair = new SessionPair();
  for (let i = 0; i < 100; i++) pair.put(`k${i}`, 'x');
  pair.child.session.start();
  await pair.run(100);
  pair.parentReady = false;
  pair.child.dialer.cut();
  pair.parent = pair.startParent(new MemoryStore());
  pair.frames.length = 0;
  await pair.run(1500);
  for (let i = 1; i < 100; i++) pair.put(`k${i}`, i === 7 ? 'changed' : 'x');
  pair.parentReady = true;
  pair.parent.sessions.readyChanged();
  await pair.run(200);
  return pair;
}

/** A content that is larger than a batch, in each direction. */
async function pieces(): Promise<SessionPair> {
  const pair = new SessionPair();
  pair.put('large', large);
  pair.child.store.write((t) => pair.child.producer.put(t, content('labels', large), 0));
  pair.child.session.start();
  await pair.run(1_000);
  return pair;
}

async function cloned(): Promise<SessionPair> {
  const pair = new SessionPair();
  pair.child.session.start();
  await pair.run(50);
  const copy = pair.child.store.copy();
  pair.startChild(pair.child.store).session.start();
  await pair.run(50);
  pair.frames.length = 0;
  pair.startChild(copy).session.start();
  await pair.run(50);
  return pair;
}
