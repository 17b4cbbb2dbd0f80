/** The rules of a placement for objects that other writers change too, in the form of entry attributes. */
import type { EdgePlacementSpec } from '../../core/apiserver/kinds/edge-placement.ts';
import { defaultRules, type SparseApplyRules } from '../../core/entries/apply-rules.ts';

/** Returns undefined if all rules are the defaults. */
export function applyRulesOf({
  drift,
  adopt,
  replace,
}: Pick<Partial<EdgePlacementSpec>, 'drift' | 'adopt' | 'replace'>): SparseApplyRules | undefined {
  const mode = drift?.mode ?? defaultRules.drift;
  const ignored = drift?.ignoredFields ?? [];
  const rules: SparseApplyRules = {
    ...(mode === defaultRules.drift ? {} : { drift: mode }),
    ...(ignored.length === 0 ? {} : { ignored }),
    ...(adopt === undefined || adopt === defaultRules.adopt ? {} : { adopt }),
    ...(replace === 'IfImmutable' ? { replace: true } : {}),
  };
  return Object.keys(rules).length === 0 ? undefined : rules;
}
