/**
 * Opens the spaces in this node's store: the system space with the inventory of the node's own agents, inventory spaces for all agents below the node, and
 * workload spaces whose placements reach all of these agents.
 */

import { builtinKinds } from '../../core/apiserver/builtin/builtin-kinds.ts';
import { CrdController } from '../../core/apiserver/crd/crd-controller.ts';
import { placementResource } from '../../core/apiserver/kinds/edge-placement.ts';
import { fillingOf } from '../../core/apiserver/kinds/fillings.ts';
import { ownKinds } from '../../core/apiserver/kinds/kinds-of-space.ts';
import { objectChecks } from '../../core/apiserver/kinds/object-checks.ts';
import { SpaceKinds } from '../../core/apiserver/kinds/space-kinds.ts';
import { EventExpiry } from '../../core/apiserver/lifecycle/event-expiry.ts';
import { GarbageCollector } from '../../core/apiserver/lifecycle/garbage-collector.ts';
import { NamespaceController } from '../../core/apiserver/lifecycle/namespace-controller.ts';
import { isPublishedKey, PublishedObjects } from '../../core/apiserver/lifecycle/published-objects.ts';
import { fieldManager } from '../../core/apiserver/managed-fields/field-manager.ts';
import type { Kind, Space, SpaceType, WriteAdmission } from '../../core/apiserver/space.ts';
import { EmbeddedStorage } from '../../core/apiserver/storage/embedded.ts';
import type { StorageEvent, WriteHook } from '../../core/apiserver/storage.ts';
import { type DryRunPreview, EmbeddedSpace, type WriteQuota } from '../../core/apiserver/verbs/embedded-space.ts';
import { LocalTable } from '../../core/feed/table.ts';
import type { DeliveryBounds } from '../../core/match/delivery-bounds.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import type { Store, Transaction } from '../../core/store/store.ts';
import { noteSourceChange } from '../schedule/source-changes.ts';
import { workTopic } from '../work/topics.ts';
import { Bursts, burstWaitMs } from './bursts.ts';
import { InventoryRows } from './inventory-rows.ts';
import { PlacementSelection } from './selection.ts';
import { RequestGate, spaceQuota } from './space-limits.ts';
import type { SpaceSettings } from './space-settings.ts';
import { SpaceUsage } from './space-usage.ts';

export interface SpacePorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  defer(run: () => void): void;
  /** The path of the node. The path of the center is empty. */
  readonly path: string;
  /** PEM: the authorities by which clients verify the node's API. Absent: nobody serves the API. */
  authority?(): string;
  /** Whether the node signs certificates of users. Absent: it does not. */
  readonly signsUsers?: boolean;
  /** Returns what a dry run in the workload space of a source shows in addition. Absent: nothing. */
  preview?(source: string): DryRunPreview;
}

export interface OpenSpace {
  readonly space: Space;
  readonly storage: EmbeddedStorage;
  close(): void;
}

export interface WorkloadSpace extends OpenSpace {
  readonly source: string;
  readonly table: LocalTable;
  readonly selection: PlacementSelection;
  readonly usage: SpaceUsage;
  readonly gate: RequestGate;
}

export interface InventorySpace extends OpenSpace {
  readonly table: LocalTable;
  readonly rows: InventoryRows;
}

/** The parts that only one type of space has. */
interface SpaceParts {
  readonly preview?: DryRunPreview | undefined;
  readonly admission?: WriteAdmission;
  bounds?(): DeliveryBounds | undefined;
  readonly quota?: (storage: EmbeddedStorage) => WriteQuota;
  /** Changes built-in kinds that have their nature in this space. */
  kindsOf?(kinds: readonly Kind[]): readonly Kind[];
}

/** Opens a space with the controllers that every space has: definitions, garbage collection, deletion of namespaces. */
export function openSpace(
  ports: SpacePorts,
  name: string,
  type: SpaceType,
  hook: WriteHook,
  { preview, admission, bounds, quota, kindsOf = (kinds) => kinds }: SpaceParts = {},
): OpenSpace {
  const { store, clock, random, log, defer, path } = ports;
  // Objects of the system space do not travel, so its revisions need not begin at the wall time (core/apiserver/storage/history.ts).
  const startsAt = type === 'System' ? {} : { startsAt: Math.floor(clock.wallMs()) };
  const storage = new EmbeddedStorage({ store, name, logger: log, hook, ...startsAt });
  const kinds = new SpaceKinds(storage, [...kindsOf(builtinKinds()), ...ownKinds(type)]);
  const space = new EmbeddedSpace({
    name,
    storage,
    kinds,
    clock,
    random,
    fields: fieldManager,
    admissions: admission ? [admission] : [],
    checks: objectChecks({ name, type, path, ...(bounds ? { bounds } : {}) }, kinds, storage),
    ...fillingOf(type),
    ...(preview ? { preview } : {}),
    ...(quota ? { quota: quota(storage) } : {}),
  });
  const shared = { space, clock, logger: log, schedule: defer };
  const controllers = [
    new CrdController(shared),
    new NamespaceController(shared),
    new GarbageCollector(shared),
    new EventExpiry(shared),
    new PublishedObjects({ ...shared, ...(ports.authority ? { authority: () => ports.authority!() } : {}) }),
  ];
  return {
    space,
    storage,
    close() {
      for (const controller of controllers) controller.close();
      kinds[Symbol.dispose]();
      storage.close();
    },
  };
}

/** Opens a workload space with its selection. After each commit, the space announces work for the selection. `settings`: of the Space, as they are now. */
export function openWorkloadSpace(
  ports: SpacePorts,
  name: string,
  source: string,
  settings: () => SpaceSettings = () => ({}),
): WorkloadSpace {
  let selection: PlacementSelection | undefined;
  const table = ports.store.write((t) => LocalTable.open(t, `source/${source}`));
  const hook = (t: Transaction, event: StorageEvent) => selection?.note(t, event);
  const bounds = () => settings().delivery;
  const limited = { name, limits: () => settings().limits };
  let usage: SpaceUsage | undefined;
  const opened = openSpace(ports, name, 'Workload', hook, {
    preview: ports.preview?.(source),
    bounds,
    quota(own) {
      usage = new SpaceUsage(own);
      return spaceQuota(limited, usage);
    },
  });
  const { storage, space } = opened;
  selection = new PlacementSelection({
    source,
    storage,
    kinds: space.kinds,
    table,
    noteChange: noteSourceChange,
    wallMs: () => ports.clock.wallMs(),
    bounds,
  });
  const bursts = new Bursts();
  storage.subscribe((events) => {
    const nowMs = ports.clock.monotonicMs();
    // The space's own objects in a new namespace are no burst of a user.
    const written = events.filter(({ object }) => !isPublishedKey(object.key));
    const namespaces = new Set(written.map(({ object }) => object.key.namespace));
    const waitMs = Math.min(burstWaitMs, ...Array.from(namespaces, (namespace) => bursts.waitMs(namespace, nowMs)));
    ports.store.announce(workTopic, [waitMs]);
  });
  return { ...opened, source, table, selection, usage: usage!, gate: new RequestGate(limited, ports.clock) };
}

/**
 * Call it in the transaction that changes the bounds of the space. The placements get a new revision, because they have another effect from now on: what leaves
 * and comes back has to be newer at each node than what was there before, and the targets have to move.
 */
export function followBounds(t: Transaction, { storage, selection }: WorkloadSpace): void {
  storage.writeIn(t, (writer) => {
    for (const { key, body } of storage.scan(placementResource)) writer.put(key, body);
  });
  selection.boundsChanged(t);
}

/** Opens an inventory space with its rows. The space announces work after each commit. */
export function openInventorySpace(ports: SpacePorts, name: string, source: string): InventorySpace {
  let rows: InventoryRows | undefined;
  const table = ports.store.write((t) => LocalTable.open(t, `source/${source}`));
  const opened = openSpace(ports, name, 'Inventory', (t: Transaction, event: StorageEvent) => rows?.note(t, event));
  const { storage } = opened;
  rows = new InventoryRows({ source, storage, table, noteChange: noteSourceChange });
  storage.subscribe(() => ports.store.announce(workTopic, [0]));
  return { ...opened, table, rows };
}
