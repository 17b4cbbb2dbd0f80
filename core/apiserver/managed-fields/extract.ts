/** The fields that a value sets. An applier owns these fields after it has applied the value. */
import type { FieldType } from '../schema.ts';
import { type FieldSet, fieldElement, isEmptyFieldSet, leaf, nodeOf } from './field-set.ts';
import { isDeclaredField, itemElement, shapeOf, typeOfField } from './typed-value.ts';

/**
 * The set for a field of an object contains only the parts of the field. The set for an entry of a map or an item of a list contains the entry or item too.
 */
export function fieldsOf(value: unknown, type: FieldType): FieldSet {
  const shape = shapeOf(value, type);
  const children: Record<string, FieldSet> = {};
  switch (shape.shape) {
    case 'leaf':
      return leaf;
    case 'map':
      for (const name in shape.value) {
        const field = shape.value[name];
        if (field === undefined) continue;
        const fieldType = typeOfField(type, name);
        const below = fieldsOf(field, fieldType);
        const isOwned = !isDeclaredField(type, name) || !hasParts(field, fieldType);
        if (isOwned || !isEmptyFieldSet(below)) children[fieldElement(name)] = nodeOf(below, isOwned);
      }
      return children;
    case 'list':
      for (const item of shape.value)
        children[itemElement(item, shape.type)] = nodeOf(fieldsOf(item, shape.type.items), true);
      return children;
  }
}

/** True for a granular list (even an empty one) and for a granular map with entries. False for an empty map: it is a leaf. */
function hasParts(value: unknown, type: FieldType): boolean {
  const shape = shapeOf(value, type);
  return shape.shape === 'list' || (shape.shape === 'map' && Object.keys(shape.value).length > 0);
}
