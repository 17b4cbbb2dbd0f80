/** The state of a producer besides its rows: its identity, its head with the digest, and how far its consumer has received the feed. */
import { asText, concat, readU48, text, u32, u48Bytes } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';
import { digestBytes } from './digest.ts';
import type { Incarnation } from './feed.ts';
import { tableKey } from './table.ts';

export interface ProducerState {
  readonly epoch: string;
  /** Oldest first, at most `incarnationsMax` (producer.ts). */
  readonly incarnations: readonly Incarnation[];
}

/** A record of its own, because every acknowledgement writes it: `u48 acknowledged, u48 purgeRevision`. */
export interface ProducerProgress {
  readonly acknowledged: number;
  readonly purgeRevision: number;
}

const headName = text('head');
/**
 * The head's record: `u48 head`, the digest, `u48 revision of the newest tombstone`. The last number shows an acknowledgement, without a search, whether
 * there are tombstones to purge.
 */
export const tombstoneAt = u48Bytes + digestBytes;
export const headBytes = tombstoneAt + u48Bytes;
const progressName = text('progress');

export function headKey(id: number): Uint8Array {
  return tableKey('producerState', id, headName);
}

export function readHead(reader: Reader, id: number): number {
  const bytes = reader.get(headKey(id));
  return bytes ? readU48(bytes) : 0;
}

export function progressKey(id: number): Uint8Array {
  return tableKey('producerState', id, progressName);
}

export function readProgress(reader: Reader, id: number): ProducerProgress {
  return progressIn(reader.get(progressKey(id)));
}

export function progressIn(bytes: Uint8Array | undefined): ProducerProgress {
  if (!bytes) return { acknowledged: 0, purgeRevision: 0 };
  return { acknowledged: readU48(bytes), purgeRevision: readU48(bytes, u48Bytes) };
}

function stateKey(id: number): Uint8Array {
  return concat(prefixOf('producerState'), u32(id));
}

export function readState(reader: Reader, id: number): ProducerState | undefined {
  const bytes = reader.get(stateKey(id));
  return bytes && (JSON.parse(asText(bytes)) as ProducerState);
}

export function writeState(t: Transaction, id: number, state: ProducerState): void {
  t.put(stateKey(id), text(JSON.stringify(state)));
}
