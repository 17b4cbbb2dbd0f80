/** The implementations of the store port, for the suite that runs on each of them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SealedStore } from '../../../core/encryption/sealed-store.ts';
import { Sealer } from '../../../core/encryption/sealer.ts';
import { newSealingKey } from '../../../core/encryption/sealing-keys.ts';
import { silentLogger } from '../../../core/runtime/logger.ts';
import { systemRandom } from '../../../core/runtime/random.ts';
import { LmdbStore } from '../../../core/store/lmdb/lmdb-store.ts';
import { MemoryStore } from '../../../core/store/memory/memory-store.ts';
import type { Store } from '../../../core/store/store.ts';

export interface TestStore extends AsyncDisposable {
  readonly store: Store;
}

export const stores: readonly { readonly name: string; open(): TestStore }[] = [
  {
    name: 'MemoryStore',
    open() {
      const store = new MemoryStore();
      return { store, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
    },
  },
  { name: 'LmdbStore', open: () => openLmdb() },
  // Seals every value, so that the rules of the product don't matter here.
  {
    name: 'SealedStore',
    open() {
      const sealer = new Sealer(new Uint8Array(16), [newSealingKey(systemRandom)], systemRandom);
      const store = new SealedStore(new MemoryStore(), sealer, {
        mayBe: () => true,
        mayBeIn: () => true,
        isSealed: () => true,
      });
      return { store, [Symbol.asyncDispose]: () => Promise.resolve(store[Symbol.asyncDispose]()) };
    },
  },
  // So small that it must grow within transactions, while readers are open.
  { name: 'LmdbStore that begins with a small map', open: () => openLmdb(128 * 1024) },
];

function openLmdb(mapSizeBytes?: number): TestStore {
  const directory = temporaryDirectory();
  const store = LmdbStore.open({ directory, ...(mapSizeBytes ? { mapSizeBytes } : {}) }, silentLogger);
  return {
    store,
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      rmSync(directory, { recursive: true });
    },
  };
}

export function temporaryDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'banyan-store.'));
}
