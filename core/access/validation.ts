/**
 * Checks subjects and role references, which AccessGrants have too, with the messages of kube-apiserver. The rules of roles and bindings are in
 * `apiserver/builtin/validation`.
 */
import { invalidField, notSupported, required } from '../object/field-error.ts';
import { checkDnsSubdomain } from '../object/names.ts';
import type { Cause } from '../runtime/errors.ts';
import { type BindingObject, type RbacSubject, rbacGroup } from './rbac-objects.ts';

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
