/**
 * Makes the agent's report under each key of the up feed, from the present state of the rooms. The only state of this class is the list of objects for which
 * the agent waits for an answer of the cluster.
 */

import { entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../core/entries/placement-id.ts';
import { readSeen } from '../../core/entries/source-incarnations.ts';
import type { GoneAttributes } from '../../core/entries/up-attributes.ts';
import type { Table } from '../../core/feed/feed.ts';
import { type Acceptance, notAcceptedText } from '../../core/match/acceptance.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { formatKey, parseKey } from '../../core/object/key.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { text } from '../../core/store/bytes.ts';
import type { Store } from '../../core/store/store.ts';
import { decodePartial, encodePartial, isComplete } from '../../core/summary/partial.ts';
import type { Applier } from '../apply/applier.ts';
import type { OwnerRecords } from '../apply/owner-records.ts';
import { type ApplyProgress, unasked } from '../apply/progress.ts';
import type { RemovalProgress } from '../apply/removal-progress.ts';
import type { Causes } from '../causes/causes.ts';
import type { Delivery, Desired } from '../desired/desired.ts';
import { type Poisoned, poisonedState, withPoisoned } from '../desired/poisoned.ts';
import type { ObjectObservation, Observer } from '../observe/observer.ts';
import type { UpFeedEntry } from '../outbox/outbox.ts';
import type { EdgeReports } from './edge-reports.ts';
import { type ObjectState, objectState, placementPartial, refusedState, removalState } from './reported-state.ts';

export interface UpFeedEntriesPorts {
  /** The path of the agent. */
  readonly path: string;
  /** The rules of the site about objects of each source. */
  readonly accept?: Acceptance | undefined;
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
  readonly causes: Pick<Causes, 'of'>;
  readonly reports: EdgeReports;
  /** The agent does not know enough about the cluster to report anything about it. */
  isClusterUnknown(): boolean;
  /** The report of the agent about itself. */
  node(): UpFeedEntry;
  /** Marks the row under this key: the outbox has to make it again. */
  touch(key: string): void;
}

/** How long the agent waits before it reports that the cluster has not been asked yet. A cluster mostly answers within this time. */
const answerWaitMs = 250;

export class UpFeedEntries {
  readonly #ports: UpFeedEntriesPorts;
  /** The time since which the cluster has not been asked about the content of an object. Keyed by the `state` entry of the object. */
  readonly #unasked = new Map<string, number>();

  constructor(ports: UpFeedEntriesPorts) {
    this.#ports = ports;
  }

  /** Returns the row under a key of the up feed. Undefined: the row must not exist. 'unsure': the row stays as it is. */
  entryOf(key: string): UpFeedEntry | undefined | 'unsure' {
    const entry = parseEntryKey(key);
    if (this.#ports.isClusterUnknown() && entry?.type !== 'node' && entry?.type !== 'seen') return 'unsure';
    switch (entry?.type) {
      case 'state':
        return this.#stateEntry(entry.source, formatKey(entry.object));
      case 'partial':
        return this.#partialEntry(entry.id);
      case 'gone':
        return this.#goneEntry(entry.id);
      case 'has':
        return this.#handedEntry(entry.id);
      case 'node':
        return entry.path === this.#ports.path ? this.#ports.node() : undefined;
      case 'seen':
        return this.#seenEntry(entry.source);
      case 'upsynced':
      case 'associated':
        return this.#ports.reports.entryOf(entry);
      default:
        return undefined;
    }
  }

  /** Whether the key is the key of a state for which a placement wants exact status. */
  isFollowed(key: string): boolean {
    const entry = parseEntryKey(key);
    if (entry?.type !== 'state') return false;
    const delivery = this.#ports.desired.deliveryOf(entry.source, formatKey(entry.object));
    return (
      delivery?.placements.some((id) => this.#ports.desired.placement(id)?.target.reportedState === 'Exact') ?? false
    );
  }

  #stateEntry(source: string, key: string): UpFeedEntry | undefined | 'unsure' {
    const delivery = this.#ports.desired.deliveryOf(source, key);
    const flaw = this.#ports.poisoned.of(source, key);
    if (flaw) {
      const status = this.#observation(key)?.status;
      return { attributes: text(stableStringify(poisonedState(flaw))), body: status ?? new Uint8Array(0) };
    }
    const refused = this.#ports.desired.refused(key).find((one) => one.source === source);
    if (refused) return this.#refusedEntry(refused);
    if (!delivery) {
      this.#unasked.delete(entryKey.state(source, parseKey(key)));
      return undefined;
    }
    const { conflicted, failed, waits: _waits, ...attributes } = this.#state(delivery);
    if (this.#isAwaited(source, key, attributes.reason === unasked)) return 'unsure';
    const seen = conflicted ? undefined : this.#observation(key);
    const generation = this.#ports.records.get(key)?.generation;
    const of = seen && generation !== undefined ? { generation, local: seen.generation } : {};
    const form = { uid: delivery.uid, generation: delivery.generation };
    const reported = { ...attributes, form, ...(failed ? { failed } : {}), ...of };
    return { attributes: text(stableStringify(reported)), body: seen?.status ?? new Uint8Array(0) };
  }

  #refusedEntry(delivery: Delivery): UpFeedEntry {
    const { conflicted: _conflicted, waits: _waits, ...state } = this.#refusal(delivery);
    const form = { uid: delivery.uid, generation: delivery.generation };
    return { attributes: text(stableStringify({ ...state, form })), body: new Uint8Array(0) };
  }

  #refusal({ source, key, revision }: Delivery): ObjectState {
    const { accept = [], path } = this.#ports;
    return refusedState(revision, notAcceptedText(accept, path, source, parseKey(key)));
  }

  /**
   * Whether to wait for the answer of the cluster. Without the wait, half of all reports about a change would only contain that the agent is about to make
   * the change.
   */
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

  #partialEntry(id: PlacementId): UpFeedEntry | undefined {
    const placement = this.#ports.desired.placement(id);
    if (!placement) return undefined;
    const states: [string, ObjectState][] = [];
    for (const key of placement.objects) {
      const delivery = this.#ports.desired.deliveries(key).find((one) => one.placements.includes(id));
      if (delivery) states.push([key, this.#state(delivery, [id])]);
      const refused = this.#ports.desired.refused(key).find((one) => one.placements.includes(id));
      if (refused) states.push([key, this.#refusal(refused)]);
    }
    for (const [key, obstacle] of this.#ports.removalProgress.removalObstacles(id))
      states.push([key, removalState(obstacle)]);
    const settled = !this.#ports.removalProgress.isBeingRemoved(id);
    const { path } = this.#ports;
    const partial = placementPartial(path, placement.target, states, settled, this.#ports.reports.notes(id));
    const body = encodePartial(withPoisoned(partial, path, this.#ports.poisoned.ofPlacement(id)));
    return { attributes: new Uint8Array(0), body };
  }

  /**
   * The answer to the parent's question whether all objects of a withdrawn placement are gone from the cluster. An object that another placement still wants
   * stays, and its row may go on naming the withdrawn placement: a row names every placement of its source. So the target tells whether the placement is here.
   */
  #goneEntry(id: PlacementId): UpFeedEntry | undefined {
    const asked = this.#ports.desired.withdrawn().get(id);
    if (asked === undefined || this.#ports.desired.placement(id)) return undefined;
    if (this.#ports.removalProgress.isBeingRemoved(id)) return undefined;
    const attributes: GoneAttributes = { asked };
    return { attributes: text(stableStringify(attributes)), body: new Uint8Array(0) };
  }

  #handedEntry(id: PlacementId): UpFeedEntry | undefined {
    const { store, downstream } = this.#ports;
    const content = store.read((reader) => {
      const row = downstream.get(reader, hash128(entryKey.handed(id)));
      return row?.content && downstream.content(reader, row.content);
    });
    return content && { attributes: content.attributes, body: content.body };
  }

  #seenEntry(source: string): UpFeedEntry {
    const revision = this.#ports.store.read((reader) => readSeen(reader, source));
    return { attributes: text(stableStringify({ revision })), body: new Uint8Array(0) };
  }

  /** The state of the object for the given placements; by default, for all placements that want the object. */
  #state(delivery: Delivery, placements: readonly PlacementId[] = delivery.placements): ObjectState {
    const { key, revision } = delivery;
    const winner = this.#ports.desired.deliveries(key)[0] ?? delivery;
    const isOnlyNeeded = placements.every((id) => delivery.implied.includes(id));
    // An object that the placements only imply counts as present, whichever source delivers it.
    const seenAs = isOnlyNeeded ? { ...winner, revision } : delivery;
    const progress = this.#ports.applier.progress(key);
    const done = isOnlyNeeded ? withoutAdoption(progress) : progress;
    return objectState(seenAs, winner, done, this.#observation(key), this.#ports.causes.of(key));
  }

  /** The present observation of the object, or the last one if the object has ended and is gone. */
  #observation(key: string): ObjectObservation | undefined {
    return this.#ports.observer.observation(key) ?? this.#ports.records.endedOf(key);
  }
}

/** Nobody asked for an object that is only needed. For example, most sites have made the namespace before. So its adoption is no news. */
function withoutAdoption(progress: ApplyProgress | undefined): ApplyProgress | undefined {
  if (progress?.phase !== 'applied') return progress;
  const { isAdopted: _adopted, ...rest } = progress;
  return rest;
}

/**
 * Whether all objects of the placement have become available since the partial was written last. The states of the objects say so at once, and a tool that has
 * waited for an object must not find an older state of the placement.
 */
export function hasBecomeComplete(partial: UpFeedEntry | undefined, former: UpFeedEntry | undefined): boolean {
  if (!partial || !isComplete(decodePartial(partial.body))) return false;
  return !former || !isComplete(decodePartial(former.body));
}
