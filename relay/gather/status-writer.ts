/** Writes what was gathered: partials and exact statuses to the parent, the status of own EdgePlacements, exact statuses into own objects. */
import type { Space } from '../../core/apiserver/space.ts';
import type { Producer, Table } from '../../core/feed/feed.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { timestamp } from '../../core/object/conditions.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import type { Condition, KubeObject } from '../../core/object/meta.ts';
import type { Outcome } from '../../core/rollout/controller.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import { text } from '../../core/store/bytes.ts';
import type { Reader, Store } from '../../core/store/store.ts';
import { encodePartial, type Partial } from '../../core/summary/partial.ts';
import { objectKey, type PlacementId, partialKey, placementId } from '../../core/wire/entries.ts';
import type { Child } from '../schedule/children.ts';
import type { Placement, Placements } from '../schedule/placements.ts';
import { attributesOf } from '../schedule/schedule.ts';
import { placementResource } from '../spaces/selection.ts';
import { tellConflict } from './conflict-event.ts';
import type { Gather } from './gather.ts';
import { type PlacementStatus, placementStatus } from './placement-status.ts';
import { forwardStatuses, singletonStatuses } from './singleton.ts';
import { withSummarizers } from './summarizers-resolved.ts';

export interface StatusWriterPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly gather: Gather;
  readonly placements: Placements;
  readonly outbox: Producer;
  readonly children: ReadonlyMap<string, Child>;
  ownSpace(source: string): Space | undefined;
  tableOf(source: string): Table;
  reportedOf(child: string): Table | undefined;
  /** Why StatusSummarizers that the placement names can't be used, by name; undefined: it names none. */
  unresolved(id: PlacementId): ReadonlyMap<string, string> | undefined;
  /** Of an own placement whose releases go out in waves. */
  rolloutOf(id: PlacementId): Outcome | undefined;
}

export class StatusWriter {
  readonly #ports: StatusWriterPorts;
  /** Conditions of placements from above: what an own placement keeps in its status. */
  readonly #conditions = new Map<PlacementId, readonly Condition[]>();
  /** Placements whose objects have exact status now: what is taken back when they stop being single. */
  readonly #exact = new Set<PlacementId>();

  constructor(ports: StatusWriterPorts) {
    this.#ports = ports;
  }

  /** Returns the placements of which something changed. */
  write(ids: readonly PlacementId[]): PlacementId[] {
    return ids.filter((id) => this.#writeOne(id));
  }

  /** JSON of the status of a placement from above, as this subtree has it. */
  statusOf(reader: Reader, id: PlacementId): Uint8Array | undefined {
    const partial = this.#ports.gather.total(reader, id);
    return partial && text(JSON.stringify(this.#status(id, partial, this.#conditions.get(id) ?? [])));
  }

  /** The placements with exact status that have an object. */
  singletonsOf(source: string, object: ObjectKey): PlacementId[] {
    const { store, placements, tableOf } = this.#ports;
    const names = store.read((reader) => {
      const table = tableOf(source);
      const row = table.get(reader, hash128(objectKey(source, object)));
      return row?.content ? attributesOf<{ refs: string[] }>(table.content(reader, row.content)).refs : [];
    });
    return names.map((name) => placementId(source, name)).filter((id) => placements.get(id)?.target?.singleton);
  }

  #writeOne(id: PlacementId): boolean {
    const { store, gather, placements, outbox, ownSpace } = this.#ports;
    const placement = placements.get(id);
    const own = ownSpace(placement?.source ?? '');
    if (!placement) {
      this.#conditions.delete(id);
      this.#exact.delete(id);
      return store.write((t) => outbox.remove(t, hash128(partialKey(id)), 0));
    }
    const partial = store.read((reader) => gather.total(reader, id));
    if (!partial) return false;
    if (own) this.#writeSpace(own, placement, partial);
    else this.#conditions.set(id, this.#status(id, partial, this.#conditions.get(id) ?? []).conditions);
    if (placement.target?.singleton || this.#exact.has(id)) this.#writeExact(placement, partial, own);
    if (own) return true;
    return store.write((t) =>
      outbox.put(t, { key: partialKey(id), attributes: text('{}'), body: encodePartial(partial) }, 0),
    );
  }

  #status(id: PlacementId, partial: Partial, before: readonly Condition[]): PlacementStatus {
    const now = timestamp(this.#ports.clock.wallMs());
    const status = placementStatus(partial, before, now, this.#ports.rolloutOf(id));
    const unresolved = this.#ports.unresolved(id);
    return { ...status, conditions: withSummarizers(status.conditions, unresolved, partial.generation, now) };
  }

  #writeSpace(space: Space, placement: Placement, partial: Partial): void {
    const object = space.get({ ...placementResource, namespace: '', name: placement.name });
    // A placement that was changed just now is told of when its own generation has been scheduled.
    if (!object || object.metadata.generation !== partial.generation) return;
    const before = (object.status as { conditions?: Condition[] } | undefined)?.conditions ?? [];
    const status = this.#status(placement.id, partial, before);
    this.#update(space, object, status);
    tellConflict(space, object, before, status.conditions, this.#ports.clock.wallMs(), this.#ports.log);
  }

  #writeExact(placement: Placement, partial: Partial, own: Space | undefined): void {
    const { store, outbox } = this.#ports;
    const isSingle = placement.target?.singleton === true && partial.counts.expected === 1;
    const statuses = store.read((reader) => singletonStatuses(reader, this.#ports, placement, isSingle));
    if (isSingle) this.#exact.add(placement.id);
    else this.#exact.delete(placement.id);
    if (!own) {
      store.write((t) => forwardStatuses(t, outbox, placement, statuses));
      return;
    }
    for (const { object, status } of statuses) {
      const current = own.get(object);
      if (current)
        this.#update(own, current, status ? (JSON.parse(Buffer.from(status).toString()) as object) : undefined);
    }
  }

  #update(space: Space, object: KubeObject, status: object | undefined): void {
    if (stableStringify(object.status ?? {}) === stableStringify(status ?? {})) return;
    try {
      const { status: _old, ...rest } = object;
      space.update(
        {
          ...rest,
          apiVersion: object.apiVersion,
          kind: object.kind,
          metadata: object.metadata,
          ...(status ? { status } : {}),
        },
        { subresource: 'status' },
      );
    } catch (error) {
      // Whoever changed the object meanwhile made it dirty again; a kind without status takes none.
      if (!(error instanceof BanyanError)) throw error;
      this.#ports.log.debug({ object: object.metadata.name, reason: describeError(error) }, 'a status was not written');
    }
  }
}
