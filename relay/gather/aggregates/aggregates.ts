/**
 * The status partials of all objects that placements of this node select: for each object a segment tree over the children. Everything is in memory, made from
 * rows in the store. A start reads each row once; after that, a change of one object at one child costs log2(children) merges.
 *
 * Work is queued as keys and done in bounded pieces. Bounds: one waiting key for each object, with the names of the changed children; `childrenPerRun` children
 * in one turn. Memory: one partial for each object and child, mostly shared (child-state.ts); it does not grow with the tree below the children.
 */

import type { ObjectAttributes } from '../../../core/entries/down-attributes.ts';
import { attributesOf, entryKey, parseEntryKey } from '../../../core/entries/entry-keys.ts';
import { type PlacementId, placementId } from '../../../core/entries/placement-id.ts';
import type { Table } from '../../../core/feed/feed.ts';
import { hash128 } from '../../../core/object/hash.ts';
import { formatKey, type ObjectKey } from '../../../core/object/key.ts';
import type { Clock, Timer } from '../../../core/runtime/clock.ts';
import { CoalescedTask } from '../../../core/runtime/coalesced-task.ts';
import type { Reader, Store } from '../../../core/store/store.ts';
import { SegmentTree } from '../../../core/summary/segment-tree.ts';
import { mergeStatusPartials, type StatusPartial } from '../../../core/summary/status-partial.ts';
import { rulesOf } from '../../../core/summary/status-rules.ts';
import type { Placement } from '../../placements/placement.ts';
import { type Placements, selectedObjects } from '../../placements/placements.ts';
import type { Replicas } from '../../replicas/replicas.ts';
import type { OutgoingStage } from '../../schedule/outgoing.ts';
import { type ChildStatePorts, ChildStates, type ObjectForm } from './child-state.ts';
import { mayHaveStatus } from './may-have-status.ts';

export interface AggregatesPorts extends ChildStatePorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly placements: Placements;
  readonly replicas: Replicas;
  /** Returns the children that add destinations to the placement, also those that still wait for their copy in a move. */
  childrenOf(reader: Reader, id: PlacementId): Iterable<string>;
  tableOf(source: string): Table | undefined;
  /** Runs the function in a later turn, after the work that already waits. */
  defer(run: () => void): void;
  /** Called when the aggregate of the object may have changed, or may have ended. `isExact`: a person follows this object. */
  changed(source: string, object: ObjectKey, isExact: boolean): void;
  failed(error: unknown): void;
}

/** One object, with the placements that want its state. */
export interface Aggregate extends ObjectForm {
  readonly placements: readonly PlacementId[];
  /** All placements want the status of one destination, or nothing. */
  readonly isExact: boolean;
  readonly tree: SegmentTree<StatusPartial>;
}

interface DirtyObject {
  readonly source: string;
  readonly keyHash: Uint8Array;
  /** The children whose part may have changed. The set is empty if only the row of the object may have changed. */
  readonly children: Set<string>;
}

/** The state of a placement when this class looked at it last. */
interface SeenPlacement {
  readonly wanted: string;
  readonly children: ReadonlySet<string>;
}

/** Limit for the children of one turn, about 10 ms. One object takes one turn, also if it has more children. */
const childrenPerRun = 500;
/**
 * Time after a start in which the children connect again. Without this wait, every start would write each status twice: first that all destinations are not
 * connected, then what they report.
 */
const settleMs = 2_000;

export class Aggregates {
  readonly #ports: AggregatesPorts;
  readonly #states: ChildStates;
  readonly #byObject = new Map<string, Aggregate>();
  /** Objects about which an earlier run of the process wrote or reported something, until their first turn. */
  readonly #reportedBefore = new Map<string, ObjectKey>();
  readonly #seen = new Map<PlacementId, SeenPlacement>();
  readonly #dirty = new Map<string, DirtyObject>();
  readonly #turn: CoalescedTask;
  #timer: Timer | undefined;
  #isSettled = false;
  /** The last stage of the way down to agents. It changes no object: it only notes which objects are shipped. */
  readonly stage: OutgoingStage = {
    outgoing: (t, { child, source, keyHash }, what) => {
      if (this.#byObject.has(idOf(source, keyHash))) t.afterCommit(() => this.#mark(source, keyHash, [child.name]));
      return what;
    },
  };

  constructor(ports: AggregatesPorts) {
    this.#ports = ports;
    this.#states = new ChildStates(ports);
    this.#turn = new CoalescedTask(
      (run) => ports.defer(run),
      () => this.#run(),
    );
  }

  /** Call it when all placements are known. `reported`: objects about which an earlier run of the process wrote or reported something. */
  start(reported: Iterable<{ readonly source: string; readonly object: ObjectKey }>): void {
    for (const { id } of this.#ports.placements.all()) this.placementChanged(id);
    for (const { source, object } of reported) {
      const keyHash = rowHash(source, object);
      this.#reportedBefore.set(idOf(source, keyHash), object);
      this.#mark(source, keyHash, []);
    }
    this.#timer = this.#ports.clock.after(settleMs, () => {
      this.#isSettled = true;
      this.#turn.ask();
    });
  }

  stop(): void {
    this.#timer?.stop();
    this.#turn.stop();
  }

  get(source: string, object: ObjectKey): Aggregate | undefined {
    return this.#byObject.get(idOf(source, rowHash(source, object)));
  }

  /** Returns the partial of all children. Undefined: there is no destination. */
  total(reader: Reader, { tree, placements, ...form }: Aggregate): StatusPartial | undefined {
    const total = tree.total();
    if (!total || tree.size > 1) return total;
    const [child] = tree.keys();
    const only = this.#states.only(reader, form, placements, child!);
    const { only: _reported, ...rest } = total;
    return only ? { ...rest, only } : rest;
  }

  // -------------------------------------------------------------------------------------------- what has changed

  /** Call it when the placement was added, changed or removed, or when it has other children. */
  placementChanged(id: PlacementId): void {
    const placement = this.#ports.placements.get(id);
    const before = this.#seen.get(id);
    const wanted = placement?.target ? (placement.target.reportedState ?? 'Aggregate') : 'unknown';
    const children = new Set(placement?.children);
    if (placement) this.#seen.set(id, { wanted, children });
    else this.#seen.delete(id);
    const changed = [...children].filter((child) => !before?.children.has(child));
    for (const child of before?.children ?? []) if (!children.has(child)) changed.push(child);
    if (changed.length > 0 || wanted !== before?.wanted) this.#markObjects(id, changed);
  }

  /** Call it when these children may have been added to the placement or removed from it, or when they add other numbers of destinations to it. */
  placementChangedWith(id: PlacementId, children: Iterable<string>): void {
    const placement = this.#ports.placements.get(id);
    const seen = this.#seen.get(id);
    if (placement && seen) this.#seen.set(id, { ...seen, children: new Set(placement.children) });
    this.#markObjects(id, [...children]);
  }

  /** Call it when the session of the child began or ended, or when this node starts or stops counting the child. */
  childChanged(child: string): void {
    for (const id of this.#ports.placements.ofChild(child)) this.#markObjects(id, [child]);
  }

  /** Call it when the child has reported another state of the object. */
  reported(child: string, source: string, object: ObjectKey): void {
    const keyHash = rowHash(source, object);
    if (this.#byObject.has(idOf(source, keyHash))) this.#mark(source, keyHash, [child]);
  }

  /** Call it when the row of an object in its source has changed. `key`: the entry key of the row. */
  rowChanged(key: string): void {
    const entry = parseEntryKey(key);
    if (entry?.type === 'object' && mayHaveStatus(entry.object)) this.#mark(entry.source, hash128(key), []);
  }

  #markObjects(id: PlacementId, children: readonly string[]): void {
    const source = id.slice(0, id.lastIndexOf('/'));
    const hashes = this.#ports.store.read((reader) => [...selectedObjects(reader, id)]);
    for (const keyHash of hashes) this.#mark(source, keyHash, children);
  }

  #mark(source: string, keyHash: Uint8Array, children: readonly string[]): void {
    const key = idOf(source, keyHash);
    const dirty = this.#dirty.get(key);
    if (dirty) for (const child of children) dirty.children.add(child);
    else this.#dirty.set(key, { source, keyHash, children: new Set(children) });
    if (this.#isSettled) this.#turn.ask();
  }

  // ------------------------------------------------------------------------------------------------------- turns

  #run(): void {
    try {
      this.#ports.store.read((reader) => {
        let left = childrenPerRun;
        for (const [key, dirty] of this.#dirty) {
          if (left <= 0) break;
          this.#dirty.delete(key);
          left -= 1 + this.#evaluate(reader, key, dirty);
        }
      });
    } catch (error) {
      this.#ports.failed(error);
      return;
    }
    if (this.#dirty.size > 0) this.#turn.ask();
  }

  /** Returns the number of children that it read. */
  #evaluate(reader: Reader, key: string, { source, keyHash, children }: DirtyObject): number {
    const before = this.#byObject.get(key);
    const after = this.#aggregateOf(reader, source, keyHash, before);
    const former = before?.object ?? this.#reportedBefore.get(key);
    this.#reportedBefore.delete(key);
    if (!after) {
      this.#byObject.delete(key);
      if (former) this.#ports.changed(source, former, before?.isExact ?? false);
      return 0;
    }
    this.#byObject.set(key, after);
    const isSame = before !== undefined && sameForm(before, after);
    const changed = isSame ? children : this.#childrenOf(reader, after);
    for (const child of changed) this.#place(reader, after, child);
    if (!isSame || changed.size > 0) this.#ports.changed(source, after.object, after.isExact);
    return changed.size;
  }

  #aggregateOf(
    reader: Reader,
    source: string,
    keyHash: Uint8Array,
    before: Aggregate | undefined,
  ): Aggregate | undefined {
    const table = this.#ports.tableOf(source);
    const row = table?.get(reader, keyHash);
    const content = row?.content && table?.content(reader, row.content);
    const entry = content && parseEntryKey(content.key);
    if (entry?.type !== 'object' || !mayHaveStatus(entry.object)) return undefined;
    const { refs, uid, generation } = attributesOf<ObjectAttributes>(content!);
    const wanting = this.#wanting(source, refs);
    if (wanting.length === 0) return undefined;
    const rules = before?.rules ?? rulesOf(entry.object);
    const merge = (a: StatusPartial, b: StatusPartial) => mergeStatusPartials(rules, a, b);
    return {
      source,
      object: entry.object,
      keyHash,
      rules,
      uid,
      generation,
      placements: wanting.map(({ id }) => id),
      isExact: wanting.every(({ target }) => target?.reportedState === 'Exact'),
      tree: before?.tree ?? new SegmentTree<StatusPartial>(merge),
    };
  }

  /** Of the placements that select the object, those that want its state. A placement whose target has not arrived yet is looked at again later. */
  #wanting(source: string, refs: readonly string[]): Placement[] {
    return refs.flatMap((name) => {
      const placement = this.#ports.placements.get(placementId(source, name));
      return placement?.target && placement.target.reportedState !== 'None' ? [placement] : [];
    });
  }

  #childrenOf(reader: Reader, { placements, tree }: Aggregate): ReadonlySet<string> {
    return new Set([...placements.flatMap((id) => [...this.#ports.childrenOf(reader, id)]), ...tree.keys()]);
  }

  #place(reader: Reader, { tree, placements, ...form }: Aggregate, child: string): void {
    const { counts, isFrozen, isMixed } = this.#ports.replicas.standing(child);
    // The part of a frozen child stays only while the child has the placement: no later event would remove the part.
    const isKept = () => tree.get(child) && placements.some((id) => this.#ports.counts(reader, id, child));
    if (isFrozen && isKept()) return;
    const partial = counts && !isMixed ? this.#states.partial(reader, form, placements, child) : undefined;
    if (partial) tree.set(child, partial);
    else tree.delete(child);
  }
}

/** The object has the same identity and generation, and the same placements want its state in the same way. Then the parts of the children stay as they are. */
function sameForm(a: Aggregate, b: Aggregate): boolean {
  const isSameObject = a.uid === b.uid && a.generation === b.generation;
  return isSameObject && a.isExact === b.isExact && a.placements.join() === b.placements.join();
}

function rowHash(source: string, object: ObjectKey): Uint8Array {
  return hash128(entryKey.object(source, object));
}

function idOf(source: string, keyHash: Uint8Array): string {
  return `${source} ${Buffer.from(keyHash).toString('latin1')}`;
}

/** The name of an object for reporters: its source, a blank, and its key. */
export function aggregateName(source: string, object: ObjectKey): string {
  return `${source} ${formatKey(object)}`;
}
