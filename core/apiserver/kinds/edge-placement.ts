/** The EdgePlacement as code reads and writes it. edge-kinds.ts has its schema. */

import type { AdoptRule, DriftMode } from '../../entries/apply-rules.ts';
import type { AssociatedItem } from '../../match/resource-rules.ts';
import type { UpsyncItem } from '../../match/upsync-item.ts';
import type { MoveSpec } from '../../move/move.ts';
import type { LabelSelector } from '../../object/selector.ts';
import type { RolloutSpec } from '../../rollout/spec.ts';

export interface EdgePlacementSpec {
  /** ORed. The list may be empty only if there is an expression. Then the expression is evaluated for every Location. */
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

/** Fields are ANDed. `*` selects all, an empty list nothing. An absent field allows every value, except `resources`: without it, the item selects nothing. */
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

/** Mostly pods of a workload. A person does not look at more. */
export const associatedLimitDefault = 20;
