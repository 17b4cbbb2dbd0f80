/**
 * Compares two states of an object, field by field. Every write makes this comparison, and almost all parts of both states are equal. For equal parts, the
 * comparison allocates no memory.
 */
import { equalJson, ownField } from '../../object/json-value.ts';
import type { FieldType, ListType } from '../schema.ts';
import { type FieldSet, fieldElement, leaf, nodeOf } from './field-set.ts';
import { type Fields, isDeclaredField, itemElement, itemsByElement, shapeOf, typeOfField } from './typed-value.ts';

export interface Difference {
  /** Fields that are new or have another value. */
  readonly changed: FieldSet | undefined;
  /** The topmost paths of removed fields. All fields below such a path are removed too. */
  readonly removed: FieldSet | undefined;
}

const none: Difference = { changed: undefined, removed: undefined };

/**
 * Compares two values. With `ownsObjects`, `changed` contains the path of a new object too, not only the paths of its fields. Custom resources need this.
 * In built-in types, objects are mostly Go structs, which always exist.
 */
export function compare(
  old: Fields,
  next: Fields,
  type: FieldType,
  ownsObjects: boolean,
  ignored?: ReadonlySet<string>,
): Difference {
  let changed: Record<string, FieldSet> | undefined;
  let removed: Record<string, FieldSet> | undefined;
  for (const name in next) {
    const value = next[name];
    const before = ownField(old, name);
    if (value === before || value === undefined || ignored?.has(name)) continue;
    const fieldType = typeOfField(type, name);
    if (before === undefined) {
      changed ??= {};
      changed[fieldElement(name)] = added(value, fieldType, ownsObjects, !isDeclaredField(type, name));
      continue;
    }
    const below = compareValues(before, value, fieldType, ownsObjects);
    if (below.changed) {
      changed ??= {};
      changed[fieldElement(name)] = below.changed;
    }
    if (below.removed) {
      removed ??= {};
      removed[fieldElement(name)] = below.removed;
    }
  }
  for (const name in old) {
    if (ownField(next, name) !== undefined || old[name] === undefined || ignored?.has(name)) continue;
    removed ??= {};
    removed[fieldElement(name)] = leaf;
  }
  return changed || removed ? { changed, removed } : none;
}

function compareValues(old: unknown, next: unknown, type: FieldType, ownsObjects: boolean): Difference {
  if (typeof old !== 'object' || typeof next !== 'object' || old === null || next === null) {
    return old === next ? none : replaced(old, next, type, ownsObjects);
  }
  const before = shapeOf(old, type);
  const after = shapeOf(next, type);
  if (before.shape === 'map' && after.shape === 'map') return compare(before.value, after.value, type, ownsObjects);
  if (before.shape === 'list' && after.shape === 'list') {
    return equalJson(old, next) ? none : compareLists(before.value, after.value, after.type, ownsObjects);
  }
  return equalJson(old, next) ? none : replaced(old, next, type, ownsObjects);
}

/** The difference if the old value and the new value have different shapes: all fields below the path are removed. */
function replaced(old: unknown, next: unknown, type: FieldType, ownsObjects: boolean): Difference {
  const hadParts = shapeOf(old, type).shape !== 'leaf';
  return { changed: added(next, type, ownsObjects, true), removed: hadParts ? leaf : undefined };
}

function compareLists(
  old: readonly unknown[],
  next: readonly unknown[],
  type: ListType,
  ownsObjects: boolean,
): Difference {
  const before = itemsByElement(old, type);
  const after = itemsByElement(next, type);
  let changed: Record<string, FieldSet> | undefined;
  let removed: Record<string, FieldSet> | undefined;
  for (const [element, item] of after) {
    if (!before.has(element)) {
      changed ??= {};
      changed[element] = added(item, type.items, ownsObjects, true);
      continue;
    }
    const below = compareValues(before.get(element), item, type.items, ownsObjects);
    if (below.changed) {
      changed ??= {};
      changed[element] = below.changed;
    }
    if (below.removed) {
      removed ??= {};
      removed[element] = below.removed;
    }
  }
  for (const element of before.keys()) {
    if (after.has(element)) continue;
    removed ??= {};
    removed[element] = leaf;
  }
  return { changed, removed };
}

/** All fields of a new value, including the paths of new maps and lists. */
function added(value: unknown, type: FieldType, ownsObjects: boolean, isItem: boolean): FieldSet {
  const shape = shapeOf(value, type);
  const children: Record<string, FieldSet> = {};
  const isOwned = isItem || ownsObjects || type.type !== 'object';
  switch (shape.shape) {
    case 'leaf':
      return leaf;
    case 'map':
      for (const name in shape.value) {
        const field = shape.value[name];
        if (field !== undefined) {
          children[fieldElement(name)] = added(
            field,
            typeOfField(type, name),
            ownsObjects,
            !isDeclaredField(type, name),
          );
        }
      }
      return nodeOf(children, isOwned);
    case 'list':
      for (const item of shape.value)
        children[itemElement(item, shape.type)] = added(item, shape.type.items, ownsObjects, true);
      return nodeOf(children, true);
  }
}
