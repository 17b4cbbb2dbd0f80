/** Fields that an update may not change. */
import { ownField } from '../../../object/json-value.ts';
import { isRecord } from '../../../runtime/is-record.ts';
import { type FieldCheck, isPresent, type Visit, valueAtPath } from './visit.ts';

const immutable = 'field is immutable';

/** The value at the path may not change. `refused` says so in other words. */
export function fixed(path: string, refused?: (at: Visit, value: unknown) => void): FieldCheck {
  return (value, at) => {
    if (!at.old) return;
    const now = valueAtPath(value, path);
    if (isSameValue(now, valueAtPath(at.old, path), at)) return;
    if (refused) refused(at, now);
    else at.invalid(path, now, immutable);
  };
}

export function fixedWith(path: string, now: unknown, before: unknown, at: Visit): void {
  if (!isSameValue(now, before, at)) at.invalid(path, now, immutable);
}

/** Compares as Kubernetes does: an absent value equals null, an empty list, an empty map, and the zero value of a field that is no pointer. */
export function isSameValue(a: unknown, b: unknown, at: Pick<Visit, 'pointers'>): boolean {
  if (a === b || (isNothing(a) && isNothing(b))) return true;
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => isSameValue(item, b[i], at));
  if (!isRecord(a) || !isRecord(b)) return false;
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].every((name) =>
    isSameField(name, [ownField(a, name), ownField(b, name)], at),
  );
}

function isSameField(name: string, [a, b]: readonly [unknown, unknown], at: Pick<Visit, 'pointers'>): boolean {
  if (isPresent(a) === isPresent(b)) return isSameValue(a, b, at);
  const given = a ?? b;
  return !at.pointers.has(name) && (given === '' || given === 0 || given === false || isNothing(given));
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}
