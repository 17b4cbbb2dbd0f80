/**
 * What sealing costs: contents of 2 KiB through a store that seals Secrets, over the same contents through a clear store, one after the other in this process.
 * Durable puts from 256 writers at once, and reads of single contents.
 */
import { SealedStore } from '../../core/encryption/sealed-store.ts';
import { sealedValues } from '../../core/encryption/sealed-values.ts';
import { Sealer } from '../../core/encryption/sealer.ts';
import { newSealingKey } from '../../core/encryption/sealing-keys.ts';
import { type ContentRecord, contentRecordOf, readContent, storeContent } from '../../core/feed/content.ts';
import { silentLogger } from '../../core/runtime/logger.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { text } from '../../core/store/bytes.ts';
import { LmdbStore } from '../../core/store/lmdb/lmdb-store.ts';
import type { Store } from '../../core/store/store.ts';
import type { BenchPorts, Figure } from './figure.ts';
import { median } from './measure.ts';

const writers = 256;
const bodyBytes = 2_048;
const contents = writers * 20;
const rounds = 15;
const readsPerRound = 40_000;

/** Each side has contents of one resource in a store of its own. */
interface Side {
  readonly store: Store;
  readonly resource: string;
  readonly puts: number[];
  readonly reads: number[];
}

export async function bench({ scratch, progress }: BenchPorts): Promise<Figure[]> {
  const open = (resource: string, isSealed: boolean): Side => {
    const inner = LmdbStore.open({ directory: scratch.directory() }, silentLogger);
    scratch.use(inner);
    const sealer = new Sealer(systemRandom.bytes(16), [newSealingKey(systemRandom)], systemRandom);
    const store = isSealed ? new SealedStore(inner, sealer, sealedValues(['secrets'])) : inner;
    return { store, resource, puts: [], reads: [] };
  };
  const [clear, others, secrets] = [
    open('configmaps', false),
    open('configmaps', true),
    open('secrets', true),
  ] as const;
  for (let round = 0; round <= rounds; round++) {
    progress(round === 0 ? 'warming up' : `round ${round} of ${rounds}`);
    for (const side of [clear, others, secrets]) {
      const records = recordsOf(side.resource, round);
      const putsPerSecond = await measurePuts(side.store, records);
      const readsPerSecond = measureReads(side.store, records);
      if (round === 0) continue;
      side.puts.push(putsPerSecond);
      side.reads.push(readsPerSecond);
    }
  }
  const figure = (name: string, side: Side, work: 'puts' | 'reads', bound: number): Figure => ({
    name,
    unit: `${work}/s`,
    value: median(side[work]),
    baseline: { name: 'clear store', value: median(clear[work]) },
    goal: { of: 'ratio', is: '≥', bound },
  });
  return [
    figure('durable puts of other objects', others, 'puts', 0.9),
    figure('reads of other objects', others, 'reads', 0.9),
    figure('durable puts of Secrets', secrets, 'puts', 0.5),
    figure('reads of Secrets', secrets, 'reads', 0.1),
  ];
}

function recordsOf(resource: string, round: number): ContentRecord[] {
  const body = Buffer.alloc(bodyBytes, round);
  return Array.from({ length: contents }, (_, i) =>
    contentRecordOf({ key: `o/center.retail//${resource}/shop/${i}`, attributes: text('{}'), body }),
  );
}

/** Each of the writers puts, waits until the put is durable, and puts again. */
async function measurePuts(store: Store, records: readonly ContentRecord[]): Promise<number> {
  const startMs = performance.now();
  await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      for (let i = writer; i < records.length; i += writers) {
        store.write((t) => storeContent(t, records[i]!));
        await store.flushed();
      }
    }),
  );
  return (records.length / (performance.now() - startMs)) * 1_000;
}

function measureReads(store: Store, records: readonly ContentRecord[]): number {
  const startMs = performance.now();
  store.read((reader) => {
    for (let i = 0; i < readsPerRound; i++) readContent(reader, records[(i * 7_919) % records.length]!);
  });
  return (readsPerRound / (performance.now() - startMs)) * 1_000;
}
