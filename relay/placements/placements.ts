/**
 * The placements that this node knows, of its own spaces and from above, each with the children whose mailbox has it. They are in memory, because every changed
 * row needs them; a start reads them from the store. The rows of the `matched` keyspace record which mailboxes have a placement already. So after a restart,
 * the work goes on where it ended.
 */

import { type PlacementId, splitPlacementId } from '../../core/entries/placement-id.ts';
import { asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import type { Placement } from './placement.ts';
import { routeKeysOf } from './route-keys.ts';

const nul = Buffer.of(0);

export class Placements {
  readonly #byId = new Map<PlacementId, Placement>();
  readonly #staged = new Map<PlacementId, Placement>();
  readonly #keys = new Map<PlacementId, ReadonlySet<string>>();
  readonly #byKey = new Map<string, Set<PlacementId>>();
  readonly #byChild = new Map<string, Set<PlacementId>>();

  get(id: PlacementId): Placement | undefined {
    return this.#byId.get(id);
  }

  all(): IterableIterator<Placement> {
    return this.#byId.values();
  }

  /** Returns the placements that name at least one of these keys (relay/children/changed-keys.ts), each once. */
  *naming(keys: ReadonlySet<string>): Generator<Placement> {
    const ids = new Set([...keys].flatMap((key) => [...(this.#byKey.get(key) ?? [])]));
    for (const id of ids) yield this.#byId.get(id)!;
  }

  set(placement: Placement): void {
    const { id } = placement;
    const before = this.#byId.get(id);
    this.#forget(id);
    if (before?.children !== placement.children) {
      for (const child of before?.children ?? []) removeFrom(this.#byChild, child, id);
      for (const child of placement.children) addTo(this.#byChild, child, id);
    }
    const keys = routeKeysOf(placement);
    this.#byId.set(id, placement);
    if (placement.staged) this.#staged.set(id, placement);
    this.#keys.set(id, keys);
    for (const key of keys) addTo(this.#byKey, key, id);
  }

  delete(id: PlacementId): void {
    for (const child of this.#byId.get(id)?.children ?? []) removeFrom(this.#byChild, child, id);
    this.#forget(id);
  }

  #forget(id: PlacementId): void {
    this.#byId.delete(id);
    this.#staged.delete(id);
    for (const key of this.#keys.get(id) ?? []) removeFrom(this.#byKey, key, id);
    this.#keys.delete(id);
  }

  /** Records that the child's mailbox has the placement. */
  attach({ id, children }: Placement, child: string): void {
    children.add(child);
    addTo(this.#byChild, child, id);
  }

  /** Records that the child's mailbox no longer has the placement. `children` is the set of the placement, which may have been removed already. */
  detach(id: PlacementId, children: Set<string>, child: string): void {
    children.delete(child);
    removeFrom(this.#byChild, child, id);
  }

  /** Returns the placements whose releases go out in waves. */
  staged(): ReadonlyMap<PlacementId, Placement> {
    return this.#staged;
  }

  /** Returns the placements that the child's mailbox has. */
  ofChild(child: string): ReadonlySet<PlacementId> {
    return this.#byChild.get(child) ?? new Set();
  }
}

function addTo<K>(sets: Map<K, Set<PlacementId>>, key: K, id: PlacementId): void {
  const ids = sets.get(key) ?? new Set();
  sets.set(key, ids.add(id));
}

function removeFrom<K>(sets: Map<K, Set<PlacementId>>, key: K, id: PlacementId): void {
  const ids = sets.get(key);
  ids?.delete(id);
  if (ids?.size === 0) sets.delete(key);
}

/** Returns the ids of all placements that the node knows. */
export function storedPlacements(reader: Reader): PlacementId[] {
  const prefix = prefixOf('placement');
  return [...reader.scan(prefixRange(prefix))].map(([key]) => asText(key.subarray(prefix.length)));
}

export function storePlacement(t: Transaction, id: PlacementId): void {
  t.put(concat(prefixOf('placement'), text(id)), new Uint8Array(0));
}

export function forgetPlacement(t: Transaction, id: PlacementId): void {
  t.remove(concat(prefixOf('placement'), text(id)));
}

/** Returns the children whose mailboxes have the placement. The rows are durable, like the mailboxes. */
export function matchedChildren(reader: Reader, id: PlacementId): string[] {
  const prefix = concat(prefixOf('matched'), text(id), nul);
  return [...reader.scan(prefixRange(prefix))].map(([key]) => asText(key.subarray(prefix.length)));
}

export function storeMatched(t: Transaction, id: PlacementId, child: string): void {
  t.put(concat(prefixOf('matched'), text(id), nul, text(child)), new Uint8Array(0));
}

export function forgetMatched(t: Transaction, id: PlacementId, child: string): void {
  t.remove(concat(prefixOf('matched'), text(id), nul, text(child)));
}

// ------------------------------------------------------------------------------ the objects of a placement

function selectionPrefix(id: PlacementId): Uint8Array {
  const { source, name } = splitPlacementId(id);
  return concat(prefixOf('selection'), text(source), nul, text(name), nul);
}

export function storeSelected(t: Transaction, id: PlacementId, keyHash: Uint8Array): void {
  t.put(concat(selectionPrefix(id), keyHash), new Uint8Array(0));
}

export function forgetSelected(t: Transaction, id: PlacementId, keyHash: Uint8Array): void {
  t.remove(concat(selectionPrefix(id), keyHash));
}

/** Returns the key hashes of the placement's objects, sorted. */
export function* selectedObjects(reader: Reader, id: PlacementId): Generator<Uint8Array> {
  const prefix = selectionPrefix(id);
  for (const [key] of reader.scan(prefixRange(prefix))) yield key.subarray(prefix.length);
}
