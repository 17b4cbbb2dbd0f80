import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import {
  beginBoot,
  type Forebear,
  isFormerStoreIncarnation,
  markAttached,
  markCaughtUp,
  passBootCounter,
  readNodeIdentity,
} from '../../../../core/session/node-identity.ts';
import { prefixOf } from '../../../../core/store/keyspace.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';

function passed(known: (own: number) => number): number {
  const store = new MemoryStore();
  const { bootCounter } = store.write((t) => beginBoot(t, new VirtualClock(), new SeededRandom(1)));
  store.write((t) => passBootCounter(t, known(bootCounter)));
  return store.read((reader) => readNodeIdentity(reader))!.bootCounter - bootCounter;
}

describe('the last process with this identity', () => {
  const known = { bootCounter: 2 ** 32, attachedNonce: 'ab'.repeat(16) };

  it('is continued by a successor with another store: a higher counter, and the nonce that the parent welcomed', () => {
    const store = new MemoryStore();
    const clock = new VirtualClock();
    const boot = (forebear?: Forebear) => store.write((t) => beginBoot(t, clock, new SeededRandom(1), forebear));
    expect(boot(known)).toMatchObject({ bootCounter: 2 ** 32 + 1, attachedNonce: known.attachedNonce });
    store.write((t) => markAttached(t));
    const { bootNonce } = store.read((reader) => readNodeIdentity(reader))!;
    // Now the store itself was welcomed last, whatever is recorded about the former one.
    expect(boot(known)).toMatchObject({ bootCounter: 2 ** 32 + 2, attachedNonce: bootNonce });
  });

  it('is ignored if its numbers are beyond any clock', () => {
    const store = new MemoryStore();
    const clock = new VirtualClock();
    const tooHigh = { ...known, bootCounter: 2 ** 47 };
    const { bootCounter, attachedNonce } = store.write((t) => beginBoot(t, clock, new SeededRandom(1), tooHigh));
    expect([bootCounter, attachedNonce]).toEqual([Math.floor(clock.wallMs() / 1000), undefined]);
  });
});

describe('a clock that is far ahead', () => {
  it('is ignored, and a store drops its effects when the clock is right again', () => {
    const store = new MemoryStore();
    const boot = (wallMs: number) =>
      store.write((t) => beginBoot(t, new VirtualClock(wallMs), new SeededRandom(1))).bootCounter;
    const far = 2 ** 33 * 1000;
    expect([boot(far), boot(far)]).toEqual([1, 2]);
    store.write((t) => {
      const older = { ...readNodeIdentity(t)!, bootCounter: 2 ** 40 };
      t.put(prefixOf('node'), Buffer.from(JSON.stringify(older)));
    });
    expect(boot(1_700_000_000_000)).toBe(1_700_000_000);
  });
});

describe('the boot counter that a parent names', () => {
  it('is exceeded by one if it is not below the own counter', () => {
    expect(passed((own) => own)).toBe(1);
    expect(passed((own) => own + 40)).toBe(41);
  });

  it('changes nothing if it is below, or beyond any clock', () => {
    expect(passed((own) => own - 1)).toBe(0);
    expect(passed(() => 2 ** 47)).toBe(0);
    // The next one would exceed the limit.
    expect(passed(() => 2 ** 33 - 1)).toBe(0);
    expect(passed(() => 2 ** 33 - 2)).toBeGreaterThan(0);
  });
});

describe('a start that a parent names', () => {
  const clock = new VirtualClock();
  const boot = (store: MemoryStore) => {
    clock.advance(5_000);
    return store.write((t) => beginBoot(t, clock, new SeededRandom(1)).bootNonce);
  };
  const isFormer = (store: MemoryStore, nonce: string) =>
    store.read((reader) => isFormerStoreIncarnation(reader, nonce));

  it('is of a former store if it was before the first start of this store, once this store has caught up', () => {
    const [former, store] = [new MemoryStore(), new MemoryStore()];
    const then = boot(former);
    const own = [boot(store), boot(store)];
    expect(isFormer(store, then)).toBe(false);
    store.write((t) => markCaughtUp(t));
    expect(isFormer(store, then)).toBe(true);
    expect(own.some((nonce) => isFormer(store, nonce))).toBe(false);
    // A store that was restored from a copy of the former store has these starts after its own.
    former.write((t) => markCaughtUp(t));
    expect(own.some((nonce) => isFormer(former, nonce))).toBe(false);
  });

  it('is not, if its counter is one that no start can have', () => {
    const store = new MemoryStore();
    boot(store);
    store.write((t) => markCaughtUp(t));
    expect(isFormer(store, 'f'.repeat(32))).toBe(false);
  });
});
