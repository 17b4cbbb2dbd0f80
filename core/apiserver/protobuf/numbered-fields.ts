/** The fields of a built-in type as they are in protobuf, for the reader and the writer. */
import type { BuiltinField, BuiltinType } from '../builtin/types-table.ts';

/** `inlined`: a struct whose fields are among the fields of the type in JSON, and a message of its own in protobuf. */
export type NumberedField = { readonly name: string; readonly field: BuiltinField } | { readonly inlined: BuiltinType };

const known = new Map<BuiltinType, ReadonlyMap<number, NumberedField>>();

/** The fields of the type in the order of their numbers. */
export function numberedFields(type: BuiltinType): ReadonlyMap<number, NumberedField> {
  const cached = known.get(type);
  if (cached) return cached;
  const messages = type.inlined().filter(({ number }) => number > 0);
  const within = new Set(messages.flatMap((one) => [...one.type.fields()].map(([name]) => name)));
  const fields: [number, NumberedField][] = messages.map((one) => [one.number, { inlined: one.type }]);
  for (const [name, field] of type.fields()) {
    if (field.protobufNumber > 0 && !within.has(name)) fields.push([field.protobufNumber, { name, field }]);
  }
  const made = new Map(fields.sort(([a], [b]) => a - b));
  known.set(type, made);
  return made;
}
