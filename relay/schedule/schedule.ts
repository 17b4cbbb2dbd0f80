/**
 * From sources to mailboxes: which rows each child gets. Works off dirty keys in bounded transactions; the work is
 * proportional to what changed times the children that it concerns.
 *
 * Order is the promise. Objects come before placements: an object that lost a placement is taken from that placement's children while they
 * are still known, and a placement that goes takes only what no other one wants. Targets come last: a placement's target row is put only when
 * no object is left to do, so that whoever has acknowledged the target has stored every object that it covers.
 */
import type { AppliedChange, Content, Producer, Table } from '../../core/feed/feed.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import type { LabelSelector } from '../../core/object/selector.ts';
import { isStaged, type RolloutSpec } from '../../core/rollout/spec.ts';
import { asText, text } from '../../core/store/bytes.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import {
  type EntryKey,
  grantKey,
  objectKey,
  type PlacementAttributes,
  type PlacementId,
  parseEntryKey,
  placementId,
  placementKey,
  type RefsAttributes,
  rulesKey,
  splitPlacementId,
  type TargetAttributes,
  targetKey,
} from '../../core/wire/entries.ts';
import { noteDigest } from '../rollout/digest.ts';
import { heldObjects, noteHeld } from '../rollout/held-back.ts';
import { type Child, matchChild } from './children.ts';
import { clearDirty, dirtyWork, markDirty, type Work, type WorkClass } from './dirty.ts';
import { type Outgoing, type OutgoingStage, shipmentKey, throughStages } from './outgoing.ts';
import {
  forgetMatched,
  forgetPlacement,
  forgetSelected,
  matchedChildren,
  type Placement,
  type Placements,
  selectedObjects,
  storedPlacements,
  storeMatched,
  storePlacement,
  storeSelected,
} from './placements.ts';
import { changedKeys } from './route-keys.ts';

export interface SchedulePorts {
  /** The table that holds a source's rows: one of the node's own spaces, or what comes from above. */
  tableOf(source: string): Table | undefined;
  mailboxOf(child: string): Producer | undefined;
  readonly children: ReadonlyMap<string, Child>;
  readonly placements: Placements;
  readonly passage: Passage;
  /** What decides what an agent gets for an object, in this order. */
  readonly stages: readonly OutgoingStage[];
  /** Reads a child anew from the inventory or its report, into `children`; false when it is gone for good. */
  refreshChild(t: Transaction, name: string): boolean;
  /** A Customizer or StatusSummarizer of a source has come, changed or gone; its users may be marked dirty. */
  auxiliaryChanged(t: Transaction, source: string, key: ObjectKey): void;
  readonly releases: Releases;
}

/** What holds back the releases of placements: relay/rollout/exposure.ts. */
export interface Releases {
  /** True if children may stand elsewhere in the release now. */
  rowChanged(t: Transaction, entry: EntryKey & { readonly type: 'promoted' | 'release' }): boolean;
  /** What was kept back and need not be any more is work again; true if there is some. */
  release(t: Transaction): boolean;
  /** Returns the keys of rows that were kept back from the placement's children. */
  detached(t: Transaction, id: PlacementId, child: string): readonly string[];
  /** What an agent's reports are to be exact for; undefined: what it was told stays. */
  targetFor(
    t: Transaction,
    placement: Placement,
    child: string,
    target: TargetAttributes,
  ): TargetAttributes | undefined;
}

/** Asked again whenever the placement or the child is dirty; what may not happen yet leaves the child as it is. */
export interface Passage {
  /** A child that matches now and has nothing of the placement yet may have it. */
  mayAttach(t: Transaction, placement: Placement, child: Child): boolean;
  /** A child that does not match any more may lose it; `placement` is absent when it is gone itself. */
  mayDetach(t: Transaction, id: PlacementId, child: string, placement: Placement | undefined): boolean;
  /** What is known of a child, or what a placement says, has changed: `work` may be marked dirty. */
  childChanged?(t: Transaction, child: string): void;
  placementChanged?(t: Transaction, id: PlacementId): void;
  /** Looks again at what has been kept back of a placement; the children whose mailbox has new rows. */
  work?(t: Transaction, id: PlacementId): readonly string[];
}

export interface Step {
  readonly more: boolean;
  /** Something was looked at: other rows than those of mailboxes may have changed too. */
  readonly worked: boolean;
  /** Children whose mailbox has new rows. */
  readonly touched: ReadonlySet<string>;
  /** Placements of which the children, the target or the existence changed. */
  readonly changed: ReadonlySet<PlacementId>;
}

/** Rows put or removed in one transaction before others get their turn: some 10 ms of LMDB on one core. */
const rowsPerStep = 2_000;
/** Dirty keys read at once; a bound on memory, not on progress. */
const workPerStep = 500;

export class Scheduler {
  readonly #ports: SchedulePorts;
  #rows = 0;
  #worked = false;
  #touched = new Set<string>();
  #changed = new Set<PlacementId>();
  /** As the placements were last matched with them; missing after a start, and then all placements are looked at. */
  readonly #matchedWith = new Map<string, Child>();
  /** By child: placements that it should get or lose, and may not yet. */
  readonly #waiting = new Map<string, Set<PlacementId>>();
  /** Placements looked at for a child that changed, since the start. */
  lookedAt = 0;

  constructor(ports: SchedulePorts) {
    this.#ports = ports;
  }

  /** Fills the placements from the store: at start, and after a transaction failed under a step. */
  load(reader: Reader): void {
    this.#matchedWith.clear();
    for (const id of storedPlacements(reader)) {
      const children = new Set(matchedChildren(reader, id));
      // One that is gone and not worked off yet still says which children have the objects that it has lost meanwhile.
      const gone = { id, ...splitPlacementId(id), locationSelectors: [], children };
      this.#ports.placements.set(this.#read(reader, id, children) ?? gone);
    }
  }

  /** One bounded piece of work, in the caller's transaction. */
  step(t: Transaction): Step {
    this.#rows = 0;
    this.#worked = false;
    this.#touched = new Set();
    this.#changed = new Set();
    for (const stage of this.#ports.stages) stage.begin?.();
    const done =
      this.#each(t, 'child', (work) => this.#child(t, work.key)) &&
      this.#each(t, 'auxiliary', (work) => this.#auxiliary(t, work)) &&
      this.#each(t, 'row', (work) => this.#row(t, work)) &&
      this.#each(t, 'placement', (work) => this.#placement(t, work.key)) &&
      this.#each(t, 'move', (work) => this.#move(t, work.key)) &&
      !this.#ports.releases.release(t) &&
      this.#each(t, 'match', (work) => this.#match(t, work.key)) &&
      this.#each(t, 'exposure', (work) => this.#exposure(t, work.key)) &&
      this.#each(t, 'shipment', (work) => this.#shipment(t, work.key)) &&
      this.#each(t, 'target', (work) => this.#target(t, work.key));
    // What was matched may have begun to move.
    const more = !done || dirtyWork(t, 'move', 1).length > 0;
    return { more, worked: this.#worked, touched: this.#touched, changed: this.#changed };
  }

  /** True when the class is empty afterwards. A piece of work that returns false stays dirty for the next step. */
  #each(t: Transaction, in_: Exclude<WorkClass, 'space'>, act: (work: Work) => boolean): boolean {
    const work = dirtyWork(t, in_, workPerStep);
    for (const item of work) {
      if (this.#rows >= rowsPerStep) return false;
      // Also a piece of work that is not done yet may have touched mailboxes.
      this.#worked = true;
      if (!act(item)) return false;
      clearDirty(t, in_, item.key);
    }
    return work.length < workPerStep;
  }

  // ------------------------------------------------------------------------------------------------- children

  /** Only placements that name what changed are looked at, and of these only those whose answer changed are touched. */
  #child(t: Transaction, name: string): boolean {
    const { children } = this.#ports;
    const known = children.get(name);
    const stays = this.#ports.refreshChild(t, name);
    const child = stays ? children.get(name) : undefined;
    for (const placement of this.#concerned(name, child)) {
      this.lookedAt++;
      const had = placement.children.has(name);
      const has = child !== undefined && matchChild(placement, child).matches;
      if (had !== has) markDirty(t, 'match', `${placement.id} ${name}`);
      // An expression may fail otherwise than before where it does not match, which its author reads.
      if (had || has || placement.locationExpression !== undefined) this.#changed.add(placement.id);
    }
    this.#ports.passage.childChanged?.(t, name);
    if (child) this.#matchedWith.set(name, child);
    else this.#matchedWith.delete(name);
    if (known === undefined && child?.role === 'relay') this.#touched.add(name);
    return true;
  }

  #concerned(name: string, child: Child | undefined): Iterable<Placement> {
    const { placements } = this.#ports;
    const keys = changedKeys(this.#matchedWith.get(name), child);
    const waiting = this.#waiting.get(name) ?? [];
    this.#waiting.delete(name);
    if (keys === 'all') return placements.all();
    const found = [...waiting].map((id) => placements.get(id)).filter((placement) => placement !== undefined);
    return new Set([...placements.naming(keys), ...found]);
  }

  #wait(id: PlacementId, child: string): void {
    const ids = this.#waiting.get(child) ?? new Set();
    this.#waiting.set(child, ids.add(id));
  }

  #match(t: Transaction, key: string): boolean {
    const [id, name] = key.split(' ') as [PlacementId, string];
    const placement = this.#ports.placements.get(id);
    if (!placement) return true;
    this.#changed.add(id);
    const child = this.#ports.children.get(name);
    const mailbox = this.#ports.mailboxOf(name);
    if (child && mailbox && matchChild(placement, child).matches) {
      const attached = placement.children.has(name);
      if (!attached && this.#ports.passage.mayAttach(t, placement, child)) this.#attach(t, placement, child, mailbox);
      else if (!attached) this.#wait(id, name);
      markDirty(t, 'target', id);
    } else if (placement.children.has(name)) {
      if (this.#ports.passage.mayDetach(t, id, name, placement)) this.#detach(t, id, name, placement.children);
      else this.#wait(id, name);
    }
    return true;
  }

  #move(t: Transaction, id: PlacementId): boolean {
    this.#changed.add(id);
    for (const child of this.#ports.passage.work?.(t, id) ?? []) {
      this.#rows++;
      this.#touched.add(child);
    }
    return true;
  }

  // ---------------------------------------------------------------------------------------------- placements

  #placement(t: Transaction, id: PlacementId): boolean {
    const { placements, children, passage } = this.#ports;
    this.#changed.add(id);
    const known = placements.get(id);
    const current = known?.children ?? new Set(matchedChildren(t, id));
    const placement = this.#read(t, id, current);
    passage.placementChanged?.(t, id);
    for (const child of [...current]) {
      const still = placement && children.has(child) && matchChild(placement, children.get(child)!).matches;
      if (!still && passage.mayDetach(t, id, child, placement)) this.#detach(t, id, child, current);
      else if (!still) this.#wait(id, child);
      if (this.#rows >= rowsPerStep) return false;
    }
    if (!placement) {
      placements.delete(id);
      forgetPlacement(t, id);
    } else {
      placements.set(placement);
    }
    if (!placement) return true;
    for (const child of children.values()) {
      const mailbox = this.#ports.mailboxOf(child.name);
      if (!mailbox) continue;
      const has = current.has(child.name);
      if (!has && !matchChild(placement, child).matches) continue;
      // Also one that may not lose it yet: it has to know what the placement says now.
      if (has) {
        this.#announce(t, placement, child, mailbox);
        for (const stage of this.#ports.stages) stage.rematched?.(t, child);
      } else if (passage.mayAttach(t, placement, child)) this.#attach(t, placement, child, mailbox);
      else this.#wait(id, child.name);
      if (this.#rows >= rowsPerStep) return false;
    }
    markDirty(t, 'target', id);
    return true;
  }

  #attach(t: Transaction, placement: Placement, child: Child, mailbox: Producer): void {
    this.#announce(t, placement, child, mailbox);
    // Before the objects: what a stage decides may depend on the placements that reach the child.
    storeMatched(t, placement.id, child.name);
    placement.children.add(child.name);
    for (const keyHash of selectedObjects(t, placement.id)) {
      if (child.role === 'relay') this.#share(t, child.name, mailbox, placement.source, keyHash);
      else this.#ship(t, child, mailbox, placement.source, this.#objectOf(t, placement.source, keyHash));
    }
  }

  /** An object that a release takes away has no row of its own any more, but one with what was promoted of it. */
  #objectOf(t: Transaction, source: string, keyHash: Uint8Array): Uint8Array {
    const table = this.#ports.tableOf(source);
    const row = table?.get(t, keyHash);
    const entry = row?.content && table && parseEntryKey(table.content(t, row.content).key);
    return entry?.type === 'promoted' ? hash128(objectKey(source, entry.object)) : keyHash;
  }

  /** A relay needs the placement itself; an agent gets what is final, and what it is to report. */
  #announce(t: Transaction, placement: Placement, child: Child, mailbox: Producer): void {
    const { id, source } = placement;
    if (child.role === 'relay') this.#share(t, child.name, mailbox, source, hash128(placementKey(id)));
    const rules = hash128(rulesKey(id));
    if (this.#ports.tableOf(source)?.get(t, rules)?.content) this.#share(t, child.name, mailbox, source, rules);
    else this.#remove(t, child.name, mailbox, rules);
  }

  #detach(t: Transaction, id: PlacementId, child: string, current: Set<string>): void {
    current.delete(child);
    forgetMatched(t, id, child);
    const mailbox = this.#ports.mailboxOf(child);
    if (!mailbox) return;
    const { source } = splitPlacementId(id);
    const table = this.#ports.tableOf(source);
    const to = this.#ports.children.get(child);
    for (const keyHash of selectedObjects(t, id)) {
      const row = table?.get(t, keyHash);
      const wanted = row?.content && table && this.#wantedBy(source, table.content(t, row.content), child);
      if (!wanted) this.#remove(t, child, mailbox, keyHash, row?.originRevision);
      // Another placement may still bring the object, but perhaps not the same form of it.
      if (to?.role === 'agent') this.#ship(t, to, mailbox, source, this.#objectOf(t, source, keyHash));
    }
    // Also what was kept back because too little was known.
    for (const key of this.#ports.releases.detached(t, id, child)) {
      if (to?.role === 'agent') this.#ship(t, to, mailbox, source, hash128(key));
    }
    for (const key of [placementKey(id), rulesKey(id), targetKey(id), grantKey(id)]) {
      this.#remove(t, child, mailbox, hash128(key));
    }
  }

  // ------------------------------------------------------------------------------------------- objects, targets

  #row(t: Transaction, work: Work): boolean {
    const entry = parseEntryKey(work.key);
    if (entry?.type !== 'object') return true;
    this.#toChildren(t, entry.source, work, (child, mailbox, keyHash) => {
      if (child.role === 'agent') this.#ship(t, child, mailbox, entry.source, keyHash, work);
      else this.#share(t, child.name, mailbox, entry.source, keyHash);
    });
    return true;
  }

  /** Relays on the way need it; agents get what is made with it. */
  #auxiliary(t: Transaction, work: Work): boolean {
    const entry = parseEntryKey(work.key);
    if (entry?.type !== 'auxiliary' && entry?.type !== 'promoted' && entry?.type !== 'release') return true;
    this.#toChildren(t, entry.source, work, (child, mailbox, keyHash) => {
      if (child.role === 'relay') this.#share(t, child.name, mailbox, entry.source, keyHash);
    });
    if (entry.type === 'auxiliary') {
      this.#ports.auxiliaryChanged(t, entry.source, entry.object);
      return true;
    }
    if (this.#ports.releases.rowChanged(t, entry)) this.#changed.add(entry.id);
    if (entry.type === 'promoted') {
      const { name } = splitPlacementId(entry.id);
      markDirty(t, 'row', objectKey(entry.source, entry.object), [name], work.originRevision);
    }
    return true;
  }

  /** An agent stands elsewhere in a release now: it gets the objects that the release changes, and then what they are the target of. */
  #exposure(t: Transaction, key: string): boolean {
    const [id, name] = key.split(' ') as [PlacementId, string];
    const placement = this.#ports.placements.get(id);
    const child = this.#ports.children.get(name);
    const mailbox = this.#ports.mailboxOf(name);
    if (!placement?.children.has(name) || child?.role !== 'agent' || !mailbox) return true;
    let isWhole = true;
    for (const { keyHash } of heldObjects(t, id)) {
      if (!this.#ship(t, child, mailbox, placement.source, keyHash)) isWhole = false;
    }
    // A target covers what is in the mailbox before it.
    if (isWhole) this.#aim(t, placement, name, mailbox);
    return isWhole;
  }

  /** Sends a row to the children that one of its placements reaches, and takes it from those that none reaches any more. */
  #toChildren(
    t: Transaction,
    source: string,
    work: Work,
    send: (child: Child, mailbox: Producer, keyHash: Uint8Array) => void,
  ): void {
    const keyHash = hash128(work.key);
    const table = this.#ports.tableOf(source);
    const row = table?.get(t, keyHash);
    const content = row?.content && table?.content(t, row.content);
    const refs = new Set([...work.refs, ...(content ? attributesOf<RefsAttributes>(content).refs : [])]);
    for (const name of this.#childrenOf(source, refs)) {
      const mailbox = this.#ports.mailboxOf(name);
      const child = this.#ports.children.get(name);
      if (!mailbox) continue;
      if (child && content && this.#wantedBy(source, content, name)) send(child, mailbox, keyHash);
      else if (child?.role === 'agent') this.#ship(t, child, mailbox, source, keyHash, work);
      else this.#remove(t, name, mailbox, keyHash, work.originRevision);
    }
  }

  #target(t: Transaction, id: PlacementId): boolean {
    const placement = this.#ports.placements.get(id);
    if (!placement) return true;
    this.#changed.add(id);
    const fresh = this.#read(t, id, placement.children);
    if (fresh) this.#ports.placements.set(fresh);
    for (const child of placement.children) {
      const mailbox = this.#ports.mailboxOf(child);
      if (mailbox) this.#aim(t, placement, child, mailbox);
    }
    return true;
  }

  #aim(t: Transaction, placement: Placement, child: string, mailbox: Producer): void {
    const keyHash = hash128(targetKey(placement.id));
    const table = this.#ports.tableOf(placement.source);
    const row = table?.get(t, keyHash);
    const content = row?.content && table?.content(t, row.content);
    const target = content && attributesOf<TargetAttributes>(content);
    const isAgent = this.#ports.children.get(child)?.role === 'agent';
    const its = target && isAgent ? this.#ports.releases.targetFor(t, placement, child, target) : target;
    if (!content || !its || its === target) {
      if (its) this.#share(t, child, mailbox, placement.source, keyHash);
      return;
    }
    const attributes = text(stableStringify(its));
    const originRevision = Math.max(row?.originRevision ?? 0, mailbox.get(t, keyHash)?.originRevision ?? 0);
    if (!mailbox.put(t, { ...content, attributes }, originRevision)) return;
    this.#rows++;
    this.#touched.add(child);
  }

  #wantedBy(source: string, content: Content, child: string): boolean {
    const { refs } = attributesOf<RefsAttributes>(content);
    return refs.some((name) => this.#ports.placements.get(placementId(source, name))?.children.has(child));
  }

  #childrenOf(source: string, refs: Iterable<string>): Set<string> {
    const children = new Set<string>();
    for (const name of refs) {
      for (const child of this.#ports.placements.get(placementId(source, name))?.children ?? []) children.add(child);
    }
    return children;
  }

  #share(t: Transaction, child: string, mailbox: Producer, source: string, keyHash: Uint8Array): void {
    const row = this.#ports.tableOf(source)?.get(t, keyHash);
    if (!row?.content || !mailbox.putReference(t, keyHash, row.content, row.originRevision)) return;
    // Only rows that change count: work that begins anew in the next step passes over what it has done.
    this.#rows++;
    this.#touched.add(child);
  }

  /** To an agent: what the stages make of the object's row, or of there being none for it. False: it is left for the next step. */
  #ship(t: Transaction, child: Child, mailbox: Producer, source: string, keyHash: Uint8Array, work?: Work): boolean {
    const shipment = { child, source, keyHash, ...(work?.key.startsWith('o/') ? { changed: work } : {}) };
    const what = throughStages(this.#ports.stages, t, shipment, this.#offered(t, child, source, keyHash, work));
    if (what.type === 'keep') return true;
    if (what.type === 'later') {
      markDirty(t, 'shipment', shipmentKey({ source, keyHash, child: child.name }));
      return false;
    }
    if (what.type === 'nothing') {
      this.#remove(t, child.name, mailbox, keyHash, what.originRevision);
      return true;
    }
    // What an agent has of a newer write may give way to something made of an older one: it is still the newer decision.
    const originRevision = Math.max(what.originRevision, mailbox.get(t, keyHash)?.originRevision ?? 0);
    const changed = what.reference
      ? mailbox.putReference(t, keyHash, what.reference, originRevision)
      : mailbox.put(t, what.content, originRevision);
    if (!changed) return true;
    this.#rows++;
    this.#touched.add(child.name);
    return true;
  }

  /** One object to one agent anew; false when it has to wait for the next step. */
  #shipment(t: Transaction, key: string): boolean {
    const [source, keyHash, name] = key.split(' ') as [string, string, string];
    const child = this.#ports.children.get(name);
    const mailbox = this.#ports.mailboxOf(name);
    return child?.role !== 'agent' || !mailbox || this.#ship(t, child, mailbox, source, Buffer.from(keyHash, 'hex'));
  }

  #offered(t: Transaction, child: Child, source: string, keyHash: Uint8Array, work?: Work): Outgoing {
    const table = this.#ports.tableOf(source);
    const row = table?.get(t, keyHash);
    const originRevision = Math.max(row?.originRevision ?? 0, work?.originRevision ?? 0);
    if (!table || !row?.content) return { type: 'nothing', originRevision };
    const content = table.content(t, row.content);
    const isObject = parseEntryKey(content.key)?.type === 'object';
    if (!isObject || !this.#wantedBy(source, content, child.name)) return { type: 'nothing', originRevision };
    return { type: 'content', content, reference: row.content, originRevision: row.originRevision };
  }

  /** What leaves a child's scope is a tombstone no older than what the child has, so that it is not taken for a late one. */
  #remove(t: Transaction, child: string, mailbox: Producer, keyHash: Uint8Array, originRevision = 0): void {
    const row = mailbox.get(t, keyHash);
    if (!row?.content) return;
    this.#rows++;
    if (mailbox.remove(t, keyHash, Math.max(originRevision, row.originRevision))) this.#touched.add(child);
  }

  /** The placement as its rows say; undefined when it is gone. */
  #read(reader: Reader, id: PlacementId, children: Set<string>): Placement | undefined {
    const { source, name } = splitPlacementId(id);
    const table = this.#ports.tableOf(source);
    const content = table && contentOf(reader, table, placementKey(id));
    if (!content) return undefined;
    const { spec } = JSON.parse(asText(content.body)) as { spec: PlacementSelectors };
    const { generation, move } = attributesOf<PlacementAttributes>(content);
    const target = contentOf(reader, table, targetKey(id));
    return {
      id,
      source,
      name,
      ...(move ? { move: { ...move, generation } } : {}),
      locationSelectors: spec.locationSelectors ?? [],
      ...(spec.locationExpression === undefined ? {} : { locationExpression: spec.locationExpression }),
      ...(target ? { target: attributesOf<TargetAttributes>(target) } : {}),
      ...(isStaged(spec.rollout) ? { staged: true, waveSelectors: waveSelectorsOf(spec.rollout) } : {}),
      children,
    };
  }
}

interface PlacementSelectors {
  locationSelectors?: LabelSelector[];
  locationExpression?: string;
  rollout?: RolloutSpec;
}

function waveSelectorsOf({ waves }: RolloutSpec): LabelSelector[] {
  return (waves ?? []).flatMap(({ selector }) => (selector ? [selector] : []));
}

/** Marks what a change of a source's row makes necessary; called in the transaction of the change. */
export function noteSourceChange(t: Transaction, change: AppliedChange): void {
  const entry = parseEntryKey(change.key);
  if (entry?.type === 'placement') {
    if (change.after) storePlacement(t, entry.id);
    markDirty(t, 'placement', entry.id);
  } else if (entry?.type === 'rules') {
    markDirty(t, 'placement', entry.id);
  } else if (entry?.type === 'target') {
    markDirty(t, 'target', entry.id);
  } else if (entry?.type === 'grant') {
    markDirty(t, 'move', entry.id);
  } else if (isDownRow(entry)) {
    const before = change.before ? attributesOf<RefsAttributes>(change.before).refs : [];
    const after = change.after ? attributesOf<RefsAttributes>(change.after).refs : [];
    for (const name of after) {
      if (!before.includes(name)) storeSelected(t, placementId(entry.source, name), change.keyHash);
    }
    for (const name of before) {
      if (!after.includes(name)) forgetSelected(t, placementId(entry.source, name), change.keyHash);
    }
    markDirty(t, entry.type === 'object' ? 'row' : 'auxiliary', change.key, before, change.originRevision);
    noteHeld(t, change);
    if (entry.type !== 'object' && entry.type !== 'promoted') return;
    const ids = (names: readonly string[]) => names.map((name) => placementId(entry.source, name));
    noteDigest(t, change, ids(before), ids(after));
  }
}

/** Rows that go where the placements go that they name in `refs`. */
function isDownRow(
  entry: EntryKey | undefined,
): entry is EntryKey & { readonly type: 'object' | 'auxiliary' | 'promoted' | 'release' } {
  const type = entry?.type;
  return type === 'object' || type === 'auxiliary' || type === 'promoted' || type === 'release';
}

export function attributesOf<T>(content: Content): T {
  return JSON.parse(asText(content.attributes)) as T;
}

function contentOf(reader: Reader, table: Table, key: string): Content | undefined {
  const row = table.get(reader, hash128(key));
  return row?.content && table.content(reader, row.content);
}
