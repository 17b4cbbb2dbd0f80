/**
 * Sets of fields of an object, as server-side apply owns and compares them. A set *is* its FieldsV1 encoding, so that what is stored needs no
 * translation: a tree whose keys are path elements
 *
 *   f:<name>   a field of an object, an entry of a map
 *   k:<json>   the item of a list of type map with these keys, sorted: k:{"containerPort":80,"protocol":"TCP"}
 *   v:<json>   the item of a list of type set with this value
 *   i:<n>      the item of a list at this index
 *
 * A path is in the set when its node is empty or has the key `.`; a node with other keys only is on the way to some path.
 * https://github.com/kubernetes-sigs/structured-merge-diff/blob/master/fieldpath/serialize-pe.go
 *
 * All functions leave their arguments alone; results share parts with them. An absent set is the empty one.
 */
import { stableStringify } from '../../object/canonical.ts';

export interface FieldSet {
  readonly [element: string]: FieldSet;
}

export const leaf: FieldSet = Object.freeze({});
const self = '.';

/** Of a node that is not the root: the path to it is in the set. */
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

/** A node with these children. `member`: the path to it is in the set too. */
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

/** Of two nodes of the same path: a leaf is a member, and stays one beside children. */
function unionNodes(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || isEmptyFieldSet(b)) return isMember(a) ? a : { [self]: leaf, ...a };
  if (isEmptyFieldSet(a)) return isMember(b) ? b : { [self]: leaf, ...b };
  return union(a, b);
}

/** Paths that are in both. Undefined: none. */
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

/** Without the paths that are in `b`; what lies below them stays. The same object when nothing goes. */
export function fieldDifference(a: FieldSet, b: FieldSet): FieldSet {
  return without(a, b, false);
}

/** Without the paths that are in `b` and all that lie below them. The same object when nothing goes. */
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

/** What stays of the node of a path; undefined: nothing. */
function restOf(node: FieldSet, removed: FieldSet, below: boolean): FieldSet | undefined {
  const goes = isMember(removed);
  if (goes && below) return undefined;
  if (isEmptyFieldSet(node)) return goes ? undefined : node;
  const children = without(node, removed, below);
  const isOn = Object.hasOwn(node, self);
  if (!goes || !isOn) return childCount(children) > 0 ? children : isOn ? leaf : undefined;
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

/** Every path of the set as text: `.spec.template.spec.containers[name="till"].image`. */
export function pathsOf(set: FieldSet): string[] {
  const paths: string[] = [];
  const walk = (node: FieldSet, prefix: string): void => {
    for (const element of Object.keys(node).sort()) {
      if (element === self) continue;
      const child = node[element]!;
      const path = prefix + elementText(element);
      if (isMember(child)) paths.push(path);
      walk(child, path);
    }
  };
  walk(set, '');
  return paths;
}

function elementText(element: string): string {
  const rest = element.slice(2);
  switch (element.slice(0, 2)) {
    case 'f:':
      return `.${rest}`;
    case 'v:':
      return `[=${rest}]`;
    case 'k:': {
      const keys = Object.entries(JSON.parse(rest) as Record<string, unknown>);
      return `[${keys.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(',')}]`;
    }
    default:
      return `[${rest}]`;
  }
}
