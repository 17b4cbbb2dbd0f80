/**
 * From an inventory space to its source table: one row for each SyncTarget that names an agent, with the Locations that select the SyncTarget. The write hook
 * of the space marks changed objects; this class processes the marks in bounded transactions. When a Location changes, the rows of the SyncTargets that it
 * selects or selected are written again. If the Location has an instanceSelector, this search reads the labels of all SyncTargets of the space once.
 */
import type { SpaceStorage, StorageEvent } from '../../core/apiserver/storage.ts';
import type { InventoryAttributes, InventoryBody } from '../../core/entries/down-attributes.ts';
import { entryKey } from '../../core/entries/entry-keys.ts';
import { parseBody, stableStringify } from '../../core/object/canonical.ts';
import { formatKey, type ObjectKey, parseKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { text } from '../../core/store/bytes.ts';
import type { Transaction } from '../../core/store/store.ts';
import { Inventory, isLocation, isSyncTarget, syncTargetResource } from '../children/inventory.ts';
import { clearDirty, dirtyWork, markDirty } from '../work/dirty.ts';
import { changesOnlyStatus, payloadOf } from './payload.ts';
import { dropRow, putRow, type SourceRows } from './source-rows.ts';

export interface InventoryRowsPorts extends SourceRows {
  /** `center.fleet` */
  readonly source: string;
  readonly storage: SpaceStorage;
}

/** Limit for the objects that one transaction processes, the same as in a selection. */
const objectsPerStep = 200;

export class InventoryRows {
  readonly #ports: InventoryRowsPorts;
  readonly inventory: Inventory;

  constructor(ports: InventoryRowsPorts) {
    this.#ports = ports;
    this.inventory = new Inventory(ports.storage);
  }

  /**
   * The write hook of the space. It marks the object. For a Location it also records its previous selection: when the mark is processed, nothing else shows
   * that selection any more.
   */
  note(t: Transaction, event: StorageEvent): void {
    const { key, revision, body } = event.object;
    const travels = !changesOnlyStatus(event);
    if (isSyncTarget(key) && travels) this.#mark(t, key, [], revision);
    if (!isLocation(key)) return;
    this.inventory.learn(event);
    if (!travels) return;
    const former = event.before?.body ?? (event.type === 'DELETED' ? body : undefined);
    this.#mark(t, key, former ? [asSelecting(parseBody(former))] : [], revision);
  }

  /** Does one bounded piece of work. Returns true if more work may be left. */
  step(t: Transaction): boolean {
    const { source, storage } = this.#ports;
    const prefix = `${source}/`;
    const work = dirtyWork(t, 'space', objectsPerStep, prefix);
    for (const item of work) {
      clearDirty(t, 'space', item.key);
      const key = parseKey(item.key.slice(prefix.length));
      // The row gets the present revision of the space. If its revision were older than the revision of the row's last form, nodes below would ignore the row
      // as outdated.
      if (isSyncTarget(key)) this.#syncTarget(t, key.name, storage.revision());
      else this.#location(t, key, item.refs);
    }
    return work.length > 0;
  }

  #location(t: Transaction, key: ObjectKey, before: readonly string[]): void {
    const { storage } = this.#ports;
    const stored = storage.get(key);
    const states = [...(stored ? [parseBody(stored.body)] : []), ...before.map(parseSelecting)];
    for (const name of states.length === 0 ? [] : this.inventory.selectedBy(states)) {
      this.#mark(t, { ...syncTargetResource, namespace: '', name }, [], storage.revision());
    }
  }

  #syncTarget(t: Transaction, name: string, revision: number): void {
    const { source, storage } = this.#ports;
    const key = entryKey.inventory(source, name);
    const stored = storage.get({ ...syncTargetResource, namespace: '', name });
    const syncTarget = stored && parseBody(stored.body);
    const path = (syncTarget?.spec as { attachTo?: string } | undefined)?.attachTo;
    if (!syncTarget || path === undefined) {
      dropRow(t, this.#ports, key, revision);
      return;
    }
    const locations = this.inventory.locationsOf(name, {}).map(({ object }) => travelling(object));
    const attributes: InventoryAttributes = { path };
    const body: InventoryBody = {
      syncTarget: travelling(syncTarget),
      locations: locations.sort((a, b) => (a.metadata.name! < b.metadata.name! ? -1 : 1)),
    };
    putRow(
      t,
      this.#ports,
      { key, attributes: text(stableStringify(attributes)), body: text(stableStringify(body)) },
      revision,
    );
  }

  #mark(t: Transaction, key: ObjectKey, refs: readonly string[], revision: number): void {
    markDirty(t, 'space', `${this.#ports.source}/${formatKey(key)}`, refs, revision);
  }
}

/**
 * Returns the object as its author wrote it, so that a change of its status is no change for nodes below. The uid is added, because a rollout knows a
 * destination by its uid.
 */
function travelling(object: KubeObject): KubeObject {
  const payload = parseBody(payloadOf(object));
  const { uid, creationTimestamp } = object.metadata;
  const origin = {
    ...(uid === undefined ? {} : { uid }),
    ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
  };
  return { ...payload, metadata: { ...payload.metadata, ...origin } };
}

/** Returns the part of a Location that decides which SyncTargets it selects. */
function asSelecting({ apiVersion, kind, metadata, spec }: KubeObject): string {
  const { instanceSelector } = (spec ?? {}) as { instanceSelector?: object };
  const { name } = metadata;
  return stableStringify({ apiVersion, kind, metadata: { name }, spec: instanceSelector ? { instanceSelector } : {} });
}

function parseSelecting(line: string): KubeObject {
  return parseBody(text(line));
}
