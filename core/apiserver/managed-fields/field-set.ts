/**
 * Sets of fields of an object. Server-side apply records and compares owners with them. A set *is* its FieldsV1 encoding, so stored sets need no
 * translation. The encoding is a tree whose keys are path elements:
 *
 *   f:<name>   a field of an object, an entry of a map
 *   k:<json>   the item of a list of type map with these keys, sorted: k:{"containerPort":80,"protocol":"TCP"}
 *   v:<json>   the item of a list of type set with this value
 *   i:<n>      the item of a list at this index
 *
 * The set contains a path if the node at the path is empty or has the key `.`. Any other node only leads to longer paths.
 * https://github.com/kubernetes-sigs/structured-merge-diff/blob/master/fieldpath/serialize-pe.go
 *
 * No function changes its arguments. Results share parts with the arguments. An absent set is the empty set.
 */

import { stableStringify } from '../../object/canonical.ts';
import { sortFieldsV1 } from '../../object/fields-v1-order.ts';
import { jsonText, parseJson } from '../../object/json.ts';

export interface FieldSet {
  readonly [element: string]: FieldSet;
}

export const leaf: FieldSet = Object.freeze({});
const self = '.';

/** True if the path to this node is in the set. The node must not be the root. */
export function isMember(node: FieldSet): boolean {
  if (Object.hasOwn(node, self)) return true;
  for (const _ in node) return false;
  return true;
}

export function isEmptyFieldSet(set: FieldSet | undefined): boolean {
  for (const _ in set) return false;
  return true;
}

export function fieldElement(name: string): string {
  return `f:${name}`;
}

export function valueElement(value: unknown): string {
  return `v:${stableStringify(value)}`;
}

export function keyElement(keys: Readonly<Record<string, unknown>>): string {
  return `k:${stableStringify(keys)}`;
}

/** A node with these children. With `member`, the set contains the path to the node too. */
export function nodeOf(children: Readonly<Record<string, FieldSet>>, member: boolean): FieldSet {
  return member && !isEmptyFieldSet(children) ? { [self]: leaf, ...children } : children;
}

export function union(a: FieldSet | undefined, b: FieldSet | undefined): FieldSet {
  if (!a || isEmptyFieldSet(a)) return b ?? leaf;
  if (!b || isEmptyFieldSet(b) || a === b) return a;
  const result: Record<string, FieldSet> = { ...a };
  for (const element in b) {
    const left = a[element];
    result[element] = left ? unionNodes(left, b[element]!) : b[element]!;
  }
  return result;
}

/** The union of two nodes with the same path. A leaf is a member of its set, and stays a member if the other node adds children. */
function unionNodes(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || isEmptyFieldSet(b)) return isMember(a) ? a : { [self]: leaf, ...a };
  if (isEmptyFieldSet(a)) return isMember(b) ? b : { [self]: leaf, ...b };
  return union(a, b);
}

/** The paths that both sets contain. Undefined if there are none. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet | undefined {
  let result: Record<string, FieldSet> | undefined;
  for (const element in a) {
    const other = b[element];
    if (element === self || other === undefined) continue;
    const node = a[element]!;
    const children = intersection(node, other);
    const member = isMember(node) && isMember(other);
    if (!children && !member) continue;
    result ??= {};
    result[element] = nodeOf(children ?? leaf, member);
  }
  return result;
}

/** `a` without the paths in `b`. Longer paths below them stay. If nothing is removed, the result is the object `a` itself. */
export function fieldDifference(a: FieldSet, b: FieldSet): FieldSet {
  return without(a, b, false);
}

/** `a` without the paths in `b` and without all paths below them. If nothing is removed, the result is the object `a` itself. */
export function differenceBelow(a: FieldSet, b: FieldSet): FieldSet {
  return without(a, b, true);
}

function without(a: FieldSet, b: FieldSet, below: boolean): FieldSet {
  let result: Record<string, FieldSet> | undefined;
  for (const element in b) {
    const node = a[element];
    if (element === self || node === undefined) continue;
    const rest = restOf(node, b[element]!, below);
    if (rest === node) continue;
    result ??= { ...a };
    if (rest) result[element] = rest;
    else delete result[element];
  }
  return result ?? a;
}

/** The node after the removal. Undefined if nothing remains. */
function restOf(node: FieldSet, removed: FieldSet, below: boolean): FieldSet | undefined {
  const isRemoved = isMember(removed);
  if (isRemoved && below) return undefined;
  if (isEmptyFieldSet(node)) return isRemoved ? undefined : node;
  const children = without(node, removed, below);
  const wasMember = Object.hasOwn(node, self);
  if (!isRemoved || !wasMember) return childCount(children) > 0 ? children : wasMember ? leaf : undefined;
  const { [self]: _, ...others } = children;
  return isEmptyFieldSet(others) ? undefined : others;
}

function childCount(node: FieldSet): number {
  let count = 0;
  for (const element in node) if (element !== self) count += 1;
  return count;
}

export function equals(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  let count = 0;
  for (const element in a) {
    const other = b[element];
    if (other === undefined || !equals(a[element]!, other)) return false;
    count += 1;
  }
  for (const _ in b) count -= 1;
  return count === 0;
}

/** All paths of the set as texts, for example `.spec.template.spec.containers[name="till"].image`. As in Kubernetes, the members of a node come before what is below it. */
export function pathsOf(set: FieldSet): string[] {
  const paths: string[] = [];
  const walk = (node: FieldSet, prefix: string): void => {
    const elements = sortFieldsV1(Object.keys(node).filter((element) => element !== self));
    for (const element of elements) if (isMember(node[element]!)) paths.push(prefix + elementText(element));
    for (const element of elements) walk(node[element]!, prefix + elementText(element));
  };
  walk(set, '');
  return paths;
}

/** A path element as the messages of Kubernetes write it: `.spec`, `[name="till"]`. */
export function elementText(element: string): string {
  const rest = element.slice(2);
  switch (element.slice(0, 2)) {
    case 'f:':
      return `.${rest}`;
    case 'v:':
      return `[=${rest}]`;
    case 'k:': {
      const keys = Object.entries(parseJson(rest) as Record<string, unknown>);
      return `[${keys.map(([name, value]) => `${name}=${jsonText(value)}`).join(',')}]`;
    }
    default:
      return `[${rest}]`;
  }
}
