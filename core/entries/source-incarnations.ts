/**
 * The knowledge of a node about the store incarnations of the spaces above it: the newest revision of each source that has come here, and whether a row that
 * its producer lacks was written in an incarnation that the source's space does not know.
 *
 * Bound: one row for each source above; there are as many as spaces.
 */
import { revisionGapOf } from '../apiserver/storage/history.ts';
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

/** The source of an entry whose origin revision is a revision of a space. Undefined for other entries: grants and questions have numbers of their own. */
export function sourceOfEntry(key: string): string | undefined {
  const entry = parseEntryKey(key);
  return entry && downKind(entry.type)?.ofSpace ? sourceOfKey(entry) : undefined;
}

/** The check by this clock. Numbers of grants and questions are no revisions, and may be sums of several numbers. */
export function farAheadBy(clock: Pick<Clock, 'wallMs'>): FarAhead {
  return (originRevision, key) =>
    isFarAhead(originRevision, clock.wallMs()) && (key === undefined || sourceOfEntry(key() ?? '') !== undefined);
}

/**
 * Decides by the `revision-gaps/` row of the same table: if the revision lies in a gap, the space does not know the row, so the row's absence is no deletion.
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
  /** Gets an error line about a row from above whose revision its space can't have given by now. */
  readonly log: Pick<Logger, 'error'>;
}

/** Runs in the transaction that applies changes from above. Returns the sources from which nothing had come before. */
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
  // A source from which only its revision gaps have come is known too.
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

/** Names both possible causes. */
const farAheadMessage =
  "the parent sent a revision of this space that is years ahead of this node's clock; newer values replace rows with this revision; check the parent, this clock, and the clock of the node that has the space";

/** Sources whose revision gaps have come or changed. */
export function sourcesWithNewGaps(changes: readonly AppliedChange[]): string[] {
  return changes.flatMap(({ key, after }) => {
    const entry = after && parseEntryKey(key);
    return entry?.type === 'incarnations' ? [entry.source] : [];
  });
}

/** The `revision-gaps/` row of a source, as the parent sent it. */
export function revisionGapsRow(reader: Reader, table: Table, source: string): Content | undefined {
  const row = table.get(reader, hash128(entryKey.incarnations(source)));
  return row?.content && table.content(reader, row.content);
}

/** Whether anything of the source has come from above. */
export function isKnown(reader: Reader, source: string): boolean {
  return reader.get(at(source)) !== undefined;
}

export function readSeen(reader: Reader, source: string): number {
  const bytes = reader.get(at(source));
  return bytes ? readU48(bytes) : 0;
}

/** Reports the newest revisions to the parent, at each attachment: only a parent that was away can have lost something. */
export function reportSeenRevisions(t: Transaction, outbox: Producer): void {
  for (const source of seenSources(t)) putSeen(t, outbox, source, readSeen(t, source));
}

export function seenSources(reader: Reader): string[] {
  const prefix = prefixOf('seenRevision');
  return Array.from(reader.scan(prefixRange(prefix)), ([key]) => asText(key.subarray(prefix.length)));
}

/** Writes the revision into the up feed if it is higher than every reported one. */
export function putSeen(t: Transaction, outbox: Producer, source: string, revision: number): void {
  if (revision > reportedSeenRevision(t, outbox, source)) outbox.put(t, seenEntry(source, revision), 0);
}

/** The newest revision of the source that the feed reports. 0: none. */
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
