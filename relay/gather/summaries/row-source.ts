/**
 * Reads the rows of summaries. For an object that was sent down, a row is made of its row in the source, its row in the agent's mailbox, and the state that the
 * agent reported. For an upsynced or associated object, a row is made of the agent's report.
 */

import type { ObjectAttributes } from '../../../core/entries/down-attributes.ts';
import { attributesOf, entryKey, parseEntryKey } from '../../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../../core/entries/placement-id.ts';
import type { AssociatedAttributes, UpsyncedAttributes } from '../../../core/entries/up-attributes.ts';
import type { Content, Table } from '../../../core/feed/feed.ts';
import { type AssociatedItem, namesResource } from '../../../core/match/resource-rules.ts';
import { matchesUpsync, type UpsyncItem } from '../../../core/match/upsync-item.ts';
import { parseBody } from '../../../core/object/canonical.ts';
import { hash128 } from '../../../core/object/hash.ts';
import type { ObjectKey } from '../../../core/object/key.ts';
import { asText } from '../../../core/store/bytes.ts';
import type { Reader } from '../../../core/store/store.ts';
import type { Failure } from '../../../core/summary/partial.ts';
import type { SummaryRow } from '../../../core/summary/summarizer.ts';
import type { Placement } from '../../placements/placement.ts';
import { type LocationFacts, RowReader } from './summary-rows.ts';

export interface RowSourcePorts {
  tableOf(source: string): Table;
  mailboxOf(child: string): Table | undefined;
  reportedOf(child: string): Table | undefined;
  /** Path of a child's node. */
  pathOf(child: string): string;
}

/** The rules of placements about objects that were not sent down. */
interface RulesOfPlacements {
  upsyncOf(id: PlacementId): readonly UpsyncItem[];
  associatedOf(id: PlacementId): readonly AssociatedItem[];
}

export interface RowPlace {
  /** An agent. */
  readonly child: string;
  readonly source: string;
  /** The key hash of the object's row in the source. For an upsynced or associated object: the key hash of the reported row. */
  readonly keyHash: Uint8Array;
}

interface SummarizedObject {
  readonly object: ObjectKey;
  readonly summarizers: Readonly<Record<string, readonly string[]>>;
}

/** The data of one object at one agent, as this node has them. */
export interface ReadRow {
  /** The names of the placements whose summaries may want the row. */
  readonly placements: readonly string[];
  isWanted(placement: Placement, summarizer: string): boolean;
  row(place: LocationFacts, heldBack: readonly Failure[]): SummaryRow;
}

/** Limit for the objects for which this class remembers the summaries that want them: as many as are reported at the same time. */
const wantedMax = 1_000;

export class RowSource {
  readonly #ports: RowSourcePorts & RulesOfPlacements;
  readonly #rows = new RowReader();
  /** Keyed by the hash of the content. */
  readonly #wantedByContent = new Map<string, SummarizedObject>();

  constructor(ports: RowSourcePorts & RulesOfPlacements) {
    this.#ports = ports;
  }

  /** Returns the object, its state, and the summaries that want it. Undefined if the agent lacks the object, or has reported no state of it. */
  object(reader: Reader, { child, source, keyHash }: RowPlace): ReadRow | undefined {
    const { mailboxOf, reportedOf, pathOf } = this.#ports;
    const wanted = this.#wanted(reader, source, keyHash);
    const mailbox = mailboxOf(child);
    const delivered = mailbox?.get(reader, keyHash);
    const reported = reportedOf(child);
    if (!wanted || !mailbox || !delivered?.content || !reported) return undefined;
    const { object, summarizers } = wanted;
    const state = contentOf(reader, reported, hash128(entryKey.state(source, object)));
    if (!state) return undefined;
    const content = this.#rows.content(delivered.content, (reference) => mailbox.content(reader, reference));
    const input = { path: pathOf(child), object, delivered, content, state };
    return {
      placements: Object.keys(summarizers),
      isWanted: (placement, name) => summarizers[placement.name]?.includes(name) ?? false,
      row: (place, heldBack) => this.#rows.row({ ...input, place, heldBack }),
    };
  }

  /** Returns the summaries that want the object, from its row in the source. The result is the same for all agents. */
  #wanted(reader: Reader, source: string, keyHash: Uint8Array): SummarizedObject | undefined {
    const table = this.#ports.tableOf(source);
    const row = table.get(reader, keyHash);
    if (!row?.content) return undefined;
    const hash = rowNameOf(row.content.hash);
    const cached = this.#wantedByContent.get(hash);
    if (cached) return cached;
    const content = table.content(reader, row.content);
    const entry = parseEntryKey(content.key);
    if (entry?.type !== 'object') return undefined;
    const wanted = { object: entry.object, summarizers: attributesOf<ObjectAttributes>(content).summarizers ?? {} };
    if (this.#wantedByContent.size >= wantedMax) this.#wantedByContent.clear();
    this.#wantedByContent.set(hash, wanted);
    return wanted;
  }

  /** Returns an upsynced or associated object of an agent's cluster. */
  fromCluster(reader: Reader, { child, source, keyHash }: RowPlace): ReadRow | undefined {
    const reported = this.#ports.reportedOf(child);
    const content = reported && contentOf(reader, reported, keyHash);
    const entry = content && parseEntryKey(content.key);
    if (entry?.type === 'associated' && entry.source === source) return this.#associated(child, entry.object, content!);
    if (!content || entry?.type !== 'upsynced' || entry.source !== source) return undefined;
    const { refs } = attributesOf<UpsyncedAttributes>(content);
    const { object, path } = entry;
    const labels = parseBody(content.body).metadata.labels ?? {};
    return {
      placements: refs,
      isWanted: ({ id, name: placement }, name) =>
        refs.includes(placement) &&
        this.#ports
          .upsyncOf(id)
          .some((item) => item.statusSummarizers?.includes(name) && matchesUpsync(item, object, labels)),
      row: (place) => this.#rows.edgeObjectRow({ path, object, place, body: content.body }),
    };
  }

  #associated(child: string, object: ObjectKey, { attributes, body }: Content): ReadRow {
    const { refs } = JSON.parse(asText(attributes)) as AssociatedAttributes;
    const path = this.#ports.pathOf(child);
    return {
      placements: refs,
      isWanted: ({ id, name: placement }, name) =>
        refs.includes(placement) &&
        this.#ports
          .associatedOf(id)
          .some((item) => item.statusSummarizers?.includes(name) && namesResource(item, object)),
      row: (place) => this.#rows.edgeObjectRow({ path, object, place, body }),
    };
  }
}

/** Returns the key hashes of the associated objects that an agent has reported. */
export function* associatedRows(reader: Reader, reported: Table): Generator<Uint8Array> {
  for (const row of reported.rows(reader)) {
    if (row.content && parseEntryKey(reported.content(reader, row.content).key)?.type === 'associated')
      yield row.keyHash;
  }
}

export function contentOf(reader: Reader, table: Table, keyHash: Uint8Array): Content | undefined {
  const row = table.get(reader, keyHash);
  return row?.content && table.content(reader, row.content);
}

/** Returns a hash as text, for keys of maps. */
export function rowNameOf(keyHash: Uint8Array): string {
  return Buffer.from(keyHash).toString('latin1');
}
