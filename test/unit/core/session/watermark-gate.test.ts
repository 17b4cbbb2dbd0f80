import { beforeEach, describe, expect, it } from 'vitest';
import { FeedConsumer } from '../../../../core/feed/consumer.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { raiseWatermarks, readWatermarks } from '../../../../core/session/watermark.ts';
import { WatermarkGate, type WatermarkWait } from '../../../../core/session/watermark-gate.ts';
import { prefixOf } from '../../../../core/store/keyspace.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';

describe('a child that attaches to one of several replicas', () => {
  let store: MemoryStore;
  let consumer: FeedConsumer;
  let waiting: WatermarkWait | undefined;
  let isResumed: boolean;

  beforeEach(() => {
    isResumed = true;
    store = new MemoryStore();
    consumer = store.write((t) => FeedConsumer.open(t, { name: 'upstream' }));
    waiting = undefined;
  });

  function gate(path: string, resumes = false): WatermarkGate {
    const waits = (now: WatermarkWait | undefined) => {
      waiting = now;
    };
    const clock = new VirtualClock(0);
    const ports = {
      path,
      store,
      consumer,
      isResumed: () => isResumed,
      log: silentLogger,
      clock,
      reached: () => {},
      waits,
    };
    return new WatermarkGate(ports, { hasReplicas: true, resumes });
  }
  const row = (key: string, originRevision: number) => ({ keyHash: hash128(key), key, originRevision });
  const raiseOwn = (own: Record<string, number>) => store.write((t) => raiseWatermarks(t, { own }, 0));

  it('accepts nothing from a replica that is behind, and reports what is missing', () => {
    raiseOwn({ 'center.retail': 7 });
    const at = gate('eu:shop');
    expect([at.isOpen(), waiting?.for]).toEqual([false, 'center.retail is at revision 0 there, and at 7 here']);
    expect(at.receive({ 'center.retail': 6 }, 3)).toBe(false);
    expect(at.receive({ 'center.retail': 7 }, 3)).toBe(true);
    expect(waiting).toBeUndefined();
  });

  it('counts revisions of a space for a source, and no numbers of a grant or of a question', () => {
    const at = gate('eu:shop', true);
    const changes = [row('t/center.ops/p', 9), row('g/center.ops/p', 90), row('w/center.ops/p', 99)];
    store.write((t) => at.applied(t, changes));
    expect(store.read((reader) => readWatermarks(reader)).own).toEqual({ 'center.ops': 9 });
  });

  it('waits for no revision that no space can have given, and passes none on', () => {
    const falseRevision = 2 ** 47;
    raiseOwn({ 'center.retail': 7, 'center.ops': 3 });
    const withFalseRevision = {
      own: { 'center.retail': falseRevision, 'center.ops': 3 },
      complete: { 'center.retail': falseRevision },
    };
    store.write((t) => t.put(prefixOf('watermarks'), Buffer.from(JSON.stringify(withFalseRevision))));
    const at = gate('eu:shop');
    expect([at.isOpen(), waiting?.for]).toEqual([false, 'center.ops is at revision 0 there, and at 3 here']);
    expect(at.receive({ 'center.ops': falseRevision, 'center.retail': 8 }, 0)).toBe(false);
    expect(at.receive({ 'center.ops': 3 }, 0)).toBe(true);
    store.write((t) =>
      at.applied(t, [row('o/center.ops//configmaps/n/a', falseRevision), row('o/center.ops//configmaps/n/b', 9)]),
    );
    expect(store.read((reader) => readWatermarks(reader))).toEqual({
      own: { 'center.ops': 9 },
      complete: { 'center.retail': 8, 'center.ops': 3 },
    });
  });

  it('ignores the watermarks of the replica before the feed was reconciled, however far another replica’s feed was', () => {
    store.write((t) => consumer.setResume(t, { epoch: 'aa', incarnation: 'bb', cursor: 54, seenHead: 54 }));
    isResumed = false;
    const at = gate('eu:shop');
    at.receive({ 'center.retail': 9 }, 51);
    const complete = () => store.read((reader) => readWatermarks(reader)).complete;
    expect(complete()).toEqual({});
    isResumed = true;
    at.progressed();
    expect(complete()).toEqual({ 'center.retail': 9 });
  });

  it('continues at once if its feed resumes', () => {
    raiseOwn({ 'center.retail': 7 });
    expect(gate('eu:shop', true).isOpen()).toBe(true);
  });

  it('does not wait for a source that is no longer above it since it was moved', () => {
    raiseOwn({ 'eu.paris.ops': 9, 'eu.ops': 4 });
    const at = gate('eu:shop');
    expect(waiting?.for).toBe('eu.ops is at revision 0 there, and at 4 here');
    expect(at.receive({ 'eu.ops': 4 }, 1)).toBe(true);
  });

  it('trusts a watermark when the rows that superseded a part of it have arrived too', () => {
    const at = gate('eu:shop', true);
    const complete = () => store.read((reader) => readWatermarks(reader)).complete;
    const receiveUpTo = (cursor: number, seenHead: number) => {
      store.write((t) => consumer.setResume(t, { epoch: 'e', incarnation: 'i', cursor, seenHead }));
      at.progressed();
    };
    at.receive({ 'center.retail': 7 }, 3);
    receiveUpTo(2, 2);
    expect(complete()).toEqual({});
    // Revision 5 may be the former revision of the third row before somebody wrote it again.
    receiveUpTo(3, 5);
    expect(complete()).toEqual({});
    receiveUpTo(5, 5);
    expect(complete()).toEqual({ 'center.retail': 7 });
  });
});
