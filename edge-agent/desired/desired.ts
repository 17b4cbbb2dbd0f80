/**
 * What this cluster is to hold, read from the consumer's end of the down feed: which source delivers which object, and which
 * placements want it. The table is the truth; this is an index of it in memory, made by one scan at start.
 *
 * Two sources may deliver one object: the first of `deliveries` wins, see `compareDeliveries`.
 */
import type { AppliedChange, Content, Table } from '../../core/feed/feed.ts';
import { parseBody } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { formatKey, parseKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { asText } from '../../core/store/bytes.ts';
import type { Reader, Store } from '../../core/store/store.ts';
import {
  type ObjectAttributes,
  objectKey,
  type PlacementId,
  parseEntryKey,
  placementId,
  type TargetAttributes,
} from '../../core/wire/entries.ts';

/** One object as one source delivers it. */
export interface Delivery {
  readonly source: string;
  /** `apps/deployments/shop/till`: see core/object/key.ts. */
  readonly key: string;
  /** Revision of the origin's space that made the content. */
  readonly revision: number;
  /** Of the body alone: attributes change without the object changing. */
  readonly bodyHash: string;
  readonly placements: readonly PlacementId[];
  /** Create it once and leave it to the cluster from then on. */
  readonly createOnly: boolean;
}

export interface DesiredChange {
  /** What one source delivers has come, changed or gone. */
  readonly deliveries: readonly {
    readonly source: string;
    readonly key: string;
    /** Those that wanted it before. */
    readonly placements: readonly PlacementId[];
  }[];
  readonly placements: ReadonlySet<PlacementId>;
}

interface PlacementIndex {
  target?: TargetAttributes;
  readonly objects: Set<string>;
}

export class Desired {
  readonly #store: Store;
  readonly #table: Table;
  readonly #deliveries = new Map<string, Delivery[]>();
  readonly #placements = new Map<PlacementId, PlacementIndex>();
  /** Entry keys that a transaction has changed and that the index has not read again. */
  readonly #stale = new Set<string>();
  #onChange: ((change: DesiredChange) => void) | undefined;

  constructor(store: Store, table: Table) {
    this.#store = store;
    this.#table = table;
    store.read((reader) => {
      for (const row of table.rows(reader)) {
        if (row.content) this.#enter(table.content(reader, row.content), row.originRevision);
      }
    });
  }

  /** Told of what changed, once the transaction that changed it is over. */
  onChange(listener: (change: DesiredChange) => void): void {
    this.#onChange = listener;
  }

  /**
   * A batch of the down feed has changed these. Only keys are noted and the rows are read again, so that it may be called
   * inside the transaction too: one that is rolled back leaves no trace here.
   */
  note(changes: readonly AppliedChange[]): void {
    if (this.#stale.size === 0) queueMicrotask(() => this.#refresh());
    for (const change of changes) this.#stale.add(change.key);
  }

  /** Keys of all objects that any source delivers. */
  objects(): string[] {
    this.#refresh();
    return [...this.#deliveries.keys()];
  }

  /** The winner first. */
  deliveries(key: string): readonly Delivery[] {
    this.#refresh();
    return this.#deliveries.get(key) ?? [];
  }

  /** Placements whose target has arrived. */
  placements(): PlacementId[] {
    this.#refresh();
    return [...this.#placements].filter(([, index]) => index.target).map(([id]) => id);
  }

  placement(id: PlacementId): { target: TargetAttributes; objects: ReadonlySet<string> } | undefined {
    this.#refresh();
    const index = this.#placements.get(id);
    return index?.target && { target: index.target, objects: index.objects };
  }

  /** The object of a delivery, parsed. */
  object(delivery: Delivery): KubeObject {
    return this.#store.read((reader) => {
      const content = this.#content(reader, objectKey(delivery.source, parseKey(delivery.key)));
      if (!content) throw new Error(`the index names ${delivery.key} of ${delivery.source}, the table does not`);
      return parseBody(content.content.body);
    });
  }

  #refresh(): void {
    if (this.#stale.size === 0) return;
    const stale = [...this.#stale];
    this.#stale.clear();
    const deliveries: { source: string; key: string; placements: readonly PlacementId[] }[] = [];
    const placements = new Set<PlacementId>();
    this.#store.read((reader) => {
      for (const entry of stale) {
        const parsed = parseEntryKey(entry);
        if (parsed?.type === 'object') {
          const key = formatKey(parsed.object);
          const before = this.#leave(parsed.source, key);
          deliveries.push({ source: parsed.source, key, placements: before });
          for (const id of before) placements.add(id);
        } else if (parsed?.type === 'target') {
          placements.add(parsed.id);
          this.#dropTarget(parsed.id);
        }
        const row = this.#content(reader, entry);
        if (row) for (const id of this.#enter(row.content, row.revision)) placements.add(id);
      }
    });
    this.#onChange?.({ deliveries, placements });
  }

  /** Puts one entry into the index; returns the placements it concerns. */
  #enter(content: Content, revision: number): readonly PlacementId[] {
    const entry = parseEntryKey(content.key);
    if (entry?.type === 'target') {
      this.#index(entry.id).target = JSON.parse(asText(content.attributes)) as TargetAttributes;
      return [entry.id];
    }
    if (entry?.type !== 'object') return [];
    const attributes = JSON.parse(asText(content.attributes)) as ObjectAttributes;
    const delivery: Delivery = {
      source: entry.source,
      key: formatKey(entry.object),
      revision,
      bodyHash: Buffer.from(hash128(content.body)).toString('hex'),
      placements: attributes.refs.map((name) => placementId(entry.source, name)),
      createOnly: attributes.createOnly ?? false,
    };
    const others = this.#deliveries.get(delivery.key) ?? [];
    this.#deliveries.set(delivery.key, [...others, delivery].sort(compareDeliveries));
    for (const id of delivery.placements) this.#index(id).objects.add(delivery.key);
    return delivery.placements;
  }

  /** Takes one source's delivery of an object out of the index; returns the placements that wanted it. */
  #leave(source: string, key: string): readonly PlacementId[] {
    const deliveries = this.#deliveries.get(key) ?? [];
    const leaving = deliveries.find((delivery) => delivery.source === source);
    if (!leaving) return [];
    const rest = deliveries.filter((delivery) => delivery !== leaving);
    if (rest.length > 0) this.#deliveries.set(key, rest);
    else this.#deliveries.delete(key);
    for (const id of leaving.placements) {
      this.#index(id).objects.delete(key);
      this.#forgetIfEmpty(id);
    }
    return leaving.placements;
  }

  #dropTarget(id: PlacementId): void {
    const index = this.#placements.get(id);
    if (!index) return;
    delete index.target;
    this.#forgetIfEmpty(id);
  }

  #index(id: PlacementId): PlacementIndex {
    const known = this.#placements.get(id) ?? { objects: new Set<string>() };
    this.#placements.set(id, known);
    return known;
  }

  #forgetIfEmpty(id: PlacementId): void {
    const index = this.#placements.get(id);
    if (index && !index.target && index.objects.size === 0) this.#placements.delete(id);
  }

  #content(reader: Reader, entry: string): { content: Content; revision: number } | undefined {
    const row = this.#table.get(reader, hash128(entry));
    return row?.content && { content: this.#table.content(reader, row.content), revision: row.originRevision };
  }
}

/** Authority nearer the center first, then the name of the source: the same on every start and independent of arrival. */
export function compareDeliveries(a: { source: string }, b: { source: string }): number {
  return depthOf(a.source) - depthOf(b.source) || (a.source < b.source ? -1 : a.source > b.source ? 1 : 0);
}

/** `center.retail` is at depth 0, `eu.paris.ops` at depth 2. */
function depthOf(source: string): number {
  const segments = source.split('.');
  return segments[0] === 'center' ? 0 : segments.length - 1;
}
