/**
 * Checks that types can't express, with the words of the Kubernetes API server. Without them, a mistake would show only when an edge cluster refuses the
 * object. `validation/` has the rules.
 */
import { stableStringify } from '../../object/canonical.ts';
import { ownField } from '../../object/json-value.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { Cause } from '../../runtime/errors.ts';
import type { ValidationContext } from '../schema.ts';
import type { BuiltinType } from './types-table.ts';
import { withDefaults } from './validation/defaults.ts';
import { firstRules, kindRules, validatedTwice } from './validation/kind-rules.ts';
import { isPodPart, podParts } from './validation/pod-parts.ts';
import { userStatusRules } from './validation/status-rules.ts';
import { type FieldCheck, recordOf, Visit } from './validation/visit.ts';

/** The causes that an answer has alone. The arguments are those of `checkRules`. */
export function checkFirstRules(kind: string, type: BuiltinType, object: KubeObject, old?: KubeObject): Cause[] {
  return checkRules(kind, type, object, old, {}, firstRules);
}

/** `object` and `old` are in the version of `type`. */
export function checkRules(
  kind: string,
  type: BuiltinType,
  object: KubeObject,
  old?: KubeObject,
  context: ValidationContext = {},
  of = kindRules,
): Cause[] {
  const rules = ownField(of, kind);
  if (!rules) return [];
  const filled = withDefaults(object, type, 'rules');
  const before = old && withDefaults(old, type, 'rules');
  const isTwice = before && context.subresource === undefined && validatedTwice.has(kind);
  const asNew = isTwice ? visit({ kind, type, rules, object: filled, former: before, context, isNew: false }) : [];
  const causes = [...asNew, ...visit({ kind, type, rules, object: filled, old: before, context })];
  if (causes.length === 0 || !before) return causes;
  // An earlier version of the program may have stored what these rules refuse. An update may keep such a mistake, and may not add one.
  const kept = new Set(visit({ kind, type, rules, object: before, context }).map((cause) => stableStringify(cause)));
  return kept.size === 0 ? causes : causes.filter((cause) => !kept.has(stableStringify(cause)));
}

/** The objects have the defaults of the rules. */
interface Checked {
  readonly kind: string;
  readonly type: BuiltinType;
  readonly rules: FieldCheck;
  readonly object: KubeObject;
  readonly old?: KubeObject | undefined;
  readonly former?: KubeObject | undefined;
  readonly isNew?: boolean;
  readonly context: ValidationContext;
}

function visit({
  kind,
  type,
  rules,
  object,
  old,
  former = old,
  isNew = !old,
  context: { subresource, user },
}: Checked): Cause[] {
  // A subresource may change what an update of the object may not. Nothing else of the spec can be different.
  const isPartOfPod = kind === 'Pod' && isPodPart(subresource);
  const compared = old && isPartOfPod ? { ...old, spec: object.spec } : old;
  const at = new Visit(object, { old: compared, former, isNew, type, subresource });
  rules(object, at);
  const statusRules = user && subresource === 'status' ? ownField(userStatusRules, kind) : undefined;
  if (statusRules) at.into('status', object.status, statusRules);
  if (old && isPartOfPod) ownField(podParts, subresource)?.(recordOf(object.spec), recordOf(old.spec), at);
  return at.causes;
}
