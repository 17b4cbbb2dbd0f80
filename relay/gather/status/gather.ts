/**
 * Merges the partials of the children into the node's own partial. Each placement has one segment tree, so that a change of one child costs
 * log2(children) merges. The trees are in memory. A tree is made when it is first needed, from the rows that the children reported.
 */

import { entryKey } from '../../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../../core/entries/placement-id.ts';
import type { Producer, Table } from '../../../core/feed/feed.ts';
import { hash128 } from '../../../core/object/hash.ts';
import { mergeParts, type RolloutPart } from '../../../core/rollout/part.ts';
import type { Reader } from '../../../core/store/store.ts';
import { type ChildConnection, contribution, type PlacementTarget } from '../../../core/summary/contribution.ts';
import {
  type DestinationCounts,
  decodePartial,
  emptyPartial,
  type Failure,
  mergePartials,
  type Partial,
} from '../../../core/summary/partial.ts';
import { SegmentTree } from '../../../core/summary/segment-tree.ts';
import { type Child, matchChild } from '../../children/children.ts';
import { handedTarget } from '../../moves/handed.ts';
import { withMove, withOwnCounter } from '../../moves/move-contribution.ts';
import type { MoveStore } from '../../moves/move-store.ts';
import type { Placement } from '../../placements/placement.ts';
import type { Placements } from '../../placements/placements.ts';
import { type Replicas, withoutReplicas } from '../../replicas/replicas.ts';

export interface GatherPorts {
  readonly placements: Placements;
  readonly children: ReadonlyMap<string, Child>;
  /** Returns the reports of a child: the consumer's table of its up feed. */
  reportedOf(child: string): Table | undefined;
  /** Returns whether the child's entry with this key is a bad entry. Absent: no entry is bad. */
  isRefused?(reader: Reader, child: string, keyHash: Uint8Array): boolean;
  connection(child: string): ChildConnection;
  /** Returns the objects of the placement that this node could not make for an agent. */
  heldBack(id: PlacementId, child: string): readonly Failure[];
  readonly rollouts: RolloutParts;
  readonly moves: MoveStore;
  /** Changes the total of a move while this node does not know which copies its children have. Absent: this node always knows. */
  readonly restoreBarrier?: { addTo(placement: Placement, total: Partial): Partial };
  pathOf(child: string): string;
  mailboxOf(child: string): Producer | undefined;
  /** Absent: no relay has replicas. */
  readonly replicas?: Replicas;
}

/** The part of a partial that is about unfinished releases; see relay/rollout/exposure.ts. */
export interface RolloutParts {
  place(
    placement: Placement,
    child: Child,
    view: { readonly connected: boolean; readonly reported?: Partial },
  ): RolloutPart | undefined;
  forget(id: PlacementId, child: string): void;
  /** Returns the target that the counts are about: the source's target or, after a rollback, the target that was promoted before the release. */
  wanted(placement: Placement): PlacementTarget | undefined;
  /** Returns the part of this node itself, without its children. */
  base(id: PlacementId): RolloutPart | undefined;
}

export class Gather {
  readonly #ports: GatherPorts;
  readonly #replicas: Replicas;
  readonly #trees = new Map<PlacementId, SegmentTree<Partial>>();

  constructor(ports: GatherPorts) {
    this.#ports = ports;
    this.#replicas = ports.replicas ?? withoutReplicas;
  }

  /** Returns the node's own partial of a placement; undefined when the placement is unknown. */
  total(reader: Reader, id: PlacementId): Partial | undefined {
    const placement = this.#ports.placements.get(id);
    if (!placement) return undefined;
    const tree = this.#trees.get(id) ?? this.refresh(reader, id);
    const { generation, target } = this.#ports.rollouts.wanted(placement) ?? { generation: 0, target: 0 };
    const total = tree?.total() ?? emptyPartial(generation, target);
    const withReleases = withRollout(total, mergeParts(total.rollout, this.#ports.rollouts.base(id)));
    const counted = withOwnCounter(placement, this.#ports.moves.counter(id), withReleases);
    return this.#ports.restoreBarrier?.addTo(placement, counted) ?? counted;
  }

  /** Returns the number of merges done for one placement since its tree was made. */
  merges(id: PlacementId): number {
    return this.#trees.get(id)?.merges ?? 0;
  }

  /** Computes the contributions of all children to one placement again. Call it when the target or the children of the placement have changed. */
  refresh(reader: Reader, id: PlacementId): SegmentTree<Partial> | undefined {
    const placement = this.#ports.placements.get(id);
    if (!placement) {
      this.#trees.delete(id);
      return undefined;
    }
    const tree = this.#trees.get(id) ?? new SegmentTree<Partial>(mergePartials);
    this.#trees.set(id, tree);
    const moving = this.#ports.moves.rowsOf(id);
    for (const child of [...tree.keys()]) {
      if (!placement.children.has(child) && !moving.has(child)) this.#drop(tree, id, child);
    }
    for (const child of new Set([...placement.children, ...moving.keys()])) {
      this.#place(reader, tree, placement, child);
    }
    return tree;
  }

  /** Returns the numbers of destinations that a child adds. Makes the tree of the placement if there is none yet. */
  counts(reader: Reader, id: PlacementId, child: string): DestinationCounts | undefined {
    const tree = this.#trees.get(id) ?? this.refresh(reader, id);
    return tree?.get(child)?.counts;
  }

  /** Returns the children that add to a placement. Makes the tree of the placement if there is none yet. */
  childrenOf(reader: Reader, id: PlacementId): Iterable<string> {
    return (this.#trees.get(id) ?? this.refresh(reader, id))?.keys() ?? [];
  }

  /** Returns the contribution of a child to the node's own partial, as `total` counts it. */
  contribution(id: PlacementId, child: string): Partial | undefined {
    return this.#trees.get(id)?.get(child);
  }

  /** Returns the numbers of destinations that each child adds to the placement. Empty if the placement has no tree yet. */
  contributionsOf(id: PlacementId): ReadonlyMap<string, DestinationCounts> {
    const tree = this.#trees.get(id);
    return new Map(Array.from(tree?.keys() ?? [], (child) => [child, tree!.get(child)!.counts]));
  }

  /** Computes the contribution of one child to one placement again. Returns true if its number of destinations has changed. */
  childChanged(reader: Reader, id: PlacementId, child: string): boolean {
    const placement = this.#ports.placements.get(id);
    const tree = this.#trees.get(id);
    if (!placement || !tree) return false;
    const before = this.expected(id, child);
    if (placement.children.has(child) || this.#ports.moves.row(id, child)) this.#place(reader, tree, placement, child);
    else this.#drop(tree, id, child);
    return this.expected(id, child) !== before;
  }

  /** Returns the number of destinations of a placement at or below a child. */
  expected(id: PlacementId, child: string): number {
    return this.#trees.get(id)?.get(child)?.counts.expected ?? 0;
  }

  #place(reader: Reader, tree: SegmentTree<Partial>, placement: Placement, name: string): void {
    const child = this.#ports.children.get(name);
    const row = this.#ports.moves.row(placement.id, name);
    const wanted = this.#ports.rollouts.wanted(placement);
    if ((!child && !row) || !wanted) return;
    const { counts, isFrozen, isMixed, wasAttached } = this.#replicas.standing(name);
    if (isFrozen && isOf(wanted, tree.get(name))) return;
    if (!counts || isMixed) {
      // The contribution is empty, not absent. If the sums of the child are frozen later, the `isFrozen` check then keeps the empty contribution.
      tree.set(name, emptyPartial(wanted.generation, wanted.target));
      this.#ports.rollouts.forget(placement.id, name);
      return;
    }
    const last = this.#reported(reader, name, placement.id);
    const isRefused = this.#ports.isRefused?.(reader, name, hash128(entryKey.partial(placement.id))) ?? false;
    const expected = child ? matchChild(placement, child).expected : 0;
    const reported = isRefused ? undefined : last;
    const view = {
      ...connectionOf(this.#ports.connection(name)),
      path: this.#ports.pathOf(name),
      expected,
      ...(reported ? { reported } : { wasAttached }),
      ...(isRefused ? { refused: expected ?? last?.counts.expected ?? 0 } : {}),
      heldBack: child?.role === 'agent' ? this.#ports.heldBack(placement.id, name) : [],
    };
    // Only a known child that has the placement takes part in a release.
    const part = child && placement.children.has(name) ? this.#ports.rollouts.place(placement, child, view) : undefined;
    const counted = withRollout(contribution(wanted, view), part);
    // A child that this node no longer knows and that still has a row of a move was an agent.
    const { role } = child ?? { role: 'agent' as const };
    const { connected } = view;
    const moving = { role, path: this.#ports.pathOf(name), row, reported: last, refused: isRefused, connected };
    const mailbox = placement.move && role === 'agent' ? this.#ports.mailboxOf(name) : undefined;
    const handed = mailbox && view.heldBack.length === 0 ? handedTarget(reader, mailbox, placement) : undefined;
    tree.set(name, withMove(placement, { ...moving, handed }, counted));
  }

  #drop(tree: SegmentTree<Partial>, id: PlacementId, child: string): void {
    tree.delete(child);
    this.#ports.rollouts.forget(id, child);
  }

  #reported(reader: Reader, child: string, id: PlacementId): Partial | undefined {
    const table = this.#ports.reportedOf(child);
    const row = table?.get(reader, hash128(entryKey.partial(id)));
    return row?.content && table ? decodePartial(table.content(reader, row.content).body) : undefined;
  }
}

/** Without the other facts of a session. */
function connectionOf({ connected, heardAtMs }: ChildConnection): ChildConnection {
  return { connected, heardAtMs };
}

function isOf(target: PlacementTarget, partial: Partial | undefined): boolean {
  return partial?.generation === target.generation && partial.target === target.target;
}

function withRollout(partial: Partial, rollout: RolloutPart | undefined): Partial {
  if (partial.rollout === rollout) return partial;
  const { rollout: _before, ...rest } = partial;
  return rollout ? { ...rest, rollout } : rest;
}
