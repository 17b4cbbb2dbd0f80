/**
 * Reads a definition as Go's JSON decoder does: schemas below `items` and `additionalProperties` have fields of the right types, a null in a list is an empty object
 * or text, and `items` without a schema is left out. So the checks see what a Kubernetes API server sees.
 */
import { isRecord } from '../../runtime/is-record.ts';
import { checkTypes } from '../builtin/type-check.ts';
import type { FieldType } from '../schema.ts';
import type { Kind } from '../space.ts';
import { badRequest } from '../status-errors.ts';
import type { DefinitionSpec, SchemaProps } from './definition.ts';

type Fields = Record<string, unknown>;

/** Deeper schemas are refused (definition-schema.ts). */
const depthMax = 101;

/** Changes the definition in place. Throws BadRequest for a value of the wrong type. `kind`: the kind of definitions. */
export function decodeSpec(spec: DefinitionSpec, kind: Kind): void {
  const type = schemaType(kind);
  fill(spec, ['versions'], () => ({}));
  fill(spec.names, ['shortNames', 'categories'], () => '');
  fill(spec.conversion?.webhook, ['conversionReviewVersions'], () => '');
  for (const version of spec.versions ?? []) {
    fill(version, ['additionalPrinterColumns', 'selectableFields'], () => ({}));
    decodeSchema(version.schema?.openAPIV3Schema, type, 0);
  }
}

/** The type of schemas in the table of built-in types. The table has no type for the schemas that may also be something else. */
function schemaType(kind: Kind): FieldType {
  let type: FieldType = kind.schema('v1');
  for (const name of ['spec', 'versions', 'schema', 'openAPIV3Schema']) {
    const field: FieldType | undefined = type.type === 'object' ? type.field(name)?.type : undefined;
    if (!field) throw new Error(`the kind ${kind.kind} has no field ${name}`);
    type = field.type === 'list' ? field.items : field;
  }
  return type;
}

function decodeSchema(schema: unknown, type: FieldType, depth: number): void {
  if (!isRecord(schema) || depth > depthMax) return;
  const fields: Fields & SchemaProps = schema;
  fill(fields, ['allOf', 'anyOf', 'oneOf', 'x-kubernetes-validations'], () => ({}));
  fill(fields, ['required', 'x-kubernetes-list-map-keys'], () => '');
  if (Array.isArray(fields.items)) fill(fields, ['items'], () => ({}));
  const { additionalProperties, items, dependencies } = fields as Fields;
  if (
    additionalProperties !== undefined &&
    typeof additionalProperties !== 'boolean' &&
    !isRecord(additionalProperties)
  ) {
    const why = 'cannot be handled as a CustomResourceDefinition: boolean or JSON schema expected';
    throw badRequest(`CustomResourceDefinition in version "v1" ${why}`);
  }
  for (const untyped of [items, additionalProperties, ...Object.values(dependencies ?? {})].flat()) {
    if (isRecord(untyped)) checkTypes(untyped, type, { kind: 'CustomResourceDefinition', version: 'v1' });
  }
  if (!isRecord(items) && !(Array.isArray(items) && items.length > 0)) delete fields.items;
  const maps = ['properties', 'definitions', 'patternProperties', 'dependencies'].map((name) => fields[name]);
  const below = [
    ...maps.flatMap((map) => (isRecord(map) ? Object.values(map) : [])),
    ...[fields.allOf, fields.anyOf, fields.oneOf, fields.items].flat(),
    fields.not,
    additionalProperties,
  ];
  for (const child of below) decodeSchema(child, type, depth + 1);
}

function fill(object: object | undefined, lists: readonly string[], empty: () => unknown): void {
  for (const name of lists) {
    const list = (object as Fields | undefined)?.[name];
    if (!Array.isArray(list)) continue;
    for (const [index, item] of list.entries()) if (item === null) list[index] = empty();
  }
}
