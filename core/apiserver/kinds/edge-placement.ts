/** The EdgePlacement as code reads and writes it. Its schema is in edge-kinds.ts. */

import type { AdoptRule, DriftMode } from '../../entries/apply-rules.ts';
import type { AssociatedItem } from '../../match/resource-rules.ts';
import type { UpsyncItem } from '../../match/upsync-item.ts';
import type { MoveSpec } from '../../move/move.ts';
import type { LabelSelector } from '../../object/selector.ts';
import type { RolloutSpec } from '../../rollout/spec.ts';

export const edgeGroup = 'edge.banyan.io';
export const placementResource = { group: edgeGroup, resource: 'edgeplacements' } as const;

export interface EdgePlacementSpec {
  /**
   * A Location must match at least one of these selectors. The list may be empty only if there is an expression. Then the expression is evaluated for every
   * Location.
   */
  locationSelectors?: LabelSelector[];
  locationExpression?: string;
  downsync?: DownsyncItem[];
  upsync?: UpsyncItem[];
  associated?: AssociatedItem[];
  wantSingletonReportedState: boolean;
  reportedState?: ReportedState;
  priority: number;
  move?: MoveSpec;
  deletion?: { propagationPolicy?: 'Foreground' | 'Background' | 'Orphan' };
  drift?: { mode?: DriftMode; ignoredFields?: string[] };
  adopt?: AdoptRule;
  replace?: 'Never' | 'IfImmutable';
  rollout?: RolloutSpec;
}

/** The kind of `.status` that the placement's objects have in their space. Absent: `Aggregate`, or `Exact` if `wantSingletonReportedState` is true. */
export type ReportedState = 'Aggregate' | 'Exact' | 'None';

/** The objects that match all given fields. `*` matches everything, an empty list nothing. An absent field allows every value. */
export interface DownsyncMatch {
  apiGroup?: string;
  resources?: string[];
  namespaces?: string[];
  namespaceSelectors?: LabelSelector[];
  objectNames?: string[];
  labelSelectors?: LabelSelector[];
}

/** Without `resources`, an item selects nothing. */
export interface DownsyncItem extends DownsyncMatch {
  /** The item does not select objects that match one of these. */
  except?: DownsyncMatch[];
  createOnly?: boolean;
  /** Names of Customizers: `name` in the namespace of the object, or `namespace/name`. */
  customizers?: string[];
  statusSummarizers?: string[];
}

/** Associated objects are mostly the pods of a workload. A person does not read more of them. */
export const associatedLimitDefault = 20;
