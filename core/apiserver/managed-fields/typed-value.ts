/**
 * The names and types of a value's parts. Without a schema, objects are granular maps and lists are atomic, as in the deduced type of structured-merge-diff.
 */
import type { FieldType, ListType } from '../schema.ts';
import { keyElement, valueElement } from './field-set.ts';

export type Fields = Record<string, unknown>;

const unknownType: FieldType = { type: 'any' };

export type FieldShape =
  | { readonly shape: 'leaf' }
  | { readonly shape: 'map'; readonly value: Fields }
  | { readonly shape: 'list'; readonly value: unknown[]; readonly type: ListType };

const leafShape: FieldShape = { shape: 'leaf' };

/**
 * The shape of a value: a map or a list whose parts have their own owners, or a leaf. Leaves are scalars, atomic lists and maps, and values that do not
 * match their type.
 */
export function shapeOf(value: unknown, type: FieldType): FieldShape {
  if (typeof value !== 'object' || value === null) return leafShape;
  if (Array.isArray(value)) {
    return type.type === 'list' && type.listType !== 'atomic' ? { shape: 'list', value, type } : leafShape;
  }
  switch (type.type) {
    case 'object':
    case 'map':
    case 'any':
      return type.mapType === 'atomic' ? leafShape : { shape: 'map', value: value as Fields };
    default:
      return leafShape;
  }
}

export function typeOfField(type: FieldType, name: string): FieldType {
  if (type.type === 'object') return type.field(name)?.type ?? unknownType;
  return type.type === 'map' ? type.values : unknownType;
}

/** True for a declared field of an object: only its parts have owners. False for an entry of a map: the entry itself has owners too. */
export function isDeclaredField(type: FieldType, name: string): boolean {
  return type.type === 'object' && type.field(name) !== undefined;
}

/** The path element of an item. If a key is missing, its default value is used. */
export function itemElement(item: unknown, type: ListType): string {
  if (type.listType === 'set' || typeof item !== 'object' || item === null) return valueElement(item);
  const keys: Record<string, unknown> = {};
  for (const key of type.mapKeys ?? []) {
    const value = (item as Fields)[key] ?? type.mapKeyDefaults?.[key];
    if (value !== undefined) keys[key] = value;
  }
  return keyElement(keys);
}

/** Items keyed by path element, in the order of the list. If several items have the same element, the last one is used. */
export function itemsByElement(list: readonly unknown[], type: ListType): Map<string, unknown> {
  return new Map(list.map((item) => [itemElement(item, type), item]));
}

/** The name in a path element `f:<name>`. Undefined for other elements. */
export function fieldName(element: string): string | undefined {
  return element.startsWith('f:') ? element.slice(2) : undefined;
}
