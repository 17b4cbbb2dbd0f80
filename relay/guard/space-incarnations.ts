/**
 * The store incarnations of the own spaces. A space that was restored from an older copy, or emptied, can't notice this itself. The nodes below can, because
 * they have rows with revisions that the space does not know. So this node sends each child the revision gaps of its spaces (`revision-gaps/` rows). A child
 * holds rows whose revision is in a gap instead of deleting them. At each attachment, a child reports the newest revision that it has received of each source
 * (`seen/` rows). If the space does not know the reported revision, an alarm is raised, until a person acknowledges the alarm.
 *
 * The row of a space is also how the nodes below know that there is such a space. When a space is removed, the row is removed at each level.
 *
 * This node also sends its children the gaps of the spaces above. This helps if this node lost its store together with a space above: then it has no rows that
 * it could hold for the nodes below.
 *
 * Upwards, this node reports the revisions that its children have received, but only for sources from which this node itself has received something. Otherwise
 * a name that a child makes up would stay at each node above forever. So there is one row for each source above. A node that has lost its store does not know
 * its sources at first: when something of a source arrives, the node looks again at its children's reports about this source.
 */
import { revisionGapOf } from '../../core/apiserver/storage/history.ts';
import type { IncarnationsAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import {
  isKnown,
  putSeen,
  removedSources,
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
import { sourceRemovedTopic } from '../work/topics.ts';

export interface SpaceIncarnationsPorts {
  origins(): ReadonlyMap<string, OriginSpace>;
  readonly outbox: Producer;
  /** The rows that the parent sends. */
  readonly upstream: Table;
  mailboxes(): Iterable<Producer>;
  /** Returns the table of each child's reports. */
  reported(): Iterable<Table>;
  wallMs(): number;
  /** Called when a child reports a revision so high that no space can have given it yet. */
  disbelieved(source: string, revision: number): void;
  /** Called after the commit of an alarm. */
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

  /** Called when a child sends a Hello. Writes one row for each space of this node and above, so the number of rows is bounded. */
  sendGaps(t: Transaction, mailbox: Producer): void {
    for (const { source, gaps } of this.#ports.origins().values()) {
      const attributes: IncarnationsAttributes = { gaps: gaps() };
      const content = {
        key: entryKey.incarnations(source),
        attributes: text(stableStringify(attributes)),
        body: new Uint8Array(0),
      };
      mailbox.put(t, content, 0);
    }
    this.#sendGapsFromAbove(t, seenSources(t), [mailbox]);
  }

  /** Runs in the transaction that applies a batch of the parent. `fresh`: sources from which nothing had arrived before. */
  fromAbove(t: Transaction, changes: readonly AppliedChange[], fresh: readonly string[]): void {
    const sources = sourcesWithNewGaps(changes);
    if (sources.length > 0) this.#sendGapsFromAbove(t, sources, [...this.#ports.mailboxes()]);
    for (const source of removedSources(changes)) this.removed(t, source);
    if (fresh.length === 0) return;
    for (const table of this.#ports.reported()) {
      for (const source of fresh) this.#checkSeen(t, source, reportedSeenRevision(t, table, source));
    }
  }

  /** Runs in the transaction that removes a space of this node, or in which the parent reports the removal of a space above. Tells the children. */
  removed(t: Transaction, source: string): void {
    const keyHash = hash128(entryKey.incarnations(source));
    for (const mailbox of this.#ports.mailboxes()) mailbox.remove(t, keyHash, 0);
    t.announce(sourceRemovedTopic, source);
  }

  #sendGapsFromAbove(t: Transaction, sources: readonly string[], mailboxes: readonly Producer[]): void {
    const { origins, upstream } = this.#ports;
    for (const source of sources) {
      const gapsRow = origins().has(source) ? undefined : revisionGapsRow(t, upstream, source);
      if (gapsRow) for (const mailbox of mailboxes) mailbox.put(t, gapsRow, 0);
    }
  }

  /** Runs in the transaction that applies a report of a child. For a source above, this node reports the highest revision that any child has reported. */
  received(t: Transaction, changes: readonly AppliedChange[]): void {
    for (const { key, after } of changes) {
      const entry = parseEntryKey(key);
      if (entry?.type !== 'seen' || !after) continue;
      this.#checkSeen(t, entry.source, attributesOf<SeenAttributes>(after).revision);
    }
  }

  #checkSeen(t: Transaction, source: string, revision: number): void {
    const { origins, outbox, wallMs, disbelieved } = this.#ports;
    const origin = origins().get(source);
    if (!origin && !isKnown(t, source)) return;
    // If the space accepted such a revision, it would have to continue above it forever. A very high revision would leave the space no revisions at all.
    if (isFarAhead(revision, wallMs())) disbelieved(source, revision);
    else if (origin) this.#check(t, origin, revision);
    else putSeen(t, outbox, source, revision);
  }

  alarms(reader: Reader): RolledBackAttributes[] {
    return Array.from(reader.scan(prefixRange(prefixOf('rolledBack'))), ([, value]) => parse(value))
      .filter(({ known }) => !known)
      .map(({ known: _known, ...alarm }) => alarm);
  }

  /** Marks the alarm with this token as seen by a person. The same loss does not raise the alarm again. Returns false if no open alarm has the token. */
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
    // Several children report the same loss, one after the other.
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
    for (const mailbox of this.#ports.mailboxes()) this.sendGaps(t, mailbox);
  }
}

function parse(bytes: Uint8Array): Alarm {
  return JSON.parse(asText(bytes)) as Alarm;
}
