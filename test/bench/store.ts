/**
 * The store over raw lmdb with the same bytes, one after the other in this process: durable puts from 256 writers at once, and scans. Raw lmdb is used as its
 * authors advise: `put` and `flushed`, batched by the turn, synced on its own thread.
 */
import { join } from 'node:path';
import { open } from 'lmdb';
import { silentLogger } from '../../core/runtime/logger.ts';
import { text } from '../../core/store/bytes.ts';
import { LmdbStore } from '../../core/store/lmdb/lmdb-store.ts';
import type { BenchPorts, Figure } from './figure.ts';
import { median } from './measure.ts';

/** The work of both sides: the store and raw lmdb. */
interface Side {
  put(key: Uint8Array, value: Uint8Array): Promise<unknown>;
  /** Bytes of keys and values. */
  scan(): number;
  close(): Promise<void>;
}

const writers = 256;
const valueBytes = 2_048;
const putsPerRound = writers * 20;
const rounds = 15;
const scansPerRound = 5;

export async function bench({ scratch, progress }: BenchPorts): Promise<Figure[]> {
  const puts: Record<'raw' | 'store', number[]> = { raw: [], store: [] };
  const scans: Record<'raw' | 'store', number[]> = { raw: [], store: [] };
  const sides = { raw: openRaw(scratch.directory()), store: openStore(scratch.directory()) };
  for (const side of Object.values(sides)) scratch.use({ [Symbol.asyncDispose]: () => side.close() });
  // In turns, so that other work on the machine affects both; the first round warms up.
  for (let round = 0; round <= rounds; round++) {
    progress(round === 0 ? 'warming up' : `round ${round} of ${rounds}`);
    for (const name of ['raw', 'store'] as const) {
      const putsPerSecond = await measurePuts(sides[name], round);
      const megabytesPerSecond = measureScans(sides[name]);
      if (round === 0) continue;
      puts[name].push(putsPerSecond);
      scans[name].push(megabytesPerSecond);
    }
  }
  const figure = (name: string, unit: string, values: typeof puts): Figure => ({
    name,
    unit,
    value: median(values.store),
    baseline: { name: 'raw lmdb', value: median(values.raw) },
    goal: { of: 'ratio', is: '≥', bound: 0.5 },
  });
  return [figure('durable puts', 'puts/s', puts), figure('scan', 'MB/s', scans)];
}

function openStore(directory: string): Side {
  const store = LmdbStore.open({ directory }, silentLogger);
  return {
    put(key, value) {
      store.write((t) => t.put(key, value));
      return store.flushed();
    },
    scan: () =>
      store.read((reader) => {
        let bytes = 0;
        for (const [key, value] of reader.scan({ from: Buffer.alloc(0), to: Buffer.of(0xff) }))
          bytes += key.length + value.length;
        return bytes;
      }),
    close: () => store[Symbol.asyncDispose](),
  };
}

function openRaw(directory: string): Side {
  const database = open<Uint8Array, Uint8Array>({
    path: join(directory, 'data.mdb'),
    noSubdir: true,
    keyEncoding: 'binary',
    encoding: 'binary',
  });
  return {
    async put(key, value) {
      await database.put(key, value);
      await database.flushed;
    },
    scan() {
      let bytes = 0;
      for (const { key, value } of database.getRange({ start: Buffer.of(0), end: Buffer.of(0xff) }))
        bytes += key.length + value.length;
      return bytes;
    },
    close: () => database.close(),
  };
}

/** Each of the writers puts, waits until the put is durable, and puts again. Every round overwrites the same keys. */
async function measurePuts(side: Side, round: number): Promise<number> {
  const value = Buffer.alloc(valueBytes, round);
  const startMs = performance.now();
  await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      for (let i = writer; i < putsPerRound; i += writers) await side.put(keyOf(i), value);
    }),
  );
  return (putsPerRound / (performance.now() - startMs)) * 1_000;
}

/** MB a second. */
function measureScans(side: Side): number {
  const startMs = performance.now();
  let bytes = 0;
  for (let i = 0; i < scansPerRound; i++) bytes += side.scan();
  return bytes / 1e6 / ((performance.now() - startMs) / 1_000);
}

/** Spread over the key space, like hashes and names. */
function keyOf(i: number): Uint8Array {
  return text(`key/${String((i * 7_919) % putsPerRound).padStart(10, '0')}`);
}
