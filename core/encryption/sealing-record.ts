/** The record of a sealed store about its keys and sealed kinds. The record is clear: it names keys by their ids, and has no key. */
import * as z from 'zod';
import { BanyanError } from '../runtime/errors.ts';
import { asText, text } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';

const recordSchema = z.looseObject({
  /** 32 hex digits: a part of the authenticated place of each value (sealer.ts). A copy of the store has the same id. */
  storeId: z.string().regex(/^[0-9a-f]{32}$/),
  /** As in the configuration under which the store was written as a whole. */
  resources: z.array(z.string()),
  /** Ids of keys. The first one seals. Values may be sealed with each of them. */
  keys: z.array(z.string()).min(1),
  /** While a pass seals values with the first key: the hex of the last row key that the pass has seen. */
  cursor: z.string().optional(),
  /** Number of values that the last pass, or the pass that runs, has sealed with the first key. */
  resealed: z.number().optional(),
  /** Free pages of the data file may have values of former keys. The next start writes the file anew. */
  remains: z.literal(true).optional(),
  /** All values are sealed with the first key, and this is on the disk. */
  settled: z.literal(true).optional(),
});

export type SealingRecord = Readonly<z.infer<typeof recordSchema>>;

/** Undefined: the store is not sealed. Throws StoreCorrupt if the record can't be read. */
export function readSealingRecord(reader: Reader): SealingRecord | undefined {
  const found = reader.get(prefixOf('sealing'));
  if (!found) return undefined;
  const parsed = recordSchema.safeParse(jsonOf(asText(found)));
  if (parsed.success) return parsed.data;
  throw new BanyanError('StoreCorrupt', 'the record of the sealing is damaged; restore a backup, or begin empty');
}

export function putSealingRecord(t: Transaction, record: SealingRecord): void {
  t.put(prefixOf('sealing'), text(JSON.stringify(record)));
}

/** The record of a store whose values are all sealed with one key. */
export function wholeRecord(storeId: Uint8Array, resources: readonly string[], key: string): SealingRecord {
  return { storeId: Buffer.from(storeId).toString('hex'), resources: [...resources], keys: [key], settled: true };
}

/** From now on, this key seals. A pass must follow. */
export function withFirstKey({ storeId, resources, keys, remains }: SealingRecord, first: string): SealingRecord {
  const others = keys.filter((id) => id !== first);
  return { storeId, resources, keys: [first, ...others], ...(remains ? { remains } : {}) };
}

/** A pass has seen all rows. */
export function withPassEnded({ storeId, resources, keys, resealed = 0 }: SealingRecord): SealingRecord {
  return { storeId, resources, keys: [keys[0]!], resealed, remains: true };
}

function jsonOf(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
