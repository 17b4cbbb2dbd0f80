/** AccessGrant (mesh.banyan.io): carries a ClusterRole of the system space to places whose own RBAC objects have no effect at this node. */
import { checkNodeName, checkPath, isAtOrBelow, isSourceAbove, pathShownAs, shownPath } from '../identity/node-path.ts';
import { duplicate, invalidField, required } from '../object/field-error.ts';
import type { KubeObject } from '../object/meta.ts';
import { checkDnsLabel } from '../object/names.ts';
import type { Cause } from '../runtime/errors.ts';
import type { GrantScope } from './grant-scope.ts';
import type { RbacSubject, RoleRef } from './rbac-objects.ts';
import { checkRoleRef, checkSubject, fillSubjectDefaults } from './validation.ts';

export interface AccessGrantObject extends KubeObject {
  spec: {
    readonly subjects: readonly RbacSubject[];
    /** A ClusterRole of the system space. */
    readonly roleRef: RoleRef;
    readonly scope: GrantScope;
  };
}

const scopes = ['space', 'mailboxes', 'subtree', 'clusters'] as const satisfies readonly (keyof GrantScope)[];
const oneScope = `write exactly one of ${scopes.join(', ')}`;

/** `ownPath` is the path of the node that has the grant. */
export function checkAccessGrant({ spec }: AccessGrantObject, ownPath: string): Cause[] {
  const { subjects = [], roleRef, scope = {} } = withDefaults(spec);
  const causes = subjects.length === 0 ? [required('spec.subjects', 'name at least one subject')] : [];
  for (const [index, subject] of subjects.entries()) {
    causes.push(...checkSubject(subject, `spec.subjects[${index}]`, false));
  }
  causes.push(...checkRoleRef(roleRef, ['ClusterRole'], 'spec.roleRef'));
  const found = scopes.filter((name) => scope[name] !== undefined);
  if (found.length === 0) return [...causes, required('spec.scope', oneScope)];
  if (found.length > 1) return [...causes, invalidField('spec.scope', found, oneScope)];
  return [...causes, ...checkScope(scope, ownPath)];
}

/**
 * The same defaults as those of RBAC bindings. They are not stored: kubectl would compare the list of subjects with the file, and show a grant that is applied
 * twice as changed.
 */
function withDefaults(spec: AccessGrantObject['spec'] | undefined): AccessGrantObject['spec'] {
  const filled = structuredClone(spec ?? ({} as AccessGrantObject['spec']));
  fillSubjectDefaults(filled);
  return filled;
}

function checkScope({ space, mailboxes, subtree, clusters }: GrantScope, ownPath: string): Cause[] {
  if (space) {
    const check = (name: string) => checkSpaceName(name, ownPath);
    const causes = checkNames([space.name ?? ''], check, () => 'spec.scope.space.name');
    return [...causes, ...checkNamespaces(space.namespaces, 'spec.scope.space.namespaces')];
  }
  if (mailboxes) return checkList(mailboxes.children, checkNodeName, 'spec.scope.mailboxes.children', 'name a child');
  if (subtree) return checkScopePath(subtree.path, 'spec.scope.subtree.path', ownPath);
  const causes = checkScopePath(clusters!.path, 'spec.scope.clusters.path', ownPath);
  return [...causes, ...checkNamespaces(clusters!.namespaces, 'spec.scope.clusters.namespaces')];
}

/** A node shows a space of a node above under the name of its source, and such a name has a dot. */
function checkSpaceName(name: string, ownPath: string): string | undefined {
  if (!name.includes('.')) return checkDnsLabel(name);
  if (isSourceAbove(ownPath, name)) return checkDnsLabel(name.slice(name.lastIndexOf('.') + 1));
  const other = ownPath === '' ? '' : `, or the space of a node above, such as ${shownPath('')}.retail`;
  return `no node above ${shownPath(ownPath)} can have this space: write the name of a space of this node${other}`;
}

/** An empty list could mean all namespaces or none. */
function checkNamespaces(namespaces: readonly string[] | undefined, field: string): Cause[] {
  const detail = 'name a namespace, or leave the field out for all namespaces';
  return namespaces === undefined ? [] : checkList(namespaces, checkDnsLabel, field, detail);
}

type Check = (name: string) => string | undefined;

function checkList(names: readonly string[] | undefined, check: Check, field: string, ifEmpty: string): Cause[] {
  if (!names || names.length === 0) return [required(field, ifEmpty)];
  const causes = checkNames(names, check, (index) => `${field}[${index}]`);
  for (const [index, name] of names.entries()) {
    if (names.indexOf(name) < index) causes.push(duplicate(`${field}[${index}]`, name));
  }
  return causes;
}

function checkNames(names: readonly string[], check: Check, fieldOf: (index: number) => string): Cause[] {
  return names.flatMap((name, index) => {
    if (name === '') return [required(fieldOf(index))];
    const flaw = check(name);
    return flaw === undefined ? [] : [invalidField(fieldOf(index), name, flaw)];
  });
}

/** An empty path is refused: in a template with a missing value, it would give everything. */
function checkScopePath(path: string | undefined, field: string, ownPath: string): Cause[] {
  if (!path) return [required(field, `write ${shownPath('')} for the whole tree`)];
  const flaw = pathShownAs(path) === '' ? undefined : checkPath(path);
  if (flaw !== undefined) return [invalidField(field, path, flaw)];
  if (isAtOrBelow(pathShownAs(path), ownPath)) return [];
  const own = shownPath(ownPath);
  return [
    invalidField(
      field,
      path,
      `this node has only ${own} and what is below: grant it at ${path}, or name ${own} or a path below`,
    ),
  ];
}
