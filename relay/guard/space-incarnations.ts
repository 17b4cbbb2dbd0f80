/**
 * The lives of the own spaces. A space that was put back to an older copy, or emptied, can't know it; those below can, since they have rows of revisions
 * that it knows nothing of. So each child is told which revisions these are (`revision-gaps/` rows, by which it holds such rows instead of deleting them), and tells at
 * each attachment the newest that it has had (`seen/` rows). One that the space does not know is an alarm, until a person has said that it is known.
 *
 * What the spaces above say of theirs is handed on: a node whose store was lost together with theirs has no rows any more that it could hold for those below.
 *
 * Upward goes what children have seen of sources of which something has come from above, and of no others: names that a child makes up would stay with each
 * node above it for good. A node that has lost its store looks at what its children say of a source when that comes again. So there is a row for each source above.
 */
import { revisionGapOf } from '../../core/apiserver/storage/history.ts';
import type { IncarnationsAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import {
  isKnown,
  putSeen,
  reportedSeenRevision,
  revisionGapsRow,
  seenSources,
  sourcesWithNewGaps,
} from '../../core/entries/source-incarnations.ts';
import type { RolledBackAttributes, SeenAttributes } from '../../core/entries/up-attributes.ts';
import { isFarAhead } from '../../core/feed/far-ahead.ts';
import type { AppliedChange, Producer, Table } from '../../core/feed/feed.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { timestamp } from '../../core/object/conditions.ts';
import { hash128 } from '../../core/object/hash.ts';
import { asText, concat, hex, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import type { OriginSpace } from '../spaces/origins.ts';

export interface SpaceIncarnationsPorts {
  readonly origins: ReadonlyMap<string, OriginSpace>;
  readonly outbox: Producer;
  /** What comes from the parent. */
  readonly upstream: Table;
  mailboxes(): Iterable<Producer>;
  /** What each child tells. */
  reported(): Iterable<Table>;
  wallMs(): number;
  /** A child tells of a revision that no space can have given by now. */
  disbelieved(source: string, revision: number): void;
  /** After the commit of an alarm. */
  alarmed(alarm: RolledBackAttributes): void;
}

interface Alarm extends RolledBackAttributes {
  readonly known?: true;
}

export class SpaceIncarnations {
  readonly #ports: SpaceIncarnationsPorts;

  constructor(ports: SpaceIncarnationsPorts) {
    this.#ports = ports;
  }

  /** For a child that says hello: a row for each space here and above, so bounded by their number. */
  tell(t: Transaction, mailbox: Producer): void {
    for (const { source, gaps } of this.#ports.origins.values()) {
      const attributes: IncarnationsAttributes = { gaps: gaps() };
      const content = {
        key: entryKey.incarnations(source),
        attributes: text(stableStringify(attributes)),
        body: new Uint8Array(0),
      };
      mailbox.put(t, content, 0);
    }
    this.#handOn(t, seenSources(t), [mailbox]);
  }

  /** In the transaction that applies what the parent said. `fresh`: sources of which nothing had come before. */
  fromAbove(t: Transaction, changes: readonly AppliedChange[], fresh: readonly string[]): void {
    const sources = sourcesWithNewGaps(changes);
    if (sources.length > 0) this.#handOn(t, sources, [...this.#ports.mailboxes()]);
    if (fresh.length === 0) return;
    for (const table of this.#ports.reported()) {
      for (const source of fresh) this.#hear(t, source, reportedSeenRevision(t, table, source));
    }
  }

  #handOn(t: Transaction, sources: readonly string[], mailboxes: readonly Producer[]): void {
    const { origins, upstream } = this.#ports;
    for (const source of sources) {
      const gapsRow = origins.has(source) ? undefined : revisionGapsRow(t, upstream, source);
      if (gapsRow) for (const mailbox of mailboxes) mailbox.put(t, gapsRow, 0);
    }
  }

  /** In the transaction that applies what a child said. What is of a space further up is handed on, as the greatest that any child told. */
  heard(t: Transaction, changes: readonly AppliedChange[]): void {
    for (const { key, after } of changes) {
      const entry = parseEntryKey(key);
      if (entry?.type !== 'seen' || !after) continue;
      this.#hear(t, entry.source, attributesOf<SeenAttributes>(after).revision);
    }
  }

  #hear(t: Transaction, source: string, revision: number): void {
    const { origins, outbox, wallMs, disbelieved } = this.#ports;
    const origin = origins.get(source);
    if (!origin && !isKnown(t, source)) return;
    // It would use up the revisions that a space has, for good.
    if (isFarAhead(revision, wallMs())) disbelieved(source, revision);
    else if (origin) this.#check(t, origin, revision);
    else putSeen(t, outbox, source, revision);
  }

  alarms(reader: Reader): RolledBackAttributes[] {
    return Array.from(reader.scan(prefixRange(prefixOf('rolledBack'))), ([, value]) => parse(value))
      .filter(({ known }) => !known)
      .map(({ known: _known, ...alarm }) => alarm);
  }

  /** A person has seen the alarm of this token: it is not raised again for the same loss. */
  acknowledge(t: Transaction, token: string): boolean {
    for (const [key, value] of [...t.scan(prefixRange(prefixOf('rolledBack')))]) {
      const alarm = parse(value);
      if (alarm.token !== token || alarm.known) continue;
      t.put(key, text(JSON.stringify({ ...alarm, known: true })));
      return true;
    }
    return false;
  }

  #check(t: Transaction, origin: OriginSpace, seen: number): void {
    const { source } = origin;
    const revision = origin.revision();
    const ahead = seen > revision;
    const gap = revisionGapOf(origin.gaps(), seen);
    if (!ahead && !gap) return;
    const had = gap ? gap[0] : revision;
    if (ahead) this.#raise(t, origin, seen);
    const at = concat(prefixOf('rolledBack'), text(source));
    const bytes = t.get(at);
    const before = bytes ? parse(bytes) : undefined;
    // Of one loss, children tell one after the other.
    if (before?.had === had && (before.known || before.seen >= seen)) return;
    const since = timestamp(this.#ports.wallMs());
    const token = hex(hash128(`${source} ${had} ${seen} ${since}`)).slice(0, 12);
    const same = before?.had === had ? { since: before.since, token: before.token } : { since, token };
    const alarm: RolledBackAttributes = { source, had, seen, ...same };
    t.put(at, text(JSON.stringify(alarm)));
    t.afterCommit(() => this.#ports.alarmed(alarm));
  }

  #raise(t: Transaction, origin: OriginSpace, seen: number): void {
    origin.raise(t, seen);
    for (const mailbox of this.#ports.mailboxes()) this.tell(t, mailbox);
  }
}

function parse(bytes: Uint8Array): Alarm {
  return JSON.parse(asText(bytes)) as Alarm;
}
