/**
 * From a workload space to its source table: decides which placements select each object, and which other objects these objects need (needs.ts). The write hook
 * of the space marks changed objects dirty; this class processes them in bounded transactions.
 */

import {
  associatedLimitDefault,
  type DownsyncItem,
  type EdgePlacementSpec,
  placementResource,
} from '../../core/apiserver/kinds/edge-placement.ts';
import { mayTravel } from '../../core/apiserver/kinds/travelling.ts';
import type { Kinds } from '../../core/apiserver/space.ts';
import type { SpaceStorage, StorageEvent, StoredObject } from '../../core/apiserver/storage.ts';
import type {
  AuxiliaryAttributes,
  ObjectAttributes,
  PlacementAttributes,
  ReportRules,
} from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import { type PlacementId, placementId } from '../../core/entries/placement-id.ts';
import type { Content, FeedRow, Table } from '../../core/feed/feed.ts';
import { boundedSelectors, type DeliveryBounds, mayDeliver } from '../../core/match/delivery-bounds.ts';
import { boundedUpsync } from '../../core/match/upsync-bounds.ts';
import { parseBody, stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { formatKey, type GroupResource, type ObjectKey, parseKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { isTerminating } from '../../core/object/terminating.ts';
import { text } from '../../core/store/bytes.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import type { RevisionFacts } from '../history/revisions.ts';
import { noteCarriesOnce } from '../moves/carried-once.ts';
import { selectedObjects } from '../placements/placements.ts';
import { isCustomizer } from '../promoted/held-customizers.ts';
import { Baseline } from '../rollout/baseline.ts';
import { clearDirty, dirtyWork, markDirty } from '../work/dirty.ts';
import { isAuxiliary, isSummarizer, namedSummarizers, summarizerKey, usesOf } from './auxiliaries.ts';
import { isBookkeepingResource } from './bookkeeping.ts';
import { deletedUid, effectivePlacement } from './deleted-in-space.ts';
import { type Candidate, candidateOf } from './downsync.ts';
import { FormerObjects } from './former-objects.ts';
import { definitionObjects, Needs, namespaceObjects } from './needs.ts';
import { originAttributesOf, payloadOf } from './payload.ts';
import { moveOfPlacement, moveTarget } from './placement-targets.ts';
import { type Scope, type Selecting, type SelectingPlacement, SelectionIndex, scopesOf } from './selection-index.ts';
import { dropRow, putRow, type SourceRows } from './source-rows.ts';

export interface SelectionPorts extends SourceRows {
  /** `center.retail` */
  readonly source: string;
  readonly storage: SpaceStorage;
  readonly kinds: Kinds;
  wallMs(): number;
  /** `spec.delivery` of the Space as it is now. Undefined: there are no bounds. */
  bounds(): DeliveryBounds | undefined;
}

/** kubectl's own annotation for the reason of a change, which `kubectl rollout history` shows. */
const changeCauseAnnotation = 'kubernetes.io/change-cause';

/** Limit for the objects that one transaction processes. */
const objectsPerStep = 200;
/** After so many bytes of objects, a transaction processes no further object. To parse and to write again so much takes some 20 ms. */
const bytesPerStep = 512 * 1024;

export class PlacementSelection {
  readonly #ports: SelectionPorts;
  readonly #placements = new SelectionIndex();
  readonly #needs: Needs;
  readonly #former: FormerObjects;
  /** Facts about placements, for their next revisions. Kept for one step, because a step may change many objects of a placement. */
  readonly #facts = new Map<string, RevisionFacts | undefined>();
  /** Placements for which the present step has changed something. The target of each of them moves once in a step, however many objects have changed. */
  readonly #retargeted = new Set<string>();
  /** The bytes of the objects that the present step has read. */
  #readBytes = 0;
  readonly baseline: Baseline;

  constructor(ports: SelectionPorts) {
    this.#ports = ports;
    this.#former = new FormerObjects(ports.source);
    this.#needs = new Needs(ports.source, ports.kinds, (t, key, revision) =>
      markDirty(t, 'space', this.#workKey(key), [], revision),
    );
    this.baseline = new Baseline({
      source: ports.source,
      table: ports.table,
      put: (t, content, originRevision) => this.#putContent(t, content, originRevision),
      drop: (t, key, originRevision) => this.#drop(t, key, originRevision),
      wallMs: ports.wallMs,
      factsOf: (name) => this.#revisionFacts(name),
    });
    for (const { body } of ports.storage.scan(placementResource)) this.#learn(effectivePlacement(parseBody(body)));
  }

  /** The write hook of the space. Every write that may matter leaves a mark in its own transaction. */
  note(t: Transaction, event: StorageEvent): void {
    const { key, revision } = event.object;
    // Leases change every few seconds. They are work only if a placement names them.
    if (isBookkeepingResource(key) && !this.#placements.namesResource(key)) return;
    if (isPlacement(key) || isAuxiliary(key) || mayTravel(key)) markDirty(t, 'space', this.#workKey(key), [], revision);
    if (mayTravel(key)) this.#noteFormer(t, event);
  }

  /** The work that follows sees only the last state. So an object that is deleted and made anew in between is noted here. */
  #noteFormer(t: Transaction, { type, object }: StorageEvent): void {
    const { key, revision } = object;
    if (type === 'ADDED') this.#former.created(t, key);
    const uid = deletedUid(object, type === 'DELETED');
    if (uid === undefined) return;
    const { source, table } = this.#ports;
    const isSent = table.get(t, hash128(entryKey.object(source, key)))?.content !== undefined;
    this.#former.deleted(t, key, uid, revision, isSent);
  }

  /** Marks every object that the bounds of the space may concern. Call it in the transaction that changes the bounds. */
  boundsChanged(t: Transaction): void {
    const { storage } = this.#ports;
    for (const resource of storage.resources()) this.#markScope(t, resource, {}, storage.revision());
  }

  /** Does one bounded piece of work. Returns true if more work may be left. */
  step(t: Transaction): boolean {
    const { source, storage } = this.#ports;
    const prefix = `${source}/`;
    // Rows get the present revision of the space, because work is processed in the order of its keys, not of its revisions. If a row got an older revision than
    // its last form, or than its tombstone in a mailbox, the mailbox would ignore it as outdated.
    const revision = storage.revision();
    const work = dirtyWork(t, 'space', objectsPerStep, prefix);
    this.#retargeted.clear();
    this.#facts.clear();
    this.#readBytes = 0;
    for (const item of work) {
      if (this.#readBytes > bytesPerStep) break;
      clearDirty(t, 'space', item.key);
      const key = parseKey(item.key.slice(prefix.length));
      if (isPlacement(key)) this.#placement(t, key.name, revision);
      else if (isAuxiliary(key)) this.#auxiliary(t, key, revision);
      else this.#object(t, key, revision);
    }
    for (const placement of this.#retargeted) this.#targetMoved(t, placement, revision);
    return work.length > 0;
  }

  /** Returns the placements that select the object now, with the items that select it: for `banyan why` and for tests. */
  explain(key: ObjectKey): SelectingPlacement[] {
    const stored = this.#ports.storage.get(key);
    return stored ? this.#selecting(key, parseBody(stored.body)) : [];
  }

  /** The number of checks of a placement against an object, since the start. */
  get asked(): number {
    return this.#placements.asked;
  }

  // ------------------------------------------------------------------------------------------------ placements

  #placement(t: Transaction, name: string, revision: number): void {
    const { source, storage } = this.#ports;
    const id = placementId(source, name);
    const stored = this.#read({ ...placementResource, namespace: '', name });
    if (!stored) {
      this.#placements.delete(name);
      this.#markSummarizers(t, this.#scheduled(t, id), revision);
      for (const keyHash of [...selectedObjects(t, id)]) this.#markByHash(t, keyHash, revision);
      for (const key of [entryKey.placement(id), entryKey.rules(id), entryKey.target(id)]) this.#drop(t, key, revision);
      this.baseline.gone(t, name, revision);
      return;
    }
    const bounds = this.#ports.bounds();
    const object = boundedPlacement(effectivePlacement(parseBody(stored.body)), bounds);
    const after = this.#learn(object);
    const scheduled = this.#scheduled(t, id);
    const before = scheduled && itemsOf(scheduled);
    const move = moveOfPlacement(t, source, object);
    const attributes: PlacementAttributes = {
      ...originAttributesOf(object),
      ...(move ? { move } : {}),
      ...(bounds ? { delivery: bounds } : {}),
    };
    const changed = this.#put(t, entryKey.placement(id), attributes, payloadOf(object), revision);
    if (!changed) return;
    this.baseline.placementChanged(t, name, revision);
    this.#rules(t, id, object, revision);
    for (const form of [scheduled, object]) this.#markSummarizers(t, form, revision);
    this.#retargeted.add(name);
    if (before && stableStringify(before) === stableStringify(after.items)) return;
    for (const keyHash of [...selectedObjects(t, id)]) this.#markByHash(t, keyHash, revision);
    for (const resource of storage.resources()) {
      for (const scope of scopesOf(after.items, resource)) this.#markScope(t, resource, scope, revision);
    }
  }

  /** The rules have their own row, because agents need them and do not get the placement. The row does not change with every target. */
  #rules(t: Transaction, id: PlacementId, object: KubeObject, revision: number): void {
    const { associated = [], upsync = [] } = object.spec as Partial<EdgePlacementSpec>;
    const limited = associated.map((item) => ({ limit: associatedLimitDefault, ...item }));
    const rules: ReportRules = { associated: limited, upsync };
    if (associated.length + upsync.length === 0) this.#drop(t, entryKey.rules(id), revision);
    else this.#put(t, entryKey.rules(id), {}, text(stableStringify(rules)), revision);
  }

  /**
   * Reads the placement from its row. The row was committed together with the marks that its items caused. After a start, the placement in memory may be newer
   * than its row, because its change is not processed yet.
   */
  #scheduled(reader: Reader, id: PlacementId): KubeObject | undefined {
    const { table } = this.#ports;
    const row = table.get(reader, hash128(entryKey.placement(id)));
    return row?.content && parseBody(table.content(reader, row.content).body);
  }

  /** A StatusSummarizer that a placement names travels even if no object uses it. */
  #markSummarizers(t: Transaction, placement: KubeObject | undefined, revision: number): void {
    for (const name of placement ? namedSummarizers(placement.spec as EdgePlacementSpec) : []) {
      markDirty(t, 'space', this.#workKey(summarizerKey(name)), [], revision);
    }
  }

  #learn(object: KubeObject): Selecting {
    const name = object.metadata.name!;
    const items = itemsOf(object);
    const selecting = { name, items, namedSummarizers: namedSummarizers(object.spec as EdgePlacementSpec) };
    this.#placements.set(selecting);
    this.baseline.learn(object);
    return selecting;
  }

  #markByHash(t: Transaction, keyHash: Uint8Array, revision: number): void {
    const { table } = this.#ports;
    const row = table.get(t, keyHash);
    if (!row?.content) return;
    const entry = parseEntryKey(table.content(t, row.content).key);
    if (entry?.type !== 'object' && entry?.type !== 'auxiliary') return;
    markDirty(t, 'space', this.#workKey(entry.object), [], revision);
  }

  // --------------------------------------------------------------------------------------------------- objects

  #object(t: Transaction, key: ObjectKey, revision: number): void {
    const { source, table } = this.#ports;
    const rowKey = entryKey.object(source, key);
    const row = table.get(t, hash128(rowKey));
    const promoted = { ...contentIn(t, table, row), originRevision: row?.originRevision ?? 0 };
    const before = promoted.content ? attributesOf<{ refs: string[] }>(promoted.content).refs : [];
    const stored = this.#read(key);
    const object = stored && parseBody(stored.body);
    const selecting = object ? this.#selecting(key, object) : [];
    const direct = selecting.map((one) => one.placement);
    this.#needs.count(t, key, object, selecting, revision);
    for (const name of noteCarriesOnce(t, source, key, object, direct)) {
      markDirty(t, 'space', this.#workKey({ ...placementResource, namespace: '', name }), [], revision);
    }
    const refs = [...new Set([...direct, ...(object ? this.#implied(t, key) : [])])].sort();
    if (this.#isNamespace(key) && this.#placements.readsNamespaceLabels) {
      this.#markNamespace(t, key.name, revision);
    }
    if (object && refs.length > 0) {
      const former = this.#former.of(t, key);
      const implied = refs.filter((name) => !direct.includes(name));
      const createOnly = selecting.filter(({ items }) => items.every((item) => item.createOnly));
      const named = selecting.filter(({ items }) =>
        items.some(({ objectNames = [] }) => objectNames.includes(key.name)),
      );
      const attributes: ObjectAttributes = {
        ...originAttributesOf(object),
        refs,
        ...(former.length > 0 ? { former } : {}),
        ...(implied.length > 0 ? { implied } : {}),
        ...(createOnly.length > 0 ? { createOnly: createOnly.map(({ placement }) => placement).sort() } : {}),
        ...(named.length > 0 ? { named: named.map(({ placement }) => placement).sort() } : {}),
        ...usesOf(key, object, selecting),
      };
      if (!this.#put(t, rowKey, attributes, payloadOf(object), revision)) return;
    } else if (!this.#drop(t, rowKey, revision)) {
      return;
    }
    const { content: after } = contentIn(t, table, table.get(t, hash128(rowKey)));
    this.baseline.objectChanged(t, key, promoted, after, revision);
    for (const name of [...before, ...refs]) this.#retargeted.add(name);
  }

  /**
   * Writes the row of a Customizer or StatusSummarizer, for the relays where something uses it. With it, agents get new content, so the targets of its
   * placements move.
   */
  #auxiliary(t: Transaction, key: ObjectKey, revision: number): void {
    const { source, table } = this.#ports;
    const rowKey = entryKey.auxiliary(source, key);
    const stored = this.#read(key);
    const object = stored && parseBody(stored.body);
    const row = table.get(t, hash128(rowKey));
    const before = { ...contentIn(t, table, row), originRevision: row?.originRevision ?? 0 };
    const formerRefs = before.content ? attributesOf<AuxiliaryAttributes>(before.content).refs : [];
    const refs = object ? this.#implied(t, key).sort() : [];
    let changed: boolean;
    if (object && refs.length > 0) {
      const attributes: AuxiliaryAttributes = { ...originAttributesOf(object), refs };
      changed = this.#put(t, rowKey, attributes, payloadOf(object), revision);
    } else {
      changed = this.#drop(t, rowKey, revision);
    }
    if (!changed) return;
    const { content: after } = contentIn(t, table, table.get(t, hash128(rowKey)));
    if (isCustomizer(key)) this.baseline.customizerChanged(t, key, before, after, revision);
    for (const name of [...formerRefs, ...refs]) this.#retargeted.add(name);
  }

  /** A deleted object that waits for its finalizers is selected by nothing. Others may still need it: objects are in a Namespace until the last one is gone. */
  #selecting(key: ObjectKey, object: KubeObject): SelectingPlacement[] {
    if (!mayTravel(key) || isTerminating(object) || !mayDeliver(this.#ports.bounds(), key)) return [];
    return this.#placements.selecting(this.#candidate(key, object));
  }

  #candidate(key: ObjectKey, object: KubeObject): Candidate {
    if (key.namespace === '' || !this.#placements.readsNamespaceLabels) return candidateOf(key, object, undefined);
    const namespace = this.#ports.storage.get({ ...namespaceObjects, name: key.namespace });
    return candidateOf(key, object, namespace ? (parseBody(namespace.body).metadata.labels ?? {}) : {});
  }

  #markNamespace(t: Transaction, namespace: string, revision: number): void {
    for (const resource of this.#ports.storage.resources()) this.#markScope(t, resource, { namespace }, revision);
  }

  #markScope(t: Transaction, resource: GroupResource, { namespace, name }: Scope, revision: number): void {
    const { storage } = this.#ports;
    if (namespace !== undefined && name !== undefined) {
      const key = { ...resource, namespace, name };
      if (mayTravel(key)) markDirty(t, 'space', this.#workKey(key), [], revision);
      return;
    }
    for (const { key } of storage.scan(resource, namespace === undefined ? {} : { namespace })) {
      if (mayTravel(key)) markDirty(t, 'space', this.#workKey(key), [], revision);
    }
  }

  #implied(t: Transaction, key: ObjectKey): string[] {
    if (!this.#isNamespace(key) && !isAuxiliary(key) && key.resource !== definitionObjects.resource) return [];
    // Customizers and StatusSummarizers go to no cluster.
    if (!isAuxiliary(key) && !mayDeliver(this.#ports.bounds(), key)) return [];
    const named = isSummarizer(key) ? this.#placements.naming(key.name) : [];
    return [...new Set([...this.#needs.neededBy(t, key), ...named])];
  }

  #isNamespace(key: ObjectKey): boolean {
    return key.group === '' && key.resource === 'namespaces';
  }

  // ------------------------------------------------------------------------------------------------------ rows

  #targetMoved(t: Transaction, placement: string, revision: number): void {
    const target = moveTarget(t, this.#ports, placement, revision);
    if (target !== undefined) this.baseline.targetMoved(t, placement, target);
  }

  /** Reads the placement from the space: its own work may come later in this step than that of its objects. */
  #revisionFacts(name: string): RevisionFacts | undefined {
    if (!this.#facts.has(name)) {
      const stored = this.#ports.storage.get({ ...placementResource, namespace: '', name });
      this.#facts.set(name, stored && revisionFacts(parseBody(stored.body)));
    }
    return this.#facts.get(name);
  }

  #put(t: Transaction, key: string, attributes: object, body: Uint8Array, originRevision: number): boolean {
    return this.#putContent(t, { key, attributes: text(stableStringify(attributes)), body }, originRevision);
  }

  #putContent(t: Transaction, after: Content, originRevision: number): boolean {
    return putRow(t, this.#ports, after, originRevision);
  }

  #drop(t: Transaction, key: string, originRevision: number): boolean {
    return dropRow(t, this.#ports, key, originRevision);
  }

  #read(key: ObjectKey): StoredObject | undefined {
    const stored = this.#ports.storage.get(key);
    this.#readBytes += stored?.body.length ?? 0;
    return stored;
  }

  #workKey(key: ObjectKey): string {
    return `${this.#ports.source}/${formatKey(key)}`;
  }
}

function contentIn(reader: Reader, table: Table, row: FeedRow | undefined): { content?: Content } {
  return row?.content ? { content: table.content(reader, row.content) } : {};
}

function revisionFacts({ metadata }: KubeObject): RevisionFacts {
  const { uid = '', generation = 0, annotations = {} } = metadata;
  const cause = annotations[changeCauseAnnotation];
  return { uid, generation, ...(cause === undefined ? {} : { cause }) };
}

/**
 * The placement as it may leave the space. Its row has the narrowed form, so that relays of every version follow it. A placement that asks for more than the
 * bounds was written before they were, because the space refuses such writes.
 */
function boundedPlacement(placement: KubeObject, bounds: DeliveryBounds | undefined): KubeObject {
  if (!bounds) return placement;
  const {
    locationSelectors = [],
    locationExpression,
    upsync,
    ...spec
  } = (placement.spec ?? {}) as Partial<EdgePlacementSpec>;
  const expression = locationExpression === undefined ? {} : { locationExpression };
  const selectors = boundedSelectors(locationSelectors, locationExpression !== undefined, bounds);
  return {
    ...placement,
    spec: {
      ...spec,
      ...expression,
      locationSelectors: selectors,
      ...(upsync ? { upsync: boundedUpsync(upsync, bounds) } : {}),
    },
  };
}

function itemsOf(placement: KubeObject): readonly DownsyncItem[] {
  return (placement.spec as { downsync?: DownsyncItem[] } | undefined)?.downsync ?? [];
}

function isPlacement(key: ObjectKey): boolean {
  return key.group === placementResource.group && key.resource === placementResource.resource;
}
