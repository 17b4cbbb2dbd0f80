/**
 * Writes the aggregates: as partials to the parent, as `.status` into the objects of an own space, and into the read-only space of a source above. Each object
 * has its turn at a bounded rate (relay/gather/status/reporter.ts). Its status is then written as it is at that moment, and only if it has changed.
 */

import type { Space } from '../../../core/apiserver/space.ts';
import { entryKey } from '../../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../../core/entries/placement-id.ts';
import type { Producer, Table } from '../../../core/feed/feed.ts';
import { parseBody, stableStringify } from '../../../core/object/canonical.ts';
import { timestamp } from '../../../core/object/conditions.ts';
import { hash128 } from '../../../core/object/hash.ts';
import { parseJson } from '../../../core/object/json.ts';
import { type ObjectKey, parseKey } from '../../../core/object/key.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { isTerminating } from '../../../core/object/terminating.ts';
import type { Clock } from '../../../core/runtime/clock.ts';
import type { Logger } from '../../../core/runtime/logger.ts';
import { asText, text } from '../../../core/store/bytes.ts';
import type { Store } from '../../../core/store/store.ts';
import { aggregatedStatus, withTransitionTimes } from '../../../core/summary/aggregated-status.ts';
import type { Status } from '../../../core/summary/destination-status.ts';
import { destinationsOf, type StatusPartial } from '../../../core/summary/status-partial.ts';
import { encodeStatusPartial } from '../../../core/summary/status-partial-wire.ts';
import { shownTopic } from '../../work/topics.ts';
import { updateStatus } from '../status/update-status.ts';
import { type Aggregate, type Aggregates, aggregateName } from './aggregates.ts';
import { ReplicaSetBeside } from './replica-set-beside.ts';
import { StatusRecord } from './status-record.ts';

export interface AggregateWriterPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly outbox: Producer;
  readonly aggregates: Aggregates;
  tableOf(source: string): Table | undefined;
  ownSpace(source: string): Space | undefined;
  /** Returns whether the last release of the placement was rolled back. */
  isRolledBack(id: PlacementId): boolean;
}

export class AggregateWriter {
  readonly #ports: AggregateWriterPorts;
  readonly #record: StatusRecord;
  readonly #replicaSets: ReplicaSetBeside;
  /** Statuses of objects of sources above, as JSON. Keyed by the name of the aggregate. */
  readonly #shown = new Map<string, Uint8Array>();

  constructor(ports: AggregateWriterPorts) {
    this.#ports = ports;
    this.#record = new StatusRecord(ports.store);
    this.#replicaSets = new ReplicaSetBeside(this.#record, ports.log);
  }

  /** Returns the objects whose status an earlier run of the process wrote. */
  written(): Iterable<{ readonly source: string; readonly object: ObjectKey }> {
    return this.#record.objects();
  }

  /** Returns the status of an object of a source above, for the subtree of this node, as JSON. */
  statusOf(source: string, object: ObjectKey): Uint8Array | undefined {
    return this.#shown.get(aggregateName(source, object));
  }

  write(names: readonly string[]): void {
    for (const name of names) {
      const blank = name.indexOf(' ');
      const [source, object] = [name.slice(0, blank), parseKey(name.slice(blank + 1))];
      const aggregate = this.#ports.aggregates.get(source, object);
      const space = this.#ports.ownSpace(source);
      if (space) this.#writeOwn(space, source, object, aggregate);
      else this.#writeUp(source, object, aggregate);
    }
  }

  // -------------------------------------------------------------------------------------------------- own spaces

  #writeOwn(space: Space, source: string, key: ObjectKey, aggregate: Aggregate | undefined): void {
    const object = space.get(key);
    const written = this.#record.get(source, key);
    // The space already has another form than the row: the row changes next, and then the object is reported again.
    const isOther = object && aggregate && !isAbout(aggregate, object);
    if (isOther || (object && isTerminating(object))) return;
    const hasStatus = object && space.kinds.byResource(key)?.subresources.status === true;
    const status = hasStatus && aggregate && this.#statusOf(aggregate, object, this.#total(aggregate));
    if (!object || !status) {
      if (!written) return;
      this.#replicaSets.remove(space, key, written);
      if (object) updateStatus(space, object, undefined, this.#ports.log);
      this.#record.delete(source, key);
      return;
    }
    // The record is written before the status. So if the process ends in between, the node can still take the status back.
    this.#record.set(source, key, written ?? {});
    updateStatus(space, object, status, this.#ports.log);
    this.#replicaSets.sync(space, source, key);
  }

  // ----------------------------------------------------------------------------------------------- sources above

  #writeUp(source: string, key: ObjectKey, aggregate: Aggregate | undefined): void {
    const { store, outbox } = this.#ports;
    const total = aggregate && this.#total(aggregate);
    const entry = entryKey.aggregate(source, key);
    store.write((t) => {
      if (!aggregate || !total) return void outbox.remove(t, hash128(entry), 0);
      const attributes = text(stableStringify({ uid: aggregate.uid, generation: aggregate.generation }));
      outbox.put(t, { key: entry, attributes, body: encodeStatusPartial(total) }, 0);
    });
    this.#show(source, key, aggregate, total);
  }

  #show(source: string, key: ObjectKey, aggregate: Aggregate | undefined, total: StatusPartial | undefined): void {
    const name = aggregateName(source, key);
    const before = this.#shown.get(name);
    const former = before && (parseJson(asText(before)) as Status);
    const object = aggregate && this.#rowObject(aggregate, former);
    const status = object && this.#statusOf(aggregate, object, total);
    const after = status && text(stableStringify(status));
    if ((after && asText(after)) === (before && asText(before))) return;
    if (after) this.#shown.set(name, after);
    else this.#shown.delete(name);
    this.#ports.store.announce(shownTopic, [{ source, key }]);
  }

  /** Returns the object as its row has it, with its status before. */
  #rowObject({ source, keyHash, uid, generation }: Aggregate, status: Status | undefined): KubeObject | undefined {
    const table = this.#ports.tableOf(source);
    const content = this.#ports.store.read((reader) => {
      const row = table?.get(reader, keyHash);
      return row?.content && table?.content(reader, row.content);
    });
    if (!content) return undefined;
    const object = parseBody(content.body);
    return { ...object, metadata: { ...object.metadata, uid, generation }, status };
  }

  // ------------------------------------------------------------------------------------------------------ status

  #total(aggregate: Aggregate): StatusPartial | undefined {
    return this.#ports.store.read((reader) => this.#ports.aggregates.total(reader, aggregate));
  }

  #statusOf(
    { rules, placements, isExact }: Aggregate,
    object: KubeObject,
    partial: StatusPartial | undefined,
  ): Status | undefined {
    if (!partial) return undefined;
    if (isExact) return destinationsOf(partial) === 1 ? partial.only : undefined;
    // Objects that the release did not change are not concerned.
    const hasFormer = (partial.observed ?? 0) < (object.metadata.generation ?? 0);
    const isRolledBack = hasFormer && placements.some((id) => this.#ports.isRolledBack(id));
    const status = aggregatedStatus({ rules, object, partial, isRolledBack });
    return status && withTransitionTimes(status, object.status, timestamp(this.#ports.clock.wallMs()));
  }
}

function isAbout({ uid, generation }: Aggregate, { metadata }: KubeObject): boolean {
  return metadata.uid === uid && (metadata.generation ?? 0) === generation;
}
