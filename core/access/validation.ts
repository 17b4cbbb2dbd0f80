/** Checks the fields of RBAC objects beyond their types, with the messages of kube-apiserver. */
import { invalidField, notSupported, required } from '../object/field-error.ts';
import { equalJson } from '../object/json-value.ts';
import { checkSelector } from '../object/label-selector-check.ts';
import type { KubeObject } from '../object/meta.ts';
import { checkDnsSubdomain } from '../object/names.ts';
import type { LabelSelector } from '../object/selector.ts';
import type { Cause } from '../runtime/errors.ts';
import {
  type BindingObject,
  type ClusterRoleObject,
  isBindingKind,
  type PolicyRule,
  type RbacKind,
  type RbacSubject,
  rbacGroup,
} from './rbac-objects.ts';

/** Fills in the fields of the roleRef and of the subjects that kube-apiserver fills in. Changes the object in place. */
export function fillSubjectDefaults(holder: object): void {
  const { roleRef, subjects } = holder as Partial<Writable>;
  if (roleRef) roleRef.apiGroup ||= rbacGroup;
  for (const subject of subjects ?? []) {
    if (subject.kind === 'User' || subject.kind === 'Group') subject.apiGroup ||= rbacGroup;
  }
}

interface Writable {
  roleRef: { apiGroup?: string };
  subjects: { kind: string; apiGroup?: string }[] | null;
}

/** `old` is absent for a create. */
export function checkRbacObject(object: KubeObject, old?: KubeObject): Cause[] {
  const kind = object.kind as RbacKind;
  const causes = segmentFlaws(object.metadata.name ?? '').map((flaw) =>
    invalidField('metadata.name', object.metadata.name, flaw),
  );
  return [...causes, ...(isBindingKind(kind) ? checkBinding(object as BindingObject, old) : checkRole(object, kind))];
}

function checkRole(object: KubeObject, kind: RbacKind): Cause[] {
  const { rules, aggregationRule } = object as ClusterRoleObject;
  const causes = (rules ?? []).flatMap((rule, index) => checkRule(rule, `rules[${index}]`, kind === 'Role'));
  if (kind === 'Role' || !aggregationRule) return causes;
  const field = 'aggregationRule.clusterRoleSelectors';
  const selectors = aggregationRule.clusterRoleSelectors ?? [];
  if (selectors.length > 0)
    return [...causes, ...selectors.flatMap((one, i) => checkRoleSelector(one, `${field}[${i}]`))];
  return [...causes, required(field, 'at least one clusterRoleSelector required if aggregationRule is non-nil')];
}

/** kube-apiserver adds a second error, without the selector. */
function checkRoleSelector(selector: LabelSelector, field: string): Cause[] {
  const causes = checkSelector(selector, field);
  for (const [index, { operator }] of (selector.matchExpressions ?? []).entries()) {
    if (operators.has(operator)) continue;
    causes.push(
      invalidField(`${field}.matchExpressions[${index}].operator`, operator, 'not a valid selector operator'),
    );
  }
  return causes.length === 0 ? [] : [...causes, invalidField(field, null, 'invalid label selector.')];
}

/** The selectors of Locations have more operators. */
const operators: ReadonlySet<string> = new Set(['In', 'NotIn', 'Exists', 'DoesNotExist']);

function checkRule(rule: PolicyRule, field: string, isNamespaced: boolean): Cause[] {
  const causes: Cause[] = [];
  const isEmpty = (list: readonly string[] | undefined) => (list ?? []).length === 0;
  if (isEmpty(rule.verbs)) causes.push(required(`${field}.verbs`, 'verbs must contain at least one value'));
  if (!isEmpty(rule.nonResourceURLs)) {
    const refuse = (detail: string) =>
      causes.push(invalidField(`${field}.nonResourceURLs`, rule.nonResourceURLs, detail));
    if (isNamespaced) refuse('namespaced rules cannot apply to non-resource URLs');
    if (!isEmpty(rule.apiGroups) || !isEmpty(rule.resources) || !isEmpty(rule.resourceNames)) {
      refuse('rules cannot apply to both regular resources and non-resource URLs');
    }
    return causes;
  }
  if (isEmpty(rule.apiGroups)) {
    causes.push(required(`${field}.apiGroups`, 'resource rules must supply at least one api group'));
  }
  if (isEmpty(rule.resources)) {
    causes.push(required(`${field}.resources`, 'resource rules must supply at least one resource'));
  }
  return causes;
}

function checkBinding({ kind, roleRef, subjects }: BindingObject, old: KubeObject | undefined): Cause[] {
  const isNamespaced = kind === 'RoleBinding';
  const kinds = isNamespaced ? ['Role', 'ClusterRole'] : ['ClusterRole'];
  const causes = checkRoleRef(roleRef, kinds, 'roleRef');
  for (const [index, subject] of (subjects ?? []).entries()) {
    causes.push(...checkSubject(subject, `subjects[${index}]`, isNamespaced));
  }
  // The rights of a binding never become other rights under the same name: a person who reviewed the binding can rely on the role.
  if (old && !equalJson(roleRef, (old as BindingObject).roleRef)) {
    const { apiGroup: APIGroup, kind: Kind, name: Name } = roleRef;
    causes.push(invalidField('roleRef', { APIGroup, Kind, Name }, 'cannot change roleRef'));
  }
  return causes;
}

export function checkRoleRef(roleRef: BindingObject['roleRef'], kinds: readonly string[], field: string): Cause[] {
  const { apiGroup = '', kind = '', name = '' } = roleRef ?? {};
  const causes: Cause[] = [];
  if (apiGroup !== rbacGroup) causes.push(notSupported(`${field}.apiGroup`, apiGroup, [rbacGroup]));
  if (!kinds.includes(kind)) causes.push(notSupported(`${field}.kind`, kind, kinds));
  if (name === '') causes.push(required(`${field}.name`));
  for (const flaw of segmentFlaws(name)) causes.push(invalidField(`${field}.name`, name, flaw));
  return causes;
}

/** `hasNamespace`: a ServiceAccount without namespace is in the namespace of the object. */
export function checkSubject(subject: RbacSubject, field: string, hasNamespace: boolean): Cause[] {
  const { kind = '', apiGroup = '', name = '', namespace = '' } = subject;
  const causes: Cause[] = name === '' ? [required(`${field}.name`)] : [];
  switch (kind) {
    case 'ServiceAccount': {
      const flaw = name === '' ? undefined : checkDnsSubdomain(name);
      if (flaw !== undefined) causes.push(invalidField(`${field}.name`, name, flaw));
      if (apiGroup !== '') causes.push(notSupported(`${field}.apiGroup`, apiGroup, ['']));
      if (!hasNamespace && namespace === '') causes.push(required(`${field}.namespace`));
      return causes;
    }
    case 'User':
    case 'Group':
      if (apiGroup !== rbacGroup) causes.push(notSupported(`${field}.apiGroup`, apiGroup, [rbacGroup]));
      return causes;
    default:
      return [...causes, notSupported(`${field}.kind`, kind, ['ServiceAccount', 'User', 'Group'])];
  }
}

/** Names of RBAC objects may have any character, as long as a URL can contain the name as one segment. */
function segmentFlaws(name: string): string[] {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  return ['/', '%']
    .filter((character) => name.includes(character))
    .map((character) => `may not contain '${character}'`);
}
