/**
 * What the agent says under each key of its up feed, from what the rooms know now. Nothing is kept here but since when an answer of the cluster is
 * awaited.
 */

import { entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../core/entries/placement-id.ts';
import { readSeen } from '../../core/entries/source-incarnations.ts';
import type { GoneAttributes } from '../../core/entries/up-attributes.ts';
import type { Table } from '../../core/feed/feed.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { formatKey, parseKey } from '../../core/object/key.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { text } from '../../core/store/bytes.ts';
import type { Store } from '../../core/store/store.ts';
import { encodePartial } from '../../core/summary/partial.ts';
import type { Applier } from '../apply/applier.ts';
import type { OwnerRecords } from '../apply/owner-records.ts';
import { unasked } from '../apply/progress.ts';
import type { RemovalProgress } from '../apply/removal-progress.ts';
import type { Delivery, Desired } from '../desired/desired.ts';
import { type Poisoned, poisonedState, withPoisoned } from '../desired/poisoned.ts';
import type { Observer } from '../observe/observer.ts';
import type { UpFeedEntry } from '../outbox/outbox.ts';
import type { EdgeReports } from './edge-reports.ts';
import { type ObjectState, objectState, placementPartial, removalState } from './reported-state.ts';

export interface UpFeedEntriesPorts {
  /** Of the agent. */
  readonly path: string;
  readonly store: Store;
  readonly clock: Clock;
  /** The table of the down feed. */
  readonly downstream: Table;
  readonly desired: Desired;
  readonly poisoned: Poisoned;
  readonly records: OwnerRecords;
  readonly applier: Applier;
  readonly removalProgress: RemovalProgress;
  readonly observer: Observer;
  readonly reports: EdgeReports;
  /** Of the cluster nothing is known that could be said. */
  isQuiet(): boolean;
  /** What the agent says of itself. */
  node(): UpFeedEntry;
  /** The row under this key is to be said anew. */
  touch(key: string): void;
}

/** A cluster answers within this, mostly; that it has not been asked yet is told only of what takes longer. */
const answerWaitMs = 250;

export class UpFeedEntries {
  readonly #ports: UpFeedEntriesPorts;
  /** Objects whose content the cluster has not been asked about, by source and key: since when. */
  readonly #unasked = new Map<string, number>();

  constructor(ports: UpFeedEntriesPorts) {
    this.#ports = ports;
  }

  /** The row under a key of the up feed as it is to be; undefined: there is none. */
  say(key: string): UpFeedEntry | undefined | 'unsure' {
    const entry = parseEntryKey(key);
    if (this.#ports.isQuiet() && entry?.type !== 'node' && entry?.type !== 'seen') return 'unsure';
    switch (entry?.type) {
      case 'state':
        return this.#sayState(entry.source, formatKey(entry.object));
      case 'partial':
        return this.#sayPartial(entry.id);
      case 'gone':
        return this.#sayGone(entry.id);
      case 'has':
        return this.#sayHas(entry.id);
      case 'node':
        return entry.path === this.#ports.path ? this.#ports.node() : undefined;
      case 'seen':
        return this.#saySeen(entry.source);
      case 'upsynced':
      case 'associated':
        return this.#ports.reports.say(entry);
      default:
        return undefined;
    }
  }

  /** The status of an object of a placement that wants it exact. */
  isFollowed(key: string): boolean {
    const entry = parseEntryKey(key);
    if (entry?.type !== 'state') return false;
    const delivery = this.#ports.desired.deliveryOf(entry.source, formatKey(entry.object));
    return delivery?.placements.some((id) => this.#ports.desired.placement(id)?.target.singleton) ?? false;
  }

  #sayState(source: string, key: string): UpFeedEntry | undefined | 'unsure' {
    const delivery = this.#ports.desired.deliveryOf(source, key);
    const flaw = this.#ports.poisoned.of(source, key);
    if (flaw) {
      const status = this.#ports.observer.observation(key)?.status;
      return { attributes: text(stableStringify(poisonedState(flaw))), body: status ?? new Uint8Array(0) };
    }
    if (!delivery) {
      this.#unasked.delete(entryKey.state(source, parseKey(key)));
      return undefined;
    }
    const { conflicted, failed, ...attributes } = this.#state(delivery);
    if (this.#isAwaited(source, key, attributes.reason === unasked)) return 'unsure';
    const seen = conflicted ? undefined : this.#ports.observer.observation(key);
    const generation = this.#ports.records.get(key)?.generation;
    const of = seen && generation !== undefined ? { generation, local: seen.generation } : {};
    const said = { ...attributes, ...(failed ? { failed } : {}), ...of };
    return { attributes: text(stableStringify(said)), body: seen?.status ?? new Uint8Array(0) };
  }

  /** The answer of the cluster is worth waiting for: half of what would be told of a change is that it is about to be made. */
  #isAwaited(source: string, key: string, isUnasked: boolean): boolean {
    const name = entryKey.state(source, parseKey(key));
    const nowMs = this.#ports.clock.monotonicMs();
    const sinceMs = this.#unasked.get(name);
    if (!isUnasked) {
      this.#unasked.delete(name);
      return false;
    }
    if (sinceMs !== undefined) return nowMs - sinceMs < answerWaitMs;
    this.#unasked.set(name, nowMs);
    this.#ports.clock.after(answerWaitMs, () => this.#ports.touch(name));
    return true;
  }

  #sayPartial(id: PlacementId): UpFeedEntry | undefined {
    const placement = this.#ports.desired.placement(id);
    if (!placement) return undefined;
    const states: [string, ObjectState][] = [];
    for (const key of placement.objects) {
      const delivery = this.#ports.desired.deliveries(key).find((one) => one.placements.includes(id));
      if (delivery) states.push([key, this.#state(delivery, [id])]);
    }
    for (const [key, hindrance] of this.#ports.removalProgress.removalObstacles(id))
      states.push([key, removalState(hindrance)]);
    const settled = !this.#ports.removalProgress.isBeingRemoved(id);
    const { path } = this.#ports;
    const partial = placementPartial(path, placement.target, states, settled, this.#ports.reports.notes(id));
    const body = encodePartial(withPoisoned(partial, path, this.#ports.poisoned.ofPlacement(id)));
    return { attributes: new Uint8Array(0), body };
  }

  /** The answer to the parent's question whether a placement that it has taken away has gone from the cluster. */
  #sayGone(id: PlacementId): UpFeedEntry | undefined {
    const asked = this.#ports.desired.withdrawn().get(id);
    if (asked === undefined || this.#ports.desired.isWanted(id) || this.#ports.removalProgress.isBeingRemoved(id))
      return undefined;
    const attributes: GoneAttributes = { asked };
    return { attributes: text(stableStringify(attributes)), body: new Uint8Array(0) };
  }

  #sayHas(id: PlacementId): UpFeedEntry | undefined {
    const { store, downstream } = this.#ports;
    const content = store.read((reader) => {
      const row = downstream.get(reader, hash128(entryKey.handed(id)));
      return row?.content && downstream.content(reader, row.content);
    });
    return content && { attributes: content.attributes, body: content.body };
  }

  #saySeen(source: string): UpFeedEntry {
    const revision = this.#ports.store.read((reader) => readSeen(reader, source));
    return { attributes: text(stableStringify({ revision })), body: new Uint8Array(0) };
  }

  /** As some of the placements that want the object see it. */
  #state(delivery: Delivery, placements: readonly PlacementId[] = delivery.placements): ObjectState {
    const { key, revision } = delivery;
    const winner = this.#ports.desired.deliveries(key)[0] ?? delivery;
    const isOnlyNeeded = placements.every((id) => delivery.implied.includes(id));
    // What is only needed is there whoever brings it.
    const seenAs = isOnlyNeeded ? { ...winner, revision } : delivery;
    return objectState(seenAs, winner, this.#ports.applier.progress(key), this.#ports.observer.observation(key));
  }
}
