/**
 * The target row of a placement: the revision of the space that its destinations must reach, and the values by which agents and relays decide. The row moves
 * whenever an object of the placement changes. Agents that lack the placement itself get the row too.
 */
import {
  type EdgePlacementSpec,
  placementResource,
  type ReportedState,
} from '../../core/apiserver/kinds/edge-placement.ts';
import type { SpaceStorage } from '../../core/apiserver/storage.ts';
import type { TargetAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey } from '../../core/entries/entry-keys.ts';
import { placementId } from '../../core/entries/placement-id.ts';
import { boundedPriority, type DeliveryBounds } from '../../core/match/delivery-bounds.ts';
import { type Move, moveOf, moveSpecOf } from '../../core/move/move.ts';
import { parseBody, stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { text } from '../../core/store/bytes.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import { carriesAnyOnce } from '../moves/carried-once.ts';
import { applyRulesOf } from './apply-rules-of.ts';
import { putRow, type SourceRows } from './source-rows.ts';

export interface PlacementTargetPorts extends SourceRows {
  readonly source: string;
  readonly storage: SpaceStorage;
  /** `spec.delivery` of the Space as it is now. Undefined: there are no bounds. */
  bounds(): DeliveryBounds | undefined;
}

/** Moves the target to the revision. Returns the revision of the target, which never goes back. Undefined: the space has no such placement. */
export function moveTarget(
  t: Transaction,
  ports: PlacementTargetPorts,
  placement: string,
  revision: number,
): number | undefined {
  const { source, storage, table } = ports;
  const stored = storage.get({ ...placementResource, namespace: '', name: placement });
  if (!stored) return undefined;
  const object = parseBody(stored.body);
  const key = entryKey.target(placementId(source, placement));
  const row = table.get(t, hash128(key));
  const before = row?.content && attributesOf<TargetAttributes>(table.content(t, row.content));
  const attributes: TargetAttributes = {
    generation: object.metadata.generation ?? 0,
    target: Math.max(revision, before?.target ?? 0),
    ...decidingOf(object, moveOfPlacement(t, source, object), ports.bounds()),
  };
  const content = { key, attributes: text(stableStringify(attributes)), body: new Uint8Array(0) };
  putRow(t, ports, content, attributes.target);
  return attributes.target;
}

export function moveOfPlacement(reader: Reader, source: string, placement: KubeObject): Move | undefined {
  return moveOf(moveSpecOf(placement), carriesAnyOnce(reader, source, placement.metadata.name!));
}

/** Returns the values of the placement, besides the selectors, by which agents and relays decide. */
function decidingOf({ spec, metadata }: KubeObject, move: Move | undefined, bounds: DeliveryBounds | undefined) {
  const { wantSingletonReportedState, reportedState, priority, deletion, ...rest } = (spec ??
    {}) as Partial<EdgePlacementSpec>;
  const apply = applyRulesOf(rest);
  // An old copy that must be gone first is gone only when its pods are gone.
  const policy = deletion?.propagationPolicy ?? (move?.order === 'BreakBeforeMake' ? 'Foreground' : undefined);
  return {
    ...reportedStateOf(reportedState ?? (wantSingletonReportedState ? 'Exact' : 'Aggregate')),
    priority: boundedPriority(priority ?? 0, bounds),
    created: metadata.creationTimestamp ?? '',
    uid: metadata.uid ?? '',
    ...(policy === undefined || policy === 'Background' ? {} : { deletion: policy }),
    ...(apply === undefined ? {} : { apply }),
  };
}

/** Most placements want the aggregate. Their rows have no field for it. */
function reportedStateOf(wanted: ReportedState): Pick<TargetAttributes, 'reportedState'> {
  return wanted === 'Aggregate' ? {} : { reportedState: wanted };
}
