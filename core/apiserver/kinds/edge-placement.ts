/** EdgePlacement as code reads and writes it; edge-kinds.ts is the schema of the same. */

import type { AdoptRule, DriftMode } from '../../entries/apply-rules.ts';
import type { AssociatedItem } from '../../match/resource-rules.ts';
import type { UpsyncItem } from '../../match/upsync-item.ts';
import type { MoveSpec } from '../../move/move.ts';
import type { LabelSelector } from '../../object/selector.ts';
import type { RolloutSpec } from '../../rollout/spec.ts';

export interface EdgePlacementSpec {
  /** ORed. Empty only with an expression, and then every Location is asked. */
  locationSelectors?: LabelSelector[];
  locationExpression?: string;
  downsync?: DownsyncItem[];
  upsync?: UpsyncItem[];
  associated?: AssociatedItem[];
  wantSingletonReportedState: boolean;
  priority: number;
  move?: MoveSpec;
  deletion?: { propagationPolicy?: 'Foreground' | 'Background' | 'Orphan' };
  drift?: { mode?: DriftMode; ignoredFields?: string[] };
  adopt?: AdoptRule;
  replace?: 'Never' | 'IfImmutable';
  rollout?: RolloutSpec;
}

/** Fields are ANDed; `*` is all, an empty list nothing. An absent field does not ask, but for `resources`: without it nothing is selected. */
export interface DownsyncItem {
  apiGroup?: string;
  resources?: string[];
  namespaces?: string[];
  namespaceSelectors?: LabelSelector[];
  objectNames?: string[];
  labelSelectors?: LabelSelector[];
  createOnly?: boolean;
  /** `name` in the object's own namespace, or `namespace/name`. */
  customizers?: string[];
  statusSummarizers?: string[];
}

/** Pods of a workload, mostly: as many as a person looks at. */
export const associatedLimitDefault = 20;
