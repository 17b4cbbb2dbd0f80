/** Copies and compares JSON values. Every write uses these functions. They are simpler and faster than structuredClone, because they handle only JSON. */

/** A deep copy. Leaves out fields that are undefined. */
export function cloneJson<T>(value: T): T {
  return clone(value, false) as T;
}

/** A deep copy without fields that are null. Null items of lists stay. */
export function cloneWithoutNulls<T>(value: T): T {
  return clone(value, true) as T;
}

/** True if the values are equal as JSON: the order of fields does not matter, and an undefined field equals a missing one. */
export function equalJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!equalJson(a[i], b[i])) return false;
    return true;
  }
  return equalFields(a as Record<string, unknown>, b as Record<string, unknown>);
}

/**
 * Sets a field, even a field with the name `__proto__`. A plain assignment to `__proto__` would set the prototype. Names come from request bodies, where
 * JSON.parse treats `__proto__` as an ordinary field.
 */
export function setField(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') {
    Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
  } else {
    target[name] = value;
  }
}

/** A field of the object itself, or undefined. Never returns a member of the prototype, such as `constructor` or `toString`. */
export function ownField<T>(target: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(target, name) ? target[name] : undefined;
}

function clone(value: unknown, dropsNulls: boolean): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => clone(item, dropsNulls));
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const field = (value as Record<string, unknown>)[name];
    if (field !== undefined && !(field === null && dropsNulls)) setField(copy, name, clone(field, dropsNulls));
  }
  return copy;
}

function equalFields(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  let fields = 0;
  for (const name of Object.keys(a)) {
    if (a[name] === undefined) continue;
    fields += 1;
    if (!equalJson(a[name], ownField(b, name))) return false;
  }
  for (const name of Object.keys(b)) if (b[name] !== undefined) fields -= 1;
  return fields === 0;
}
