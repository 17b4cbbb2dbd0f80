/** Makes the value of a topology file valid, so that one run of the checks finds the problems of its other fields too. */

import type * as z from 'zod';
import { isRecord } from '../../core/runtime/is-record.ts';
import { checkSchema, type SchemaProblem } from '../../core/runtime/schema-problems.ts';

/** A name that no file has. */
const placeholder = 'x-unnamed-x';
const least = {
  apiVersion: 'banyan.io/v1alpha1',
  kind: 'Topology',
  metadata: { name: placeholder },
  spec: {},
};
/** A removed value may be one that a schema requires: then the value around it is removed in the next round. No path has more parts. */
const roundsMax = 8;

/** Replaces each value with a problem: names by a placeholder, items of lists by empty items, and other values by their defaults. Undefined: none of this helps. */
export function withoutProblems<T>(
  schema: z.ZodType<T>,
  value: unknown,
  problems: readonly SchemaProblem[],
): T | undefined {
  if (!isRecord(value)) return undefined;
  let copy: object = structuredClone(value);
  let wrong = problems;
  for (let round = 0; round < roundsMax; round++) {
    for (const { path } of wrong) replace(copy, path);
    copy = { ...least, ...copy };
    const checked = checkSchema(schema, copy);
    if ('value' in checked) return checked.value;
    wrong = checked.problems;
  }
  return undefined;
}

function replace(root: unknown, path: SchemaProblem['path']): void {
  const key = path.at(-1);
  if (key === undefined) return;
  const holder = path.slice(0, -1).reduce<unknown>((at, part) => (at as Record<PropertyKey, unknown>)[part], root);
  if (Array.isArray(holder)) {
    holder[key as number] = {};
  } else if (isRecord(holder)) {
    const values = holder as Record<PropertyKey, unknown>;
    if (key === 'name') values[key] = placeholder;
    else if (key in values) delete values[key];
    else replace(root, path.slice(0, -1));
  }
}
