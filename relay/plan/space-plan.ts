/**
 * The origin's part of `banyan plan`: what would change if some objects of a space were written. For each placement that the objects concern: how many destinations
 * match, and which objects the placement selects. For `--at`, also the rows that the placements' source would have. The last hop makes the objects from these rows
 * (destination-plan.ts).
 */
import {
  type DownsyncItem,
  type EdgePlacementSpec,
  placementResource,
} from '../../core/apiserver/kinds/edge-placement.ts';
import { mayTravel } from '../../core/apiserver/kinds/travelling.ts';
import type { Space } from '../../core/apiserver/space.ts';
import { EmbeddedStorage } from '../../core/apiserver/storage/embedded.ts';
import { customizerResource } from '../../core/customize/customizer.ts';
import type { RefsAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import { placementId } from '../../core/entries/placement-id.ts';
import type { Content, Table } from '../../core/feed/feed.ts';
import { LocalTable } from '../../core/feed/table.ts';
import { canonicalBytes } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { formatKey, type ObjectKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { compareText } from '../../core/object/text-order.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { silentLogger } from '../../core/runtime/logger.ts';
import { MemoryStore } from '../../core/store/memory/memory-store.ts';
import type { Reader } from '../../core/store/store.ts';
import type { PlacementSelectors } from '../placements/read-placement.ts';
import { isCustomizer } from '../promoted/held-customizers.ts';
import { definitionObjects, namespaceObjects } from '../spaces/needs.ts';
import { PlacementSelection } from '../spaces/selection.ts';
import { type ObjectPreview, previewObjects, selects, visitSelected } from './object-preview.ts';
import { SpaceOverlay } from './overlay.ts';
import { type PlacePreview, type PlacePreviewPorts, previewPlaces } from './place-preview.ts';

export interface SpacePlanPorts extends PlacePreviewPorts {
  readonly space: Space;
  readonly source: string;
  readonly table: Table;
}

export interface PlacementPlan {
  readonly name: string;
  /** True: the space has no placement of this name yet. */
  readonly isNew: boolean;
  readonly places: PlacePreview;
  readonly objects: ObjectPreview;
}

export interface SpacePlan {
  readonly source: string;
  readonly placements: readonly PlacementPlan[];
}

/** Limit for the objects that one plan makes for a destination. A person reads the differences of a few dozen. */
const objectsMadeMax = 1_000;

interface Planned {
  readonly name: string;
  readonly isNew: boolean;
  readonly present: readonly DownsyncItem[];
  readonly next: EdgePlacementSpec;
}

/** `objects`: the objects as the space would store them. Without objects, the plan is about all placements of the space as they are. */
export function planWith(reader: Reader, ports: SpacePlanPorts, objects: readonly KubeObject[]): SpacePlan {
  const overlay = new SpaceOverlay(ports.space.storage, ports.space.kinds, objects);
  const placements = plannedOf(ports, overlay, reader, objects.length === 0).map(({ name, isNew, present, next }) => ({
    name,
    isNew,
    places: previewPlaces(ports, placementId(ports.source, name), next as PlacementSelectors),
    objects: previewObjects(overlay, present, next.downsync ?? []),
  }));
  return { source: ports.source, placements };
}

/**
 * Returns the rows that the source would have for the planned placements: placements, the objects that they would have, and all Customizers. The rows come from the
 * selection of a space, which runs over copies of the objects in memory. So they are what the node would send.
 */
export function plannedRows(
  reader: Reader,
  ports: SpacePlanPorts,
  objects: readonly KubeObject[],
): { readonly planned: readonly string[]; readonly rows: readonly Content[] } {
  const { space } = ports;
  const overlay = new SpaceOverlay(space.storage, space.kinds, objects);
  const planned = plannedOf(ports, overlay, reader, objects.length === 0);
  // Keyed by formatted key: several placements may select one object.
  const copied = new Map<string, readonly [ObjectKey, KubeObject]>();
  const copy = (key: ObjectKey, object: KubeObject) => copied.set(formatKey(key), [key, object]);
  for (const { next } of planned) {
    visitSelected(overlay, [], next.downsync ?? [], ({ key, gets, object }) => {
      if (gets) copy(key, object.next);
    });
    if (copied.size > objectsMadeMax) throw tooMany(copied.size);
  }
  for (const need of needsOf(
    [...copied.values()].map(([key]) => key),
    space,
  )) {
    const object = overlay.get(need);
    if (object) copy(need, object);
  }
  const everywhere = [placementResource, { group: placementResource.group, resource: customizerResource }];
  for (const resource of everywhere) {
    overlay.visit(resource, undefined, ({ key, next }) => copy(key, next).size > 0);
  }
  const names = planned.map(({ name }) => name);
  const rows = rowsOf(ports, copied.values());
  return { planned: names, rows: rows.filter((row) => isNeeded(row, names)) };
}

/** The placements among the written objects, and the placements that select or use one of the written objects. With `all`: every placement. */
function plannedOf({ table, source }: SpacePlanPorts, overlay: SpaceOverlay, reader: Reader, all: boolean): Planned[] {
  const written = [...overlay.written()];
  const users = new Set(written.flatMap(({ key }) => usersOf(reader, table, source, key)));
  const found: Planned[] = [];
  overlay.visit(placementResource, undefined, ({ key, present, next, isWritten }) => {
    const [presentItems, spec] = [itemsOf(present), specOf(next)];
    const isConcerned = written.some(
      (one) =>
        mayTravel(one.key) &&
        (selects(spec.downsync ?? [], one.key, one.object, overlay, false) ||
          selects(presentItems, one.key, overlay.present(one.key) ?? one.object, overlay, true)),
    );
    if (all || isWritten || isConcerned || users.has(key.name)) {
      found.push({ name: key.name, isNew: present === undefined, present: presentItems, next: spec });
    }
    return true;
  });
  return found.sort((a, b) => compareText(a.name, b.name));
}

/** The placements whose objects use a Customizer now. */
function usersOf(reader: Reader, table: Table, source: string, key: ObjectKey): readonly string[] {
  if (!isCustomizer(key)) return [];
  const row = table.get(reader, hash128(entryKey.auxiliary(source, key)));
  return row?.content ? attributesOf<RefsAttributes>(table.content(reader, row.content)).refs : [];
}

/** The Namespaces and definitions that the objects need. */
function needsOf(keys: readonly ObjectKey[], space: Space): ObjectKey[] {
  return keys.flatMap((key) => [
    ...(key.namespace === '' ? [] : [{ ...namespaceObjects, name: key.namespace }]),
    ...((space.kinds.byResource(key)?.custom ?? true)
      ? [{ ...definitionObjects, name: `${key.resource}.${key.group}` }]
      : []),
  ]);
}

/** Runs the selection of a space over the objects, in a store of its own. */
function rowsOf(
  { source, space, boundsOf }: SpacePlanPorts,
  objects: Iterable<readonly [ObjectKey, KubeObject]>,
): Content[] {
  const store = new MemoryStore();
  const table = store.write((t) => LocalTable.open(t, `source/${source}`));
  let selection: PlacementSelection | undefined;
  const storage = new EmbeddedStorage({
    store,
    name: space.name,
    logger: silentLogger,
    hook: (t, event) => selection?.note(t, event),
  });
  selection = new PlacementSelection({
    source,
    storage,
    kinds: space.kinds,
    table,
    noteChange() {},
    wallMs: () => 0,
    bounds: () => boundsOf(source),
  });
  storage.write((writer) => {
    for (const [key, object] of objects) writer.put(key, canonicalBytes(object));
  });
  while (store.write((t) => selection.step(t)));
  const rows = store.read((reader) => [...table.rows(reader)].map((row) => table.content(reader, row.content!)));
  storage.close();
  return rows;
}

/** The rows that the last hop needs: the objects of the planned placements, Customizers, and placements. */
function isNeeded(row: Content, planned: readonly string[]): boolean {
  const entry = parseEntryKey(row.key);
  if (entry?.type === 'placement' || entry?.type === 'auxiliary') return true;
  if (entry?.type !== 'object') return false;
  return attributesOf<RefsAttributes>(row).refs.some((name) => planned.includes(name));
}

function tooMany(count: number): BanyanError {
  return new BanyanError(
    'BadRequest',
    `--at: the placements select ${count} objects or more, and a plan makes at most ${objectsMadeMax} for a destination: name fewer placements with -f`,
  );
}

function specOf(object: KubeObject): EdgePlacementSpec {
  return (object.spec ?? {}) as EdgePlacementSpec;
}

function itemsOf(object: KubeObject | undefined): readonly DownsyncItem[] {
  return (object && specOf(object).downsync) ?? [];
}
