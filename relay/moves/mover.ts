/**
 * Keeps the order of moves at this node. Decides what the scheduler may attach and detach, which moves are granted, and which copies go on at their deadline.
 * The rules are in core/move. This file reads the input of the rules: the rows, the reports of the children and the mailboxes. All of these are in the store. A
 * decision is made after a commit and carried out later, in the work of the scheduler. The decision names its sequence. If something has changed in between,
 * the sequence no longer fits, and the node decides again.
 */

import type { GrantAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey } from '../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../core/entries/placement-id.ts';
import type { GoneAttributes } from '../../core/entries/up-attributes.ts';
import { entryContent } from '../../core/feed/entry-content.ts';
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
  /** The rows that the parent sends. */
  readonly upstream: Table;
  /** Returns whether the placement is in a space of this node. Then no node above knows more about it. */
  isOrigin(source: string): boolean;
  /** Return the node's own partial, and the part that a child adds to it. Both are of the same moment. */
  total(reader: Reader, id: PlacementId): Partial | undefined;
  contribution(id: PlacementId, child: string): Partial | undefined;
  readonly replicas: Pick<Replicas, 'hasReplicas' | 'standing' | 'members'>;
  /** Returns whether this run of the process has received everything that the parent had. */
  hasReceivedFromParent(): boolean;
  /** Returns whether the node's store was restored and its children have not reported yet (restore-barrier.ts). */
  isBehindRestoreBarrier?(): boolean;
  /** Runs the write in the scheduler's loop, which then does the marked work. */
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
    this.#deadlines = new Deadlines({ ...ports, due: (ids) => this.#markMoves(ids) });
  }

  /**
   * Runs at the start. Handles rows whose deadline passed while the process did not run, and decisions that were not written. The store may have been restored
   * from a backup, so every move with rows gets a new sequence, above all sequences that this node reported before. Otherwise a grant of this node could have a
   * lower number than a grant that the parent has already given.
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
    // A relay needs the placement so that it can keep the order below it.
    if (child.role === 'relay') return true;
    const { moveStore } = this.#ports;
    const row = moveStore.row(placement.id, child.name);
    const breaksFirst = placement.move?.order === 'BreakBeforeMake';
    // The agent runs a copy that this node does not know any more. The copy is not new, so it does not have to wait.
    if (breaksFirst && !row && this.#reportedBy(t, placement.id, child.name)) return true;
    const passed = mayJoin(placement.move, row, this.#now(placement));
    this.#keep(t, placement, child.name, passed.row);
    return passed.may;
  }

  mayDetach(t: Transaction, id: PlacementId, name: string, placement: Placement | undefined): boolean {
    const { moveStore, children } = this.#ports;
    if (!placement) {
      this.#moveRecovery.recoveryEnded(id, name);
      return true;
    }
    if (children.get(name)?.role === 'relay') return this.#mayDetachRelay(t, placement, name);
    const passed = mayLeave(placement.move, moveStore.row(id, name), this.#now(placement));
    // This node sends nothing to an agent that is no longer its child, so it can't keep an old copy there.
    const isKnown = children.has(name);
    const row = isKnown || placement.move?.order === 'BreakBeforeMake' ? passed.row : undefined;
    this.#keep(t, placement, name, row);
    if (row?.state === 'breaking') markDirty(t, 'move', id);
    if (passed.overdue) this.#countOverdue(t, placement, name, 'an old copy is taken away at its deadline');
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

  /** Reviews all rows of a placement, and carries out a grant. Returns how many rows it has put into mailboxes. */
  work(t: Transaction, id: PlacementId): number {
    const placement = this.#ports.placements.get(id);
    if (!placement) {
      this.#forget(t, id);
      return 0;
    }
    let rowsPut = 0;
    for (const [child, row] of [...this.#ports.moveStore.rowsOf(id)]) {
      if (this.#review(t, placement, child, row)) rowsPut++;
    }
    const sequence = this.#ports.total(t, id)?.move?.sequence;
    const above = this.#grants.above(t, id);
    const decided = this.#grants.takeDecided(id);
    if (sequence === undefined) return rowsPut;
    const grant = this.#grants.fromAbove(id, above, sequence);
    if (grant === 'ofLostIncarnation') {
      this.#ports.moveStore.advance(t, id, aheadBy(above!, sequence) + 1);
      return rowsPut;
    }
    if (sequence !== decided && grant !== 'ours') return rowsPut;
    this.#grants.granted(id, sequence);
    return rowsPut + this.#grant(t, placement);
  }

  // ------------------------------------------------------------------------------------------- called by the node

  /** Call it when something about the placement has changed at this node, or below the child. It must run after the commit, so that the totals are current. */
  decide(id: PlacementId, child?: string): void {
    const { store, placements, total } = this.#ports;
    const placement = placements.get(id);
    if (!placement?.move) return;
    const [partial, above] = store.read((reader) =>
      isBeingScheduled(reader, id) ? [] : [total(reader, id), this.#grants.above(reader, id)],
    );
    const part = partial?.move;
    if (!part) return;
    if (this.#grants.fromAbove(id, above, part.sequence) === 'ofLostIncarnation') return this.#markMoves([id]);
    if (this.#grants.isGranted(id, part.sequence) && (child === undefined || this.#hasNewestGrant(id, child))) return;
    if (!decidesToGrant(part, this.#ports.isOrigin(placement.source))) return;
    this.#grants.decide(id, part.sequence);
    this.#markMoves([id]);
  }

  /**
   * Returns whether the child's mailbox has the grant for the sequence that the child reports. It may lack the grant: destinations may have come to this child
   * from another replica, which got the grant.
   */
  #hasNewestGrant(id: PlacementId, child: string): boolean {
    const part = this.#movingBelow(id, child);
    const mailbox = this.#ports.mailboxOf(child);
    if (!part || !mailbox) return true;
    const row = this.#ports.store.read((reader) => mailbox.get(reader, hash128(entryKey.grant(id))));
    return row?.content !== undefined && row.originRevision === part.sequence;
  }

  /** Call it when the node has received everything that the parent had. */
  receivedFromParent(): void {
    const ids = this.#grants.receivedFromParent();
    if (ids.length > 0) this.#markMoves(ids);
  }

  /** Call it when a child has reported something new about a placement. */
  reported(id: PlacementId, name: string): void {
    const { placements, children, enqueue } = this.#ports;
    this.letGo(id, name);
    const placement = placements.get(id);
    if (!placement?.move) return;
    const child = children.get(name);
    const replicas = child?.role === 'relay' ? this.#ports.replicas.members(name) : [];
    const toLose = replicas.filter(
      (replica) => placement.children.has(replica) && !matches(placement, children.get(replica)),
    );
    if (toLose.length > 0) {
      enqueue((t) => {
        for (const replica of toLose) markDirty(t, 'match', `${id} ${replica}`);
      });
    }
    this.decide(id, name);
  }

  /**
   * Call it before the child reports, if the child's copy of its mailbox does not match, or might not match, what this node recorded as sent. `wasRestored`:
   * this node sent the child's copy, and this node's store was restored since then.
   */
  hasOtherHistory(name: string, wasRestored: boolean): void {
    this.#moveRecovery.hasOtherHistory(name, wasRestored);
  }

  /** Call it when the child has reported everything: see move-recovery.ts. */
  arrived(name: string): void {
    this.#moveRecovery.arrived(name);
  }

  /** Call it when the scheduler has no work left. */
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
    const reported = replicas.hasReplicas || isBehindRestoreBarrier ? this.#reportedBy(reader, id, name) : undefined;
    if (isBehindRestoreBarrier && reported && !hasNoCopies(reported)) return true;
    return reported?.move?.order === 'MakeBeforeBreak' && reported.move.leaving > 0;
  }

  /** Call it when an agent has reported that it has removed a placement. */
  letGo(id: PlacementId, name: string): void {
    if (this.#ports.moveStore.row(id, name)?.asked !== undefined) this.#markMoves([id]);
  }

  // ---------------------------------------------------------------------------------------------------- details

  /**
   * Returns whether the relay may lose the placement: only after it has reported that no copy is left. Until then, an agent below it may have a copy,
   * and must still learn that the copy is old.
   */
  #mayDetachRelay(t: Transaction, placement: Placement, name: string): boolean {
    const { id, move, target } = placement;
    const reported = this.#reportedBy(t, id, name);
    if (move) {
      const isOfSelection = reported?.generation === move.generation && reported.generation === target?.generation;
      if (!isOfSelection || !hasNoCopies(reported)) return false;
      // An agent with an old copy may be moving from another replica of this relay to this one. Meanwhile, neither replica reports the agent.
      if (this.#ports.replicas.standing(name).isChanging) return false;
      const otherReplicas = this.#ports.replicas.members(name).filter((other) => other !== name);
      const reports = otherReplicas.map((other) => this.#reportedBy(t, id, other));
      if (reports.some((report) => report !== undefined && !hasNoCopies(report))) return false;
    }
    this.#moveRecovery.recoveryEnded(id, name);
    // This node's own counter takes over the relay's sequence and its overdue count.
    const { sequence, overdue } = reported?.move ?? { sequence: 0, overdue: 0 };
    if (sequence > 0) this.#ports.moveStore.advance(t, id, sequence + 1);
    if (overdue > 0 && move) this.#ports.moveStore.overdue(t, id, move.generation, overdue);
    return true;
  }

  /** Returns true if the agent's mailbox has a new row. */
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
      // The agent may answer with a higher number than this node asked with: another replica of this node used it, or this node did before its store was
      // restored. The agent keeps the highest number.
      letGo: !reported && row.asked !== undefined && (this.#reportedGone(t, id, name) ?? -1) >= row.asked,
    });
    this.#keep(t, placement, name, reviewed.row);
    if (reviewed.ask) markDirty(t, 'match', `${id} ${name}`);
    if (reviewed.overdue) this.#countOverdue(t, placement, name, 'a destination goes on at its deadline');
    return (
      asks &&
      reviewed.row?.asked !== undefined &&
      this.#put(t, name, entryKey.withdrawn(id), row.asked!, { asked: row.asked! })
    );
  }

  #reportedGone(reader: Reader, id: PlacementId, child: string): number | undefined {
    const content = entryContent(reader, this.#ports.reportedOf(child), entryKey.gone(id));
    return content && attributesOf<GoneAttributes>(content).asked;
  }

  /** Carries out a grant. Returns the number of children that got it. */
  #grant(t: Transaction, placement: Placement): number {
    const { moveStore } = this.#ports;
    const { id, move } = placement;
    if (!move) return 0;
    for (const [child, row] of [...moveStore.rowsOf(id)]) {
      const next = granted(move, row);
      moveStore.set(t, id, child, next.row);
      if (next.ask) markDirty(t, 'match', `${id} ${child}`);
    }
    let sent = 0;
    for (const child of placement.children) {
      const part = this.#movingBelow(id, child);
      if (!part) continue;
      const attributes: GrantAttributes = { sequence: part.sequence };
      if (this.#put(t, child, entryKey.grant(id), part.sequence, attributes)) sent++;
    }
    return sent;
  }

  /** Returns what a relay adds to the move. Undefined: no destination below it is part of the move. */
  #movingBelow(id: PlacementId, child: string): MovePart | undefined {
    const { children, contribution } = this.#ports;
    const part = children.get(child)?.role === 'relay' ? contribution(id, child)?.move : undefined;
    return part && isMoving(part) ? part : undefined;
  }

  /** Puts a row into the child's mailbox, with the number as its revision. Numbers grow, so a receiver never mistakes an older row for a newer one. */
  #put(t: Transaction, child: string, key: string, number: number, attributes: object): boolean {
    const content = { key, attributes: text(JSON.stringify(attributes)), body: new Uint8Array(0) };
    return this.#ports.mailboxOf(child)?.put(t, content, number) ?? false;
  }

  #keep(t: Transaction, placement: Placement, child: string, row: MoveRow | undefined): void {
    const { moveStore } = this.#ports;
    const asked = moveStore.row(placement.id, child)?.asked;
    if (row?.asked !== asked) this.#removeRequest(t, placement.id, child, asked);
    moveStore.set(t, placement.id, child, row);
    if (row && placement.move && !row.granted) this.#deadlines.await(placement.move, row);
  }

  /** Forgets a placement that was removed, and removes the requests to its agents. */
  #forget(t: Transaction, id: PlacementId): void {
    const { moveStore } = this.#ports;
    for (const [child, { asked }] of moveStore.rowsOf(id)) this.#removeRequest(t, id, child, asked);
    moveStore.forget(t, id);
    this.#grants.forget(id);
  }

  #removeRequest(t: Transaction, id: PlacementId, child: string, asked: number | undefined): void {
    if (asked !== undefined) this.#ports.mailboxOf(child)?.remove(t, hash128(entryKey.withdrawn(id)), asked);
  }

  #now(placement: Placement): { nowMs: number; generation: number } {
    return { nowMs: this.#ports.clock.wallMs(), generation: placement.move?.generation ?? 0 };
  }

  #reportedBy(reader: Reader, id: PlacementId, child: string): Partial | undefined {
    const content = entryContent(reader, this.#ports.reportedOf(child), entryKey.partial(id));
    return content && decodePartial(content.body);
  }

  #countOverdue(t: Transaction, { id, move }: Placement, child: string, message: string): void {
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

  #markMoves(ids: readonly PlacementId[]): void {
    this.#ports.enqueue((t) => {
      for (const id of ids) markDirty(t, 'move', id);
    });
  }
}
