/**
 * The status of an object as the only destination of its placement reports it. The node reads the status from the reports of the child on the way to the
 * destination. In the status, generations of the object are those of the origin, not those of the destination.
 */

import { entryKey, parseEntryKey } from '../../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../../core/entries/placement-id.ts';
import type { StateAttributes } from '../../../core/entries/up-attributes.ts';
import type { Content, Table } from '../../../core/feed/feed.ts';
import { stableStringify } from '../../../core/object/canonical.ts';
import { hash128 } from '../../../core/object/hash.ts';
import type { ObjectKey } from '../../../core/object/key.ts';
import { asText, text } from '../../../core/store/bytes.ts';
import type { Reader } from '../../../core/store/store.ts';
import type { Child } from '../../children/children.ts';
import type { Placement } from '../../placements/placement.ts';
import { selectedObjects } from '../../placements/placements.ts';

export interface SingletonPorts {
  readonly children: ReadonlyMap<string, Child>;
  tableOf(source: string): Table | undefined;
  reportedOf(child: string): Table | undefined;
  /** Returns the number of destinations of a placement at or below a child. */
  expected(id: PlacementId, child: string): number;
}

/**
 * Resources whose status the controllers of the origin write. A destination has objects of the same name, but their status says nothing about the
 * object of the origin.
 */
const resourcesWithOwnStatus = new Set(['/namespaces', 'apiextensions.k8s.io/customresourcedefinitions']);

/** Returns the keys of the placement's objects that may have an exact status. */
export function objectsWithStatus(reader: Reader, ports: SingletonPorts, placement: Placement): ObjectKey[] {
  const table = ports.tableOf(placement.source);
  const objects: ObjectKey[] = [];
  for (const keyHash of selectedObjects(reader, placement.id)) {
    const row = table?.get(reader, keyHash);
    const entry = row?.content && table && parseEntryKey(table.content(reader, row.content).key);
    if (entry?.type !== 'object') continue;
    if (mayHaveStatus(entry.object)) objects.push(entry.object);
  }
  return objects;
}

export function mayHaveStatus({ group, resource }: ObjectKey): boolean {
  return !resourcesWithOwnStatus.has(`${group}/${resource}`);
}

/** Returns the status that the destination reports for the object. Undefined: no status is reported. */
export function singletonStatus(
  reader: Reader,
  ports: SingletonPorts,
  { id, source, children }: Placement,
  object: ObjectKey,
): Uint8Array | undefined {
  const child = [...children].find((name) => ports.expected(id, name) === 1);
  const role = child === undefined ? undefined : ports.children.get(child)?.role;
  const table = child === undefined ? undefined : ports.reportedOf(child);
  if (role === undefined || !table) return undefined;
  const key = role === 'relay' ? entryKey.status(id, object) : entryKey.state(source, object);
  const row = table.get(reader, hash128(key));
  const report = row?.content && table.content(reader, row.content);
  if (!report || report.body.length === 0) return undefined;
  return role === 'relay' ? report.body : inTermsOfOrigin(report);
}

/**
 * `observedGeneration` counts generations of the object at the destination. This function translates it, so that `kubectl rollout status` works at the
 * origin. A fully observed object (`observed >= local`) gets the generation of the origin's object that was applied; any other gets the generation
 * before it.
 */
export function inTermsOfOrigin({ attributes, body }: Content): Uint8Array {
  const { generation, local } = JSON.parse(asText(attributes)) as StateAttributes;
  if (generation === undefined || local === undefined) return body;
  const translated = (observed: number) => (observed >= local ? generation : Math.max(0, generation - 1));
  const status = JSON.parse(asText(body)) as { observedGeneration?: unknown; conditions?: unknown };
  const conditions = Array.isArray(status.conditions)
    ? status.conditions.map((one) => observed(one, translated))
    : undefined;
  return text(stableStringify({ ...(observed(status, translated) as object), ...(conditions ? { conditions } : {}) }));
}

function observed(value: unknown, translated: (observed: number) => number): unknown {
  if (typeof value !== 'object' || value === null || !('observedGeneration' in value)) return value;
  const { observedGeneration } = value;
  return typeof observedGeneration === 'number'
    ? { ...value, observedGeneration: translated(observedGeneration) }
    : value;
}
