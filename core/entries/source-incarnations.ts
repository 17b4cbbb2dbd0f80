/**
 * The store incarnations of the spaces above a node, as far as the node knows them. For each source, the node stores the newest revision that it has received. For a
 * row that the producer lacks, the node decides whether the row's space has lost the revision of the row.
 *
 * Bound: one row for each source above. A source is one space.
 */

import { revisionGapOf } from '../apiserver/storage/history.ts';
import { entryContent } from '../feed/entry-content.ts';
import { type FarAhead, isFarAhead } from '../feed/far-ahead.ts';
import type { AppliedChange, Content, Producer, Table } from '../feed/feed.ts';
import { stableStringify } from '../object/canonical.ts';
import { hash128 } from '../object/hash.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { asText, concat, prefixRange, readU48, text, u48 } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';
import type { IncarnationsAttributes } from './down-attributes.ts';
import { attributesOf, entryKey, parseEntryKey, sourceOfKey } from './entry-keys.ts';
import { downKind } from './entry-lookup.ts';
import type { SeenAttributes } from './up-attributes.ts';

/** The source of an entry whose origin revision is a revision of a space. Undefined for other entries: for example, grants have their own numbers. */
export function sourceOfEntry(key: string): string | undefined {
  const entry = parseEntryKey(key);
  return entry && downKind(entry.type)?.ofSpace ? sourceOfKey(entry) : undefined;
}

/**
 * Makes the check for revisions that are far ahead of this clock. Only entries with a revision of a space are checked: the numbers of grants and questions
 * (`w/`) are no revisions, and may be sums of several numbers.
 */
export function farAheadBy(clock: Pick<Clock, 'wallMs'>): FarAhead {
  return (originRevision, key) =>
    isFarAhead(originRevision, clock.wallMs()) && (key === undefined || sourceOfEntry(key() ?? '') !== undefined);
}

/**
 * True: the space of the row has lost the row. The `revision-gaps/` row of the same table shows this: the space knows no revision in a gap. So if the row's
 * revision is in a gap, then the producer lacks the row because of the loss, and nobody deleted it.
 */
export function isLostRow(reader: Reader, table: Table, key: string, originRevision: number): boolean {
  const source = sourceOfEntry(key);
  if (source === undefined) return false;
  const gapsRow = revisionGapsRow(reader, table, source);
  if (!gapsRow) return false;
  const { gaps } = attributesOf<IncarnationsAttributes>(gapsRow);
  return revisionGapOf(gaps, originRevision) !== undefined;
}

export interface SeenPorts {
  readonly clock: Pick<Clock, 'wallMs'>;
  /** Gets an error line when a row from the parent has a revision that its space cannot have reached yet. */
  readonly log: Pick<Logger, 'error'>;
}

/**
 * Records the newest revision of each source in these changes. Runs in the transaction that applies the changes from the parent. Returns the sources of which
 * this node had received nothing before.
 */
export function noteSeen(t: Transaction, changes: readonly AppliedChange[], { clock, log }: SeenPorts): string[] {
  const nowMs = clock.wallMs();
  const newest = new Map<string, number>();
  const ahead = new Map<string, number>();
  for (const { key, originRevision } of changes) {
    const source = sourceOfEntry(key);
    if (source === undefined) continue;
    const revisions = isFarAhead(originRevision, nowMs) ? ahead : newest;
    revisions.set(source, Math.max(revisions.get(source) ?? 0, originRevision));
  }
  for (const [source, revision] of ahead) log.error({ source, revision }, farAheadMessage);
  // A source is known as soon as its revision gaps have arrived, even without other rows.
  for (const source of sourcesWithNewGaps(changes)) newest.set(source, newest.get(source) ?? 0);
  const fresh: string[] = [];
  for (const [source, revision] of newest) {
    const isFresh = !isKnown(t, source);
    if (isFresh) fresh.push(source);
    const before = readSeen(t, source);
    if (isFresh || revision > before || isFarAhead(before, nowMs)) t.put(at(source), u48(revision));
  }
  return fresh;
}

/** The message names both possible causes: the space's revision may be wrong, or a clock. */
const farAheadMessage =
  "the parent sent a revision of this space that is years ahead of this node's clock; newer values replace rows with this revision; check the parent, this clock, and the clock of the node that has the space";

/** Sources whose spaces were removed: the node of the space sends no revision gaps any more. */
export function removedSources(changes: readonly AppliedChange[]): string[] {
  return changes.flatMap(({ key, after }) => {
    const entry = after ? undefined : parseEntryKey(key);
    return entry?.type === 'incarnations' ? [entry.source] : [];
  });
}

/** Sources whose revision gaps are new or have changed. */
export function sourcesWithNewGaps(changes: readonly AppliedChange[]): string[] {
  return changes.flatMap(({ key, after }) => {
    const entry = after && parseEntryKey(key);
    return entry?.type === 'incarnations' ? [entry.source] : [];
  });
}

/** The `revision-gaps/` row of a source, as the parent sent it. */
export function revisionGapsRow(reader: Reader, table: Table, source: string): Content | undefined {
  return entryContent(reader, table, entryKey.incarnations(source));
}

/** Whether a node above has the space of the source, as far as the parent has said. Each node has a `revision-gaps/` row for each space above it. */
export function isServedAbove(reader: Reader, table: Table, source: string): boolean {
  return revisionGapsRow(reader, table, source) !== undefined;
}

/** Whether this node has ever received a row of the source from its parent. */
export function isKnown(reader: Reader, source: string): boolean {
  return reader.get(at(source)) !== undefined;
}

export function readSeen(reader: Reader, source: string): number {
  const bytes = reader.get(at(source));
  return bytes ? readU48(bytes) : 0;
}

/** Reports the newest received revisions to the parent. Once for each attachment is enough: the parent can lose data only while it is not connected. */
export function reportSeenRevisions(t: Transaction, outbox: Producer): void {
  for (const source of seenSources(t)) putSeen(t, outbox, source, readSeen(t, source));
}

export function seenSources(reader: Reader): string[] {
  const prefix = prefixOf('seenRevision');
  return Array.from(reader.scan(prefixRange(prefix)), ([key]) => asText(key.subarray(prefix.length)));
}

/** Writes the revision into the up feed, if the feed does not report this or a higher revision already. */
export function putSeen(t: Transaction, outbox: Producer, source: string, revision: number): void {
  if (revision > reportedSeenRevision(t, outbox, source)) outbox.put(t, seenEntry(source, revision), 0);
}

/** The newest revision of the source that the up feed reports. 0: the feed reports none. */
export function reportedSeenRevision(reader: Reader, table: Table, source: string): number {
  const row = table.get(reader, hash128(entryKey.seen(source)));
  return row?.content ? attributesOf<SeenAttributes>(table.content(reader, row.content)).revision : 0;
}

function seenEntry(source: string, revision: number): Content {
  const attributes: SeenAttributes = { revision };
  return { key: entryKey.seen(source), attributes: text(stableStringify(attributes)), body: new Uint8Array(0) };
}

function at(source: string): Uint8Array {
  return concat(prefixOf('seenRevision'), text(source));
}
