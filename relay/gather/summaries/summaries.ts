/**
 * The summaries that users define, for all placements that this node knows: which summaries exist, and the rows and partials from which they are made.
 * Everything is in memory, made from rows in the store: a start reads each row once; after that, only changed rows are read again.
 *
 * Work is queued as keys and done in bounded pieces, so that a thousand agents that report at once do not stop the node. Bounds: one waiting key for each child
 * and object; `rowsPerRun` of them in one turn. summary-index.ts knows which placements a row concerns.
 */

import { edgeGroup } from '../../../core/apiserver/kinds/edge-placement.ts';
import { entryKey } from '../../../core/entries/entry-keys.ts';
import { type PlacementId, placementId } from '../../../core/entries/placement-id.ts';
import type { Content } from '../../../core/feed/feed.ts';
import { hash128 } from '../../../core/object/hash.ts';
import type { ObjectKey } from '../../../core/object/key.ts';
import { CoalescedTask } from '../../../core/runtime/coalesced-task.ts';
import type { Reader, Transaction } from '../../../core/store/store.ts';
import { sampleHash } from '../../../core/summary/order.ts';
import type { Summarizer } from '../../../core/summary/summarizer.ts';
import type { UserPartial } from '../../../core/summary/user-partial.ts';
import { readUserPartial } from '../../../core/summary/user-partial-wire.ts';
import type { Placement } from '../../placements/placement.ts';
import { selectedObjects } from '../../placements/placements.ts';
import { CompiledSummarizers } from './compiled-summarizers.ts';
import { itemsOf, namesOf } from './placement-items.ts';
import { associatedRows, contentOf, type ReadRow, RowSource, rowNameOf } from './row-source.ts';
import type { Resolution, SummariesPorts } from './summaries-ports.ts';
import type { DirtyRow, Load, PlacementRows } from './summaries-state.ts';
import { SummaryIndex } from './summary-index.ts';
import type { LocationFacts } from './summary-rows.ts';
import { UserSummary } from './user-summary.ts';

/** Limit for the rows of one turn, about 20 ms. Then other work has its turn. */
const rowsPerRun = 500;
export const summarizerResource = { group: edgeGroup, resource: 'statussummarizers', namespace: '' } as const;

export class Summaries {
  readonly #ports: SummariesPorts;
  readonly #rows: RowSource;
  readonly #byPlacement = new Map<PlacementId, PlacementRows>();
  readonly #index = new SummaryIndex();
  readonly #summarizers: CompiledSummarizers;
  readonly #dirty = new Map<string, DirtyRow>();
  readonly #loads: Load[] = [];
  readonly #turn: CoalescedTask;

  constructor(ports: SummariesPorts) {
    this.#ports = ports;
    this.#turn = new CoalescedTask(
      (run) => ports.defer(run),
      () => this.#run(),
    );
    this.#summarizers = new CompiledSummarizers((reader, source, name) => ports.specOf(reader, source, name));
    this.#rows = new RowSource({
      ...ports,
      upsyncOf: (id) => this.#byPlacement.get(id)?.upsync ?? [],
      associatedOf: (id) => this.#byPlacement.get(id)?.associated ?? [],
    });
  }

  of(id: PlacementId): Resolution | undefined {
    return this.#byPlacement.get(id);
  }

  /** Undefined: the summary does not exist, or its rows are still being read. */
  summary(id: PlacementId, name: string): UserSummary | undefined {
    const summary = this.#byPlacement.get(id)?.summaries.get(name);
    return summary && summary.loading.size === 0 ? summary : undefined;
  }

  /** True while the rows of a summary are still being read. */
  isLoading(id: PlacementId, name: string): boolean {
    return (this.#byPlacement.get(id)?.summaries.get(name)?.loading.size ?? 0) > 0;
  }

  *all(): Generator<{ id: PlacementId; name: string }> {
    for (const [id, { summaries }] of this.#byPlacement) for (const name of summaries.keys()) yield { id, name };
  }

  stop(): void {
    this.#turn.stop();
  }

  // -------------------------------------------------------------------------------------------- what has changed

  /** Call it when the placement was added, changed or removed, or when it has other children. */
  placementChanged(id: PlacementId): void {
    this.#ports.store.read((reader) => this.#refresh(reader, id));
  }

  /** Call it when the placement itself has not changed, but these children were added to it or removed from it. */
  placementChangedWith(id: PlacementId, children: Iterable<string>): void {
    const placement = this.#ports.placements.get(id);
    const { summaries } = this.#byPlacement.get(id) ?? {};
    if (!placement || !summaries) return;
    for (const [name, summary] of summaries) {
      for (const child of children) {
        const [isChild, wasChild] = [placement.children.has(child), summary.hasChild(child)];
        if (isChild && !wasChild) this.#load(id, name, summary, child);
        if (isChild || !wasChild) continue;
        summary.deleteChild(child);
        this.#ports.changed(id, name);
      }
    }
  }

  /** Call it when a StatusSummarizer of a source was added, changed or removed. The summaries change after the commit. */
  summarizerChanged(t: Transaction, source: string, key: ObjectKey): void {
    if (key.group !== summarizerResource.group || key.resource !== summarizerResource.resource) return;
    t.afterCommit(() => {
      for (const id of [...this.#index.naming(source, key.name)]) this.placementChanged(id);
    });
  }

  /** Call it when the object that an agent gets may have changed. The last stage of the way down to agents calls it. */
  shipped(t: Transaction, { child, source, keyHash }: Omit<DirtyRow, 'shipped'>): void {
    if (this.#byPlacement.size > 0) t.afterCommit(() => this.#mark({ child, source, keyHash, shipped: true }));
  }

  /** Call it when an upsynced or associated object of an agent's cluster was added, changed or removed. */
  clusterObjectChanged(child: string, source: string, keyHash: Uint8Array): void {
    if (this.#byPlacement.size === 0 || this.#ports.children.get(child)?.role !== 'agent') return;
    this.#mark({ child, source, keyHash, shipped: true, fromCluster: true });
  }

  stateChanged(child: string, source: string, object: ObjectKey): void {
    if (this.#byPlacement.size === 0) return;
    this.#mark({ child, source, keyHash: hash128(entryKey.object(source, object)), shipped: false });
  }

  /** Call it when a relay has sent another partial. */
  partialChanged(child: string, id: PlacementId, name: string): void {
    const summary = this.#byPlacement.get(id)?.summaries.get(name);
    const placement = this.#ports.placements.get(id);
    if (!summary || !placement?.children.has(child) || this.#ports.children.get(child)?.role !== 'relay') return;
    this.#ports.store.read((reader) => this.#placeRelay(reader, id, name, summary, child));
    this.#ports.changed(id, name);
  }

  /** Call it when this node starts or stops counting the child. */
  recount(child: string): void {
    for (const [id, { summaries }] of this.#byPlacement) {
      if (!this.#ports.placements.get(id)?.children.has(child)) continue;
      for (const [name, summary] of summaries) this.#load(id, name, summary, child);
    }
  }

  /** Call it when the agent's place in the inventory may have changed. */
  placeChanged(child: string): void {
    for (const [id, { summaries, places }] of this.#byPlacement) {
      const placement = this.#ports.placements.get(id);
      const before = places.get(child);
      if (!before || !placement?.children.has(child)) continue;
      const place = this.#ports.placeOf(child, placement);
      if (place.text === before.text) continue;
      places.set(child, place);
      for (const [name, summary] of summaries) this.#load(id, name, summary, child);
    }
  }

  // ------------------------------------------------------------------------------------------------ which there are

  #refresh(reader: Reader, id: PlacementId): void {
    const placement = this.#ports.placements.get(id);
    const content = placement && this.#contentOf(reader, placement);
    const items = content ? itemsOf(content.body) : { downsync: [], upsync: [], associated: [] };
    const names = namesOf(items);
    const rows: PlacementRows = this.#byPlacement.get(id) ?? {
      content: '',
      names: [],
      upsync: [],
      associated: [],
      summaries: new Map(),
      unresolved: new Map(),
      places: new Map(),
    };
    const unresolvedBefore = [...rows.unresolved].join();
    this.#index.name(id, rows.names, names);
    rows.names = names;
    for (const name of rows.summaries.keys()) if (!names.includes(name)) this.#drop(rows.summaries, id, name);
    rows.unresolved.clear();
    if (!placement || !content || names.length === 0) {
      if (this.#byPlacement.delete(id)) this.#ports.resolved(id);
      return;
    }
    this.#byPlacement.set(id, rows);
    const hash = sampleHash(content.body);
    const edited = rows.content !== hash;
    rows.content = hash;
    rows.upsync = items.upsync;
    rows.associated = items.associated;
    // The placement may now reach an agent through another Location.
    if (edited) rows.places.clear();
    for (const name of names) {
      const summarizer = this.#summarizers.of(reader, placement.source, name);
      if (typeof summarizer !== 'string') {
        this.#keepOrMake(rows.summaries, placement, name, summarizer, edited);
        continue;
      }
      rows.unresolved.set(name, summarizer);
      this.#drop(rows.summaries, id, name);
    }
    if (edited || [...rows.unresolved].join() !== unresolvedBefore) this.#ports.resolved(id);
  }

  #drop(summaries: Map<string, UserSummary>, id: PlacementId, name: string): void {
    const summary = summaries.get(name);
    if (!summary) return;
    summary.clear();
    summaries.delete(name);
    this.#ports.changed(id, name);
  }

  /**
   * Keeps a summary with the same fingerprint, adds its new children and removes the children that it no longer has. If the fingerprint differs, makes a new
   * summary. Reads the rows of all children if the summary is new or the placement was edited.
   */
  #keepOrMake(
    summaries: Map<string, UserSummary>,
    placement: Placement,
    name: string,
    summarizer: Summarizer,
    edited: boolean,
  ): void {
    const former = summaries.get(name);
    const isSame = former?.summarizer.fingerprint === summarizer.fingerprint;
    const summary = isSame ? former : new UserSummary(summarizer, this.#index.rowsOf(placement.id));
    if (!isSame) former?.clear();
    let changed = summary !== former || summary.summarizer !== summarizer;
    summary.summarizer = summarizer;
    summaries.set(name, summary);
    const children = new Set(summary.children());
    for (const child of children) {
      if (placement.children.has(child)) continue;
      summary.deleteChild(child);
      changed = true;
    }
    for (const child of placement.children) {
      if (edited || !children.has(child)) this.#load(placement.id, name, summary, child);
    }
    if (changed) this.#ports.changed(placement.id, name);
  }

  #contentOf(reader: Reader, { id, source }: Placement): Content | undefined {
    return contentOf(reader, this.#ports.tableOf(source), hash128(entryKey.placement(id)));
  }

  // ----------------------------------------------------------------------------------------------------------- rows

  #load(id: PlacementId, name: string, summary: UserSummary, child: string): void {
    if (summary.loading.has(child)) return;
    summary.loading.add(child);
    this.#loads.push({ id, name, summary, child });
    this.#turn.ask();
  }

  #mark(row: DirtyRow): void {
    const key = `${row.child} ${row.source} ${rowNameOf(row.keyHash)}`;
    this.#dirty.set(key, { ...row, shipped: row.shipped || (this.#dirty.get(key)?.shipped ?? false) });
    this.#turn.ask();
  }

  #run(): void {
    try {
      this.#ports.store.read((reader) => this.#work(reader));
    } catch (error) {
      this.#ports.failed(error);
      return;
    }
    if (this.#loads.length > 0 || this.#dirty.size > 0) this.#turn.ask();
  }

  #work(reader: Reader): void {
    let rowsLeft = rowsPerRun;
    while (rowsLeft > 0 && this.#loads.length > 0) rowsLeft -= this.#loadOne(reader, this.#loads.pop()!);
    for (const [key, row] of this.#dirty) {
      if (rowsLeft-- <= 0) return;
      this.#dirty.delete(key);
      this.#evaluate(reader, row);
    }
  }

  /** Reads all rows of one child. Returns their number. */
  #loadOne(reader: Reader, { id, name, summary, child }: Load): number {
    const placement = this.#ports.placements.get(id);
    // Since the work was queued, the child or the summary may have been removed, or another summary may have got the name.
    if (!summary.loading.delete(child) || !placement?.children.has(child)) return 0;
    if (this.#byPlacement.get(id)?.summaries.get(name) !== summary) return 0;
    let rows = 1;
    if (this.#ports.children.get(child)?.role === 'relay') {
      this.#placeRelay(reader, id, name, summary, child);
    } else {
      for (const keyHash of [...selectedObjects(reader, id)]) {
        const row = { child, source: placement.source, keyHash, shipped: false };
        this.#setRow(row, this.#rows.object(reader, row), placement, name, summary);
        rows++;
      }
      for (const keyHash of this.#clusterRowsOf(reader, id, name, child)) {
        const row = { child, source: placement.source, keyHash, shipped: false, fromCluster: true } as const;
        this.#setRow(row, this.#rows.fromCluster(reader, row), placement, name, summary);
        rows++;
      }
    }
    if (summary.loading.size === 0) this.#ports.changed(id, name);
    return rows;
  }

  *#clusterRowsOf(reader: Reader, id: PlacementId, name: string, child: string): Generator<Uint8Array> {
    yield* this.#ports.upsyncedOf(reader, child);
    const items = this.#byPlacement.get(id)?.associated ?? [];
    const reported = items.some((item) => item.statusSummarizers?.includes(name)) && this.#ports.reportedOf(child);
    if (reported) yield* associatedRows(reader, reported);
  }

  /** Evaluates one object of one agent, in each summary that has a row of it or wants one. */
  #evaluate(reader: Reader, row: DirtyRow): void {
    const { child, source } = row;
    if (this.#ports.children.get(child)?.role !== 'agent') return;
    const read = row.fromCluster ? this.#rows.fromCluster(reader, row) : this.#rows.object(reader, row);
    const object = rowNameOf(row.keyHash);
    for (const id of this.#placementsOf(row, read)) {
      const placement = this.#ports.placements.get(id);
      const rows = this.#byPlacement.get(id);
      if (!rows || placement?.source !== source || !placement.children.has(child)) continue;
      for (const [name, summary] of rows.summaries) {
        if (!read?.isWanted(placement, name) && !summary.hasRow(child, object)) continue;
        this.#setRow(row, read, placement, name, summary);
        this.#ports.changed(id, name);
      }
    }
  }

  /**
   * Returns the placements that a changed row concerns. A new state concerns only the summaries that the row of the object names. Any other change may also
   * concern summaries that have a row of the object already.
   */
  #placementsOf({ source, keyHash, shipped }: DirtyRow, read: ReadRow | undefined): Iterable<PlacementId> {
    const wanting = read?.placements.map((name) => placementId(source, name)) ?? [];
    return read && !shipped ? wanting : new Set([...wanting, ...this.#index.withRowOf(rowNameOf(keyHash))]);
  }

  #setRow(row: DirtyRow, read: ReadRow | undefined, placement: Placement, name: string, summary: UserSummary): void {
    const heldBack = this.#ports.heldBack(placement.id, row.child);
    const partial =
      read?.isWanted(placement, name) && this.#ports.replicas.standing(row.child).counts
        ? summary.summarizer.evaluate(read.row(this.#place(row.child, placement), heldBack))
        : undefined;
    summary.setRow(row.child, rowNameOf(row.keyHash), partial);
  }

  #place(child: string, placement: Placement): LocationFacts {
    const places = this.#byPlacement.get(placement.id)?.places;
    const cached = places?.get(child);
    if (cached) return cached;
    const place = this.#ports.placeOf(child, placement);
    places?.set(child, place);
    return place;
  }

  #placeRelay(reader: Reader, id: PlacementId, name: string, summary: UserSummary, child: string): void {
    const { replicas, reportedOf } = this.#ports;
    const { counts, isFrozen, isMixed } = replicas.standing(child);
    if (isFrozen && summary.hasRelay(child)) return;
    const table = reportedOf(child);
    const content = table && contentOf(reader, table, hash128(entryKey.summary(id, name)));
    const partial = content && readUserPartial(content);
    const { fingerprint, empty } = summary.summarizer;
    const isOurs = partial !== undefined && partial.spec === fingerprint && sameShape(partial, empty);
    const isCounted = counts && !isMixed;
    summary.setRelay(child, isOurs && isCounted ? partial : undefined);
  }
}

/**
 * Returns whether the partials have the same form. A child may report the same fingerprint as this node with a content of another form; such a partial can't be
 * merged.
 */
function sameShape({ content: a }: UserPartial, { content: b }: UserPartial): boolean {
  if (a.form === 'selected' || b.form === 'selected') return a.form === b.form;
  return a.kinds.join() === b.kinds.join();
}
