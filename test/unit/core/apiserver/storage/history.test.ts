import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EmbeddedStorage } from '../../../../../core/apiserver/storage/embedded.ts';
import { revisionGapOf } from '../../../../../core/apiserver/storage/history.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { text } from '../../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../../core/store/memory/memory-store.ts';

const key = { group: '', resource: 'configmaps', namespace: 'n', name: 'a' };

class Incarnation {
  readonly storage: EmbeddedStorage;

  constructor(store: MemoryStore, startsAt: number) {
    this.storage = new EmbeddedStorage({ store, name: 'retail', logger: silentLogger, startsAt });
  }

  write(): number {
    return this.storage.write((writer) => writer.put(key, text('{"metadata":{}}'))).revision;
  }

  knows(revision: number): boolean {
    return revisionGapOf(this.storage.gaps(), revision) === undefined;
  }
}

describe('the history of a space that gets the time', () => {
  it('gives revisions above the time of its start, or above its former revision if that is higher', () => {
    const store = new MemoryStore();
    expect(new Incarnation(store, 1_000).write()).toBe(1_001);
    expect(new Incarnation(store, 500).write()).toBeGreaterThan(1_001);
  });

  it('knows which revisions it has written in all its store incarnations, and which revisions of a lost one it has not', () => {
    const store = new MemoryStore();
    const first = new Incarnation(store, 1_000);
    const kept = first.write();
    first.storage.close();
    const copy = store.copy();
    const lost = new Incarnation(store, 2_000).write();
    const back = new Incarnation(copy, 3_000);
    const newer = back.write();
    expect([kept, lost, newer].map((revision) => back.knows(revision))).toEqual([true, false, true]);
    back.storage.close();
    const latest = new Incarnation(copy, 4_000);
    expect([kept, lost, newer].map((revision) => latest.knows(revision))).toEqual([true, false, true]);
  });

  it('knows no revision after it was emptied', () => {
    const lost = new Incarnation(new MemoryStore(), 1_000).write();
    expect(new Incarnation(new MemoryStore(), 2_000).knows(lost)).toBe(false);
  });

  it('has one gap for several starts without a write between them', () => {
    const store = new MemoryStore();
    for (const startsAt of [1_000, 2_000, 3_000]) new Incarnation(store, startsAt).storage.close();
    expect(new Incarnation(store, 4_000).storage.gaps()).toEqual([[0, 4_000]]);
  });

  it('ends on a full disk, and afterwards knows the same as after a kill', async () => {
    const store = new MemoryStore();
    const incarnation = new Incarnation(store, 1_000);
    const kept = incarnation.write();
    await store.flushed();
    store.failFlush(new BanyanError('StoreFull', 'no room'));
    incarnation.storage.close();
    store.crash();
    const next = new Incarnation(store, 1_000);
    expect(next.knows(kept)).toBe(true);
    expect(next.write()).toBeGreaterThan(kept);
  });

  it('continues above a revision that another node has received, when it gets one', () => {
    const store = new MemoryStore();
    const incarnation = new Incarnation(store, 1_000);
    store.write((t) => incarnation.storage.raise(t, 5_000));
    expect(incarnation.knows(4_999)).toBe(false);
    expect(incarnation.storage.revision()).toBe(5_000);
    expect(incarnation.write()).toBe(5_001);
  });

  it('never reports a revision as lost that it has given, whatever the clock does', () => {
    const start = fc.record({ startsAt: fc.integer({ min: 1, max: 10_000 }), writes: fc.nat(3), closes: fc.boolean() });
    fc.assert(
      fc.property(fc.array(start, { maxLength: 12 }), (starts) => {
        const store = new MemoryStore();
        const given: number[] = [];
        for (const { startsAt, writes, closes } of starts) {
          const now = new Incarnation(store, startsAt);
          for (let i = 0; i < writes; i++) given.push(now.write());
          if (closes) now.storage.close();
        }
        const last = new Incarnation(store, 1);
        expect(given.filter((revision) => !last.knows(revision))).toEqual([]);
        expect(new Set(given).size).toBe(given.length);
      }),
    );
  });
});
