/** The destinations at an agent: its Locations, from the system space of its parent and from the inventory spaces of this node and of the nodes above. */
import { childPath } from '../../core/identity/node-path.ts';
import { type LabelSummary, summaryOfAgent } from '../../core/match/label-summary.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import type { Labels } from '../../core/object/selector.ts';
import type { Reader } from '../../core/store/store.ts';
import { locationExpression, propertiesOf } from '../placements/location-expression.ts';
import type { Destination } from './children.ts';
import type { Evictions } from './evictions.ts';
import {
  type Inventory,
  type InventoryLocation,
  type InventoryRow,
  type Schedulability,
  schedulabilityOf,
} from './inventory.ts';

export interface AgentDestinationsPorts {
  readonly inventory: Inventory;
  readonly evictions: Evictions;
  /** Returns the rows about a child in the inventory spaces of this node and of the nodes above. */
  rowsAt(reader: Reader, child: string): readonly InventoryRow[];
  /** Returns the labels that Locations of this node inherit. */
  inherited(): Labels;
  /** The path of this node. */
  readonly path: string;
}

export interface AgentDestinations {
  readonly destinations: Destination[];
  readonly labels: LabelSummary;
}

/** A SyncTarget that stands for an agent, with the Locations that select it. */
interface AgentTarget {
  readonly origin?: string;
  readonly schedulability: Schedulability;
  readonly locations: readonly InventoryLocation[];
}

/** `name`: the agent. */
export function agentDestinations(
  reader: Reader,
  name: string,
  { inventory, evictions, inherited, rowsAt, path: above }: AgentDestinationsPorts,
): AgentDestinations {
  const path = childPath(above, name);
  const systemTarget: AgentTarget = {
    schedulability: inventory.takesPlacements(name),
    locations: inventory.locationsOf(name, inherited()),
  };
  const targets = [systemTarget, ...rowsAt(reader, name).map((row) => targetOfRow(row, inherited()))];
  const due = evictions.areDue(
    name,
    targets.map(({ schedulability }) => schedulability.evictAfterMs),
  );
  const destinations = targets
    .filter((_, index) => !due[index])
    .flatMap((target) => target.locations.map((location) => destinationOf(location, target, path)));
  return {
    destinations,
    labels: summaryOfAgent(
      destinations,
      destinations.some(({ cordoned }) => cordoned),
    ),
  };
}

function targetOfRow({ origin, syncTarget, locations }: InventoryRow, inherited: Labels): AgentTarget {
  return {
    origin,
    schedulability: schedulabilityOf(syncTarget),
    locations: locations.map((object) => ({
      name: object.metadata.name!,
      labels: { ...inherited, ...object.metadata.labels },
      object,
      syncTarget,
    })),
  };
}

function destinationOf(
  { name, labels, object, syncTarget }: InventoryLocation,
  { origin, schedulability }: AgentTarget,
  path: string,
): Destination {
  const input = { location: withLabels(object, labels), syncTarget, path };
  return {
    location: name,
    ...(origin === undefined ? {} : { origin }),
    ...(schedulability.unschedulable ? { cordoned: true } : {}),
    syncTargetUid: syncTarget.metadata.uid ?? '',
    labels,
    properties: propertiesOf(syncTarget),
    targetLabels: syncTarget.metadata.labels ?? {},
    facts: { ...input, properties: propertiesOf(syncTarget) },
    rest: restOf(object, syncTarget),
    evaluate: (expression) => locationExpression(expression, input).matches,
    failureOf: (expression) => locationExpression(expression, input).error,
  };
}

/** Returns a hash of everything in the Location and the SyncTarget that has no route key of its own. */
function restOf(location: KubeObject, syncTarget: KubeObject): string {
  const { labels: _own, ...metadata } = location.metadata;
  const { labels: _target, ...targetMetadata } = syncTarget.metadata;
  const { properties: _properties, ...targetSpec } = (syncTarget.spec ?? {}) as { properties?: unknown };
  const parts = [
    { ...location, metadata },
    { ...syncTarget, metadata: targetMetadata, spec: targetSpec },
  ];
  return Buffer.from(hash128(stableStringify(parts))).toString('base64');
}

function withLabels(location: KubeObject, labels: Labels): KubeObject {
  return { ...location, metadata: { ...location.metadata, labels: { ...labels } } };
}
