/**
 * How the parts of a value are named and typed: where a schema says nothing, objects are granular maps and lists are atomic, as in
 * structured-merge-diff's deduced type.
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

/** A value whose parts are owned one by one, or a leaf: scalars, atomic lists and maps, and whatever is not of its type. */
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

/** A field of an object, which is owned by its parts; an entry of a map is owned itself too. */
export function isDeclaredField(type: FieldType, name: string): boolean {
  return type.type === 'object' && type.field(name) !== undefined;
}

/** The path element of an item; keys that are left out have their default. */
export function itemElement(item: unknown, type: ListType): string {
  if (type.listType === 'set' || typeof item !== 'object' || item === null) return valueElement(item);
  const keys: Record<string, unknown> = {};
  for (const key of type.mapKeys ?? []) {
    const value = (item as Fields)[key] ?? type.mapKeyDefaults?.[key];
    if (value !== undefined) keys[key] = value;
  }
  return keyElement(keys);
}

/** Items by path element, in order; of several with the same element the last. */
export function itemsByElement(list: readonly unknown[], type: ListType): Map<string, unknown> {
  return new Map(list.map((item) => [itemElement(item, type), item]));
}

/** The name in a path element `f:<name>`; undefined for others. */
export function fieldName(element: string): string | undefined {
  return element.startsWith('f:') ? element.slice(2) : undefined;
}
