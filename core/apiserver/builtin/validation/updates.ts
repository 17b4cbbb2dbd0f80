/** Fields that an update may not change. */
import { equalJson, ownField } from '../../../object/json-value.ts';
import { isRecord } from '../../../runtime/is-record.ts';
import type { ObjectType } from '../../schema.ts';
import { nanosOf } from './resources.ts';
import { type FieldCheck, isPresent, type TypedField, type Visit, valueAtPath } from './visit.ts';

const immutable = 'field is immutable';

/** The value at the path may not change. `refused` says so in other words. */
export function fixed(path: string, refused?: (at: Visit, value: unknown) => void): FieldCheck {
  return (value, at) => {
    if (!at.old) return;
    const now = valueAtPath(value, path);
    if (isSameValue(now, valueAtPath(at.old, path), at.fieldAt(path))) return;
    if (refused) refused(at, now);
    else at.invalid(path, now, immutable);
  };
}

/** `path` is the path in the answer. */
export function fixedWith(path: string, now: unknown, before: unknown, at: Visit, field = at.fieldAt(path)): void {
  if (!isSameValue(now, before, field)) at.invalid(path, now, immutable);
}

/**
 * Compares as Kubernetes does: an absent value equals null, an empty list, an empty map, and the zero value of a field that is no pointer. Amounts and times
 * may have several texts. Without a `field`, nothing is known about the values.
 */
export function isSameValue(a: unknown, b: unknown, field?: TypedField): boolean {
  if (a === b) return true;
  if (!isPresent(a) || !isPresent(b)) return isZero(a ?? b, field);
  const type = field?.type;
  if (Array.isArray(a) && Array.isArray(b)) {
    const item = type?.type === 'list' ? { type: type.items } : undefined;
    return a.length === b.length && a.every((one, i) => isSameValue(one, b[i], item));
  }
  if (type?.type === 'quantity') return nanosOf(a) === nanosOf(b);
  if (type?.type === 'string' && type.format === 'date-time') return Date.parse(String(a)) === Date.parse(String(b));
  if (!isRecord(a) || !isRecord(b)) return equalJson(a, b);
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  if (type?.type === 'map') {
    const values = { type: type.values };
    return [...names].every(
      (name) => Object.hasOwn(a, name) === Object.hasOwn(b, name) && isSameValue(a[name], b[name], values),
    );
  }
  const fieldOf = (name: string) => (type?.type === 'object' ? type.field(name) : undefined);
  return [...names].every((name) => isSameValue(ownField(a, name), ownField(b, name), fieldOf(name)));
}

/** True for a value that Go can't tell from an absent one. */
function isZero(value: unknown, field: TypedField | undefined): boolean {
  if (!isPresent(value)) return true;
  if (field?.pointer) return false;
  if (field?.type.type === 'object' && isRecord(value)) return isZeroStruct(value, field.type);
  return (
    value === '' || value === 0 || value === false || (typeof value === 'object' && Object.keys(value!).length === 0)
  );
}

function isZeroStruct(value: Readonly<Record<string, unknown>>, type: ObjectType): boolean {
  return Object.entries(value).every(([name, inner]) => isZero(inner, type.field(name)));
}
