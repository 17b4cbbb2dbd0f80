import { describe, expect, it } from 'vitest';
import { asText } from '../../../../core/store/bytes.ts';
import { decodeFrame, encodeFrame } from '../../../../core/wire/codec/frames.ts';
import type { Frame } from '../../../../core/wire/generated/mesh.ts';
import type { LinkEvents } from '../../../../core/wire/link.ts';
import { large, type RecordedFrame, ReplayLink, recordings, sessionsOf } from '../../../support/recorded-frames.ts';
import { content, SessionPair } from '../../../support/session-pair.ts';

const kinds = (frames: readonly Frame[]) => frames.map(({ frame }) => frame?.$case);
const of = (from: 'child' | 'parent', frames: readonly RecordedFrame[]) =>
  frames.filter((frame) => frame.from === from);

describe.each(recordings())('the frames of version $version in "$name"', (recording) => {
  it('are decoded, and encoded to the same bytes', () => {
    for (const { kind, bytes } of sessionsOf(recording).flat()) {
      const frame = decodeFrame(bytes);
      expect(frame.frame?.$case).toBe(kind);
      expect(encodeFrame(frame).equals(bytes)).toBe(true);
    }
  });

  it('are a session with the present parent', async () => {
    const [session] = sessionsOf(recording);
    const pair = new SessionPair();
    const values = { reconciled: 99, pieces: 0 }[recording.name] ?? 5;
    for (let i = 1; i <= values; i++) pair.put(`k${i}`, i === 7 ? 'changed' : 'x');
    if (recording.name === 'pieces') pair.put('large', large);
    if (recording.name === 'cloned') {
      // The parent has to know the original, with the same number of starts, before it can recognise a copy.
      pair.startChild(pair.child.store).session.start();
      await pair.run(50);
    }
    const link = new ReplayLink({ path: 'eu:kid', role: 'agent' });
    link.play(pair.clock, pair.parent.sessions.accept(link), of('child', session!).map(toThis(pair)));
    await pair.run(session!.at(-1)!.atMs + 100);
    const answered = kinds(link.sent);
    if (recording.name === 'cloned') return expect(answered).toEqual(['retry']);
    expect(answered[0]).toBe('welcome');
    expect(link.closed).toBeUndefined();
    if (recording.name === 'resumed') {
      expect(pair.up.map(({ key }) => key)).toEqual(['labels']);
      expect(pair.parent.store.read((reader) => pair.parent.producer.acknowledged(reader))).toBe(5);
      expect(answered).toContain('ack');
    } else if (recording.name === 'pieces') {
      expect(pair.up.map(({ key, after }) => [key, asText(after!.body)])).toEqual([['labels', large]]);
      expect(pair.parent.store.read((reader) => pair.parent.producer.acknowledged(reader))).toBe(1);
    } else {
      expect(answered.filter((kind) => kind === 'reconcileReply')).toHaveLength(3);
    }
  });

  it('are a session with the present child', async () => {
    const [session] = sessionsOf(recording);
    const pair = new SessionPair();
    const link = new ReplayLink({ path: 'eu', role: 'relay' });
    // The child reconciles only if it has rows that may be stale.
    if (recording.name === 'reconciled') await holdFromElsewhere(pair);
    pair.childSeed = seedOf(session!);
    const body = recording.name === 'pieces' ? large : '{}';
    pair.child.store.write((t) => pair.child.producer.put(t, content('labels', body), 0));
    pair.child.dialer.dial = async (events: LinkEvents) => {
      link.play(pair.clock, events, of('parent', session!));
      return link;
    };
    pair.child.session.start();
    await pair.run(session!.at(-1)!.atMs + 100);
    if (recording.name === 'cloned') return expect(link.closed).toBe('clone');
    expect(link.closed).toBeUndefined();
    expect(pair.events).toContain('child: caught up');
    if (recording.name === 'resumed') expect(pair.held()).toEqual({ a: 'a1', b: 'b2' });
    else if (recording.name === 'pieces') expect(pair.held()).toEqual({ large });
    else expect(pair.held()).toMatchObject({ k1: 'x', k7: 'changed' });
  });
});

it('each frame of a session of version 1 is recorded', () => {
  const frames = recordings()
    .filter(({ version }) => version === 'v1')
    .flatMap(sessionsOf)
    .flat();
  const sent = new Set(frames.map(({ kind }) => kind));
  const all = 'hello welcome retry resume batch piece ack credit beat reconcileRequest reconcileReply goodbye'.split(
    ' ',
  );
  expect([...sent].sort()).toEqual(all.sort());
});

/** The recorded acknowledgement, with the epoch of this parent's table in place of the recorded one. */
function toThis(pair: SessionPair) {
  return (recorded: RecordedFrame): RecordedFrame => {
    const { frame } = decodeFrame(recorded.bytes);
    if (frame?.$case !== 'ack') return recorded;
    const value = { ...frame.value, epoch: Buffer.from(pair.parent.producer.epoch, 'hex') };
    return { ...recorded, bytes: encodeFrame({ frame: { $case: 'ack', value } }) };
  };
}

/** The seed of the recorded child's reconciliation: the recorded answers have fingerprints under this seed. */
function seedOf(frames: readonly RecordedFrame[]): Uint8Array | undefined {
  const [asked] = frames.filter(({ kind }) => kind === 'reconcileRequest').map(({ bytes }) => decodeFrame(bytes).frame);
  return asked?.$case === 'reconcileRequest' ? asked.value.seed : undefined;
}

/** The child in the state of the recorded one: a hundred values of a parent that lost its store since. */
async function holdFromElsewhere(pair: SessionPair): Promise<void> {
  for (let i = 0; i < 100; i++) pair.put(`k${i}`, 'x');
  pair.child.session.start();
  await pair.run(100);
  pair.child.session.close();
  pair.child = pair.startChild(pair.child.store);
  await pair.run(10);
  pair.events.length = 0;
}
