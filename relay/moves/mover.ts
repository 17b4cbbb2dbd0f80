/**
 * Keeps the order of moves at this node: what may be attached and detached, what is granted, and what goes on at its deadline. It decides by
 * core/move; here are the rows, the reports of the children and the mailboxes that the decisions are made of. Everything that a decision rests on is in
 * the store, and a decision is taken back to the work of the scheduler by the sequence that it is for: if something has changed meanwhile, it is for
 * nobody, and is made anew.
 */

import type { GrantAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey } from '../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../core/entries/placement-id.ts';
import type { GoneAttributes } from '../../core/entries/up-attributes.ts';
import type { Producer, Table } from '../../core/feed/feed.ts';
import { granted, type MoveRow, mayJoin, mayLeave, review } from '../../core/move/move.ts';
import { aheadBy, decidesToGrant, isMoving, type MovePart } from '../../core/move/move-part.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import { text } from '../../core/store/bytes.ts';
import type { Reader, Store, Transaction } from '../../core/store/store.ts';
import { decodePartial, type Partial } from '../../core/summary/partial.ts';
import { type Child, matchChild } from '../children/children.ts';
import type { Placement } from '../placements/placement.ts';
import type { Placements } from '../placements/placements.ts';
import type { Replicas } from '../replicas/replicas.ts';
import type { Passage } from '../schedule/ports.ts';
import { isBeingScheduled, markDirty } from '../work/dirty.ts';
import { Deadlines } from './deadlines.ts';
import { Grants } from './grants.ts';
import { MoveRecovery } from './move-recovery.ts';
import type { MoveStore } from './move-store.ts';
import { hasNoCopies, matches } from './recovered-rows.ts';

export interface MoverPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly moveStore: MoveStore;
  readonly placements: Placements;
  readonly children: ReadonlyMap<string, Child>;
  mailboxOf(child: string): Producer | undefined;
  reportedOf(child: string): Table | undefined;
  /** What comes from above. */
  readonly upstream: Table;
  /** The node's own space has the placement: nothing is above that could know more. */
  isOrigin(source: string): boolean;
  /** The node's own partial, and what a child adds to it: of one moment with each other. */
  total(reader: Reader, id: PlacementId): Partial | undefined;
  contribution(id: PlacementId, child: string): Partial | undefined;
  readonly replicas: Pick<Replicas, 'hasReplicas' | 'standing' | 'members'>;
  /** All that the parent had was heard in this run of the process. */
  hasReceivedFromParent(): boolean;
  /** What this node knows of its children may be of another time: see restore-barrier.ts. */
  isBehindRestoreBarrier?(): boolean;
  /** Writes, and has the scheduler look at it. */
  enqueue(act: (t: Transaction) => void): void;
}

export class Mover implements Passage {
  readonly #ports: MoverPorts;
  readonly #grants: Grants;
  readonly #moveRecovery: MoveRecovery;
  readonly #deadlines: Deadlines;

  constructor(ports: MoverPorts) {
    this.#ports = ports;
    this.#grants = new Grants(ports);
    this.#moveRecovery = new MoveRecovery({
      ...ports,
      hasReplicas: ports.replicas.hasReplicas,
      reportedBy: (reader, id, child) => this.#reportedBy(reader, id, child),
      keep: (t, placement, child, row) => this.#keep(t, placement, child, row),
      now: (placement) => this.#now(placement),
    });
    this.#deadlines = new Deadlines({ ...ports, due: (ids) => this.#mark(ids) });
  }

  /**
   * At start: what fell due while the process was away, and what was decided and not written. The store may have been put back: what is held is told with a
   * new number, above all that were told of it before, or its grant would be an older one than the parent has given.
   */
  start(): void {
    const { moveStore, placements, enqueue } = this.#ports;
    const ids = [...moveStore.placements()];
    if (ids.length > 0) enqueue((t) => this.#renumber(t, ids));
    for (const placement of placements.all()) if (placement.move) this.decide(placement.id);
  }

  stop(): void {
    this.#deadlines.stop();
  }

  // ---------------------------------------------------------------------------------------- asked by the scheduler

  mayAttach(t: Transaction, placement: Placement, child: Child): boolean {
    // A relay has to know of the placement to keep the order below it.
    if (child.role === 'relay') return true;
    const { moveStore } = this.#ports;
    const row = moveStore.row(placement.id, child.name);
    const breaksFirst = placement.move?.order === 'BreakBeforeMake';
    // It runs a copy of which this node knows no more: that is no new one, which would have to wait.
    if (breaksFirst && !row && this.#reportedBy(t, placement.id, child.name)) return true;
    const passed = mayJoin(placement.move, row, this.#now(placement));
    this.#keep(t, placement, child.name, passed.row);
    return passed.may;
  }

  mayDetach(t: Transaction, id: PlacementId, name: string, placement: Placement | undefined): boolean {
    const { moveStore, children } = this.#ports;
    if (!placement) {
      this.#moveRecovery.hasHeard(id, name);
      return true;
    }
    if (children.get(name)?.role === 'relay') return this.#mayDetachRelay(t, placement, name);
    const passed = mayLeave(placement.move, moveStore.row(id, name), this.#now(placement));
    // An agent that is known no more gets nothing from here: there is nothing to hold.
    const isKnown = children.has(name);
    const row = isKnown || placement.move?.order === 'BreakBeforeMake' ? passed.row : undefined;
    this.#keep(t, placement, name, row);
    if (row?.state === 'breaking') markDirty(t, 'move', id);
    if (passed.overdue) this.#overdue(t, placement, name, 'an old copy is taken away at its deadline');
    return passed.may || !isKnown;
  }

  childChanged(t: Transaction, child: string): void {
    for (const id of this.#ports.moveStore.placementsOf(child)) markDirty(t, 'move', id);
  }

  placementChanged(t: Transaction, id: PlacementId): void {
    const { moveStore } = this.#ports;
    if (moveStore.rowsOf(id).size > 0 || moveStore.counter(id).base > 0) markDirty(t, 'move', id);
  }

  placementCame(t: Transaction, placement: Placement): void {
    if (placement.move) this.#moveRecovery.placementCame(t, placement);
  }

  /** The rows of a placement again, and what is granted; how many rows it put into mailboxes. */
  work(t: Transaction, id: PlacementId): number {
    const placement = this.#ports.placements.get(id);
    if (!placement) {
      this.#forget(t, id);
      return 0;
    }
    let asked = 0;
    for (const [child, row] of [...this.#ports.moveStore.rowsOf(id)]) {
      if (this.#review(t, placement, child, row)) asked++;
    }
    const sequence = this.#ports.total(t, id)?.move?.sequence;
    const above = this.#grants.above(t, id);
    const decided = this.#grants.takeDecided(id);
    if (sequence === undefined) return asked;
    const grant = this.#grants.fromAbove(id, above, sequence);
    if (grant === 'ofLostLife') {
      this.#ports.moveStore.advance(t, id, aheadBy(above!, sequence) + 1);
      return asked;
    }
    if (sequence !== decided && grant !== 'ours') return asked;
    this.#grants.granted(id, sequence);
    return asked + this.#grant(t, placement);
  }

  // ------------------------------------------------------------------------------------------- told by the node

  /** Placements of which something has changed here, or below the child: after the commit, when the totals are of now. */
  decide(id: PlacementId, child?: string): void {
    const { store, placements, total } = this.#ports;
    const placement = placements.get(id);
    if (!placement?.move) return;
    const [partial, above] = store.read((reader) =>
      isBeingScheduled(reader, id) ? [] : [total(reader, id), this.#grants.above(reader, id)],
    );
    const part = partial?.move;
    if (!part) return;
    if (this.#grants.fromAbove(id, above, part.sequence) === 'ofLostLife') return this.#mark([id]);
    if (this.#grants.isGranted(id, part.sequence) && (child === undefined || this.#wasTold(id, child))) return;
    if (!decidesToGrant(part, this.#ports.isOrigin(placement.source))) return;
    this.#grants.decide(id, part.sequence);
    this.#mark([id]);
  }

  /** Whether the child has the grant of what it tells; the same destinations may have come to it from a sibling that got it. */
  #wasTold(id: PlacementId, child: string): boolean {
    const part = this.#movingBelow(id, child);
    const mailbox = this.#ports.mailboxOf(child);
    if (!part || !mailbox) return true;
    const row = this.#ports.store.read((reader) => mailbox.get(reader, hash128(entryKey.grant(id))));
    return row?.content !== undefined && row.originRevision === part.sequence;
  }

  /** All that the parent had is here. */
  receivedFromParent(): void {
    const ids = this.#grants.receivedFromParent();
    if (ids.length > 0) this.#mark(ids);
  }

  /** A child has told something new of a placement. */
  reported(id: PlacementId, name: string): void {
    const { placements, children, enqueue } = this.#ports;
    this.letGo(id, name);
    const placement = placements.get(id);
    if (!placement?.move) return;
    const child = children.get(name);
    const members = child?.role === 'relay' ? this.#ports.replicas.members(name) : [];
    const kept = members.filter((one) => placement.children.has(one) && !matches(placement, children.get(one)));
    if (kept.length > 0) {
      enqueue((t) => {
        for (const one of kept) markDirty(t, 'match', `${id} ${one}`);
      });
    }
    this.decide(id, name);
  }

  /** Before a child is heard: it has of its mailbox what this node does not know, or, as the node's store was put back, no longer knows. */
  hasOtherHistory(name: string, wasPutBack: boolean): void {
    this.#moveRecovery.hasOtherHistory(name, wasPutBack);
  }

  /** All that a child has to say is known here: see move-recovery.ts. */
  arrived(name: string): void {
    this.#moveRecovery.arrived(name);
  }

  /** All that is here is worked off. */
  idle(): void {
    this.#moveRecovery.idle();
  }

  takesBack(id: PlacementId, name: string): boolean {
    const row = this.#ports.moveStore.row(id, name);
    return row?.state === 'joining' && !row.granted && this.#ports.placements.get(id)?.children.has(name) === true;
  }

  keeps(reader: Reader, id: PlacementId, name: string): boolean {
    const { moveStore, children, replicas } = this.#ports;
    if (children.get(name)?.role === 'agent') return moveStore.row(id, name)?.state === 'leaving';
    if (this.#moveRecovery.isToRecover(id, name)) return true;
    const isBehindRestoreBarrier = this.#ports.isBehindRestoreBarrier?.() === true;
    const told = replicas.hasReplicas || isBehindRestoreBarrier ? this.#reportedBy(reader, id, name) : undefined;
    if (isBehindRestoreBarrier && told && !hasNoCopies(told)) return true;
    return told?.move?.order === 'MakeBeforeBreak' && told.move.leaving > 0;
  }

  /** An agent has told that it has let go of a placement. */
  letGo(id: PlacementId, name: string): void {
    if (this.#ports.moveStore.row(id, name)?.asked !== undefined) this.#mark([id]);
  }

  // ---------------------------------------------------------------------------------------------------- details

  /** One that may be below it still has to be told that it is old: the relay goes when it has said that nothing is left. */
  #mayDetachRelay(t: Transaction, placement: Placement, name: string): boolean {
    const { id, move, target } = placement;
    const reported = this.#reportedBy(t, id, name);
    if (move) {
      const isCurrent =
        reported?.generation === move.generation &&
        reported.generation === target?.generation &&
        reported.target === target.target;
      if (!isCurrent || !hasNoCopies(reported)) return false;
      // An agent that keeps an old copy may come from a sibling of it, and be told of by neither in between.
      if (this.#ports.replicas.standing(name).isChanging) return false;
      const others = this.#ports.replicas.members(name).filter((other) => other !== name);
      const told = others.map((other) => this.#reportedBy(t, id, other));
      if (told.some((other) => other !== undefined && !hasNoCopies(other))) return false;
    }
    this.#moveRecovery.hasHeard(id, name);
    // What it has told goes on in this node's own numbers.
    const { sequence, overdue } = reported?.move ?? { sequence: 0, overdue: 0 };
    if (sequence > 0) this.#ports.moveStore.advance(t, id, sequence + 1);
    if (overdue > 0 && move) this.#ports.moveStore.overdue(t, id, move.generation, overdue);
    return true;
  }

  /** True when the agent's mailbox has a new row. */
  #review(t: Transaction, placement: Placement, name: string, before: MoveRow): boolean {
    const { id } = placement;
    const child = this.#ports.children.get(name);
    const asks = (before.state === 'breaking' || before.state === 'returning') && before.asked === undefined;
    const row = asks ? { ...before, asked: this.#ports.moveStore.counter(id).base } : before;
    const reported = this.#reportedBy(t, id, name);
    const reviewed = review(placement.move, row, {
      ...this.#now(placement),
      matches: child !== undefined && matchChild(placement, child).matches,
      available: (reported?.counts.available ?? 0) > 0,
      // A higher number was asked by a sibling of this node, or by this node before it was put back: the agent keeps to that.
      letGo: !reported && row.asked !== undefined && (this.#goneBy(t, id, name) ?? -1) >= row.asked,
    });
    this.#keep(t, placement, name, reviewed.row);
    if (reviewed.ask) markDirty(t, 'match', `${id} ${name}`);
    if (reviewed.overdue) this.#overdue(t, placement, name, 'a destination goes on at its deadline');
    return (
      asks &&
      reviewed.row?.asked !== undefined &&
      this.#put(t, name, entryKey.withdrawn(id), row.asked!, { asked: row.asked! })
    );
  }

  #goneBy(reader: Reader, id: PlacementId, child: string): number | undefined {
    const table = this.#ports.reportedOf(child);
    const row = table?.get(reader, hash128(entryKey.gone(id)));
    return row?.content && table ? attributesOf<GoneAttributes>(table.content(reader, row.content)).asked : undefined;
  }

  /** How many children were told. */
  #grant(t: Transaction, placement: Placement): number {
    const { moveStore } = this.#ports;
    const { id, move } = placement;
    if (!move) return 0;
    for (const [child, row] of [...moveStore.rowsOf(id)]) {
      const next = granted(move, row);
      moveStore.set(t, id, child, next.row);
      if (next.ask) markDirty(t, 'match', `${id} ${child}`);
    }
    let told = 0;
    for (const child of placement.children) {
      const part = this.#movingBelow(id, child);
      if (!part) continue;
      const attributes: GrantAttributes = { sequence: part.sequence };
      if (this.#put(t, child, entryKey.grant(id), part.sequence, attributes)) told++;
    }
    return told;
  }

  /** What a relay adds to the move, if something of it waits below. */
  #movingBelow(id: PlacementId, child: string): MovePart | undefined {
    const { children, contribution } = this.#ports;
    const part = children.get(child)?.role === 'relay' ? contribution(id, child)?.move : undefined;
    return part && isMoving(part) ? part : undefined;
  }

  /** Numbers grow, so that an older one is not taken for news. */
  #put(t: Transaction, child: string, key: string, number: number, attributes: object): boolean {
    const content = { key, attributes: text(JSON.stringify(attributes)), body: new Uint8Array(0) };
    return this.#ports.mailboxOf(child)?.put(t, content, number) ?? false;
  }

  #keep(t: Transaction, placement: Placement, child: string, row: MoveRow | undefined): void {
    const { moveStore } = this.#ports;
    const asked = moveStore.row(placement.id, child)?.asked;
    if (row?.asked !== asked) this.#unask(t, placement.id, child, asked);
    moveStore.set(t, placement.id, child, row);
    if (row && placement.move && !row.granted) this.#deadlines.await(placement.move, row);
  }

  /** The placement is gone: whatever an agent would answer, nobody waits for it any more. */
  #forget(t: Transaction, id: PlacementId): void {
    const { moveStore } = this.#ports;
    for (const [child, { asked }] of moveStore.rowsOf(id)) this.#unask(t, id, child, asked);
    moveStore.forget(t, id);
    this.#grants.forget(id);
  }

  #unask(t: Transaction, id: PlacementId, child: string, asked: number | undefined): void {
    if (asked !== undefined) this.#ports.mailboxOf(child)?.remove(t, hash128(entryKey.withdrawn(id)), asked);
  }

  #now(placement: Placement): { nowMs: number; generation: number } {
    return { nowMs: this.#ports.clock.wallMs(), generation: placement.move?.generation ?? 0 };
  }

  #reportedBy(reader: Reader, id: PlacementId, child: string): Partial | undefined {
    const table = this.#ports.reportedOf(child);
    const row = table?.get(reader, hash128(entryKey.partial(id)));
    return row?.content && table ? decodePartial(table.content(reader, row.content).body) : undefined;
  }

  #overdue(t: Transaction, { id, move }: Placement, child: string, message: string): void {
    if (!this.#ports.replicas.standing(child).counts) return;
    this.#ports.moveStore.overdue(t, id, move?.generation ?? 0, 1);
    this.#ports.log.warn({ placement: id, child }, message);
  }

  #renumber(t: Transaction, ids: readonly PlacementId[]): void {
    for (const id of ids) {
      this.#ports.moveStore.advance(t, id, 1);
      markDirty(t, 'move', id);
    }
  }

  #mark(ids: readonly PlacementId[]): void {
    this.#ports.enqueue((t) => {
      for (const id of ids) markDirty(t, 'move', id);
    });
  }
}
