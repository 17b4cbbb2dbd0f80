/**
 * Remembers when a parent last received something from each child, also after a restart of the parent. The times are wall times, because people read them.
 *
 * A message of a child causes no write. The store has one record for each child, which is written when a session begins and when it ends, and one time for
 * the whole node, which is written once a minute. If the process ends while a child is attached, the record of the child still says so. An attached child is
 * never silent for long, so the child was last heard at about the last time of the node.
 */
import { asText, concat, text } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';

/** How often the node writes its own time: one small write a minute, and an error of at most a minute after a crash. */
export const aliveEveryMs = 60_000;

interface HeardRecord {
  readonly atMs: number;
  /** The child was attached when the record was written. */
  readonly attached: boolean;
}

export function noteAttached(t: Transaction, child: string, wallMs: number): void {
  put(t, child, { atMs: wallMs, attached: true });
}

/** Does nothing if the child was removed for good meanwhile: a new child with the same name has never attached. */
export function noteDetached(t: Transaction, child: string, heardAtMs: number): void {
  if (read(t, child)) put(t, child, { atMs: heardAtMs, attached: false });
}

/** Runs when a child was removed for good. */
export function forgetHeard(t: Transaction, child: string): void {
  t.remove(keyOf(child));
}

export function noteAlive(t: Transaction, wallMs: number): void {
  put(t, node, { atMs: wallMs, attached: true });
}

/** Returns the newest time that the node wrote with `noteAlive`. Undefined: none. */
export function lastAlive(reader: Reader): number | undefined {
  return read(reader, node)?.atMs;
}

/**
 * Returns the wall time in ms at which the child, which is not attached now, was last heard. Undefined: the child has never attached. `aliveAtMs` is the
 * result of `lastAlive` at the start of the process.
 */
export function lastHeard(reader: Reader, child: string, aliveAtMs: number | undefined): number | undefined {
  const record = read(reader, child);
  return record?.attached ? Math.max(record.atMs, aliveAtMs ?? 0) : record?.atMs;
}

/** The record of the node itself has this name, which no child can have. */
const node = '';

function read(reader: Reader, name: string): HeardRecord | undefined {
  const bytes = reader.get(keyOf(name));
  return bytes && (JSON.parse(asText(bytes)) as HeardRecord);
}

function put(t: Transaction, name: string, record: HeardRecord): void {
  t.put(keyOf(name), text(JSON.stringify(record)));
}

function keyOf(name: string): Uint8Array {
  return concat(prefixOf('heard'), text(name));
}
