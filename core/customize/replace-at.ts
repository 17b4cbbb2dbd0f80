/** Sets values by JSONPath. Replaces existing values. If the path ends with a name, and the object has no field of this name, adds the field. */
import { setField } from '../object/json-value.ts';
import type { JsonPathStep } from '../object/jsonpath.ts';
import { evaluateJsonPath } from '../object/jsonpath.ts';
import { isRecord } from '../runtime/is-record.ts';

type FieldPlace =
  | { readonly of: Record<string, unknown>; readonly name: string }
  | { readonly of: unknown[]; readonly index: number };

/** Changes `root`. Calls `value` once for each place to which the path leads, and returns the number of places. */
export function replaceAt(root: object, steps: readonly JsonPathStep[], value: () => unknown): number {
  let values: unknown[] = [root];
  for (const step of steps.slice(0, -1)) values = values.flatMap((at) => placesOf(at, step, false).map(valueAt));
  const last = steps.at(-1);
  const places = last ? values.flatMap((at) => placesOf(at, last, true)) : [];
  for (const place of places) {
    if ('name' in place) setField(place.of, place.name, value());
    else place.of[place.index] = value();
  }
  return places.length;
}

function placesOf(value: unknown, step: JsonPathStep, mayAdd: boolean): FieldPlace[] {
  switch (step.type) {
    case 'name':
      return isRecord(value) && (mayAdd || Object.hasOwn(value, step.name)) ? [{ of: value, name: step.name }] : [];
    case 'index':
      return Array.isArray(value) && step.index < value.length ? [{ of: value, index: step.index }] : [];
    case 'all':
      if (Array.isArray(value)) return value.map((_, index) => ({ of: value, index }));
      return isRecord(value) ? Object.keys(value).map((name) => ({ of: value, name })) : [];
    case 'filter':
      if (!Array.isArray(value)) return [];
      return value.flatMap((item, index) =>
        evaluateJsonPath(item, `.${step.path}`).some((found) => String(found) === step.value)
          ? [{ of: value, index }]
          : [],
      );
  }
}

function valueAt(place: FieldPlace): unknown {
  return 'name' in place ? place.of[place.name] : place.of[place.index];
}
