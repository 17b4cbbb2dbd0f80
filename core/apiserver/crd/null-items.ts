/**
 * Nulls and other values in a definition that Go's JSON decoder replaces: a null in a list becomes an empty object or text, and `items` without a schema is left
 * out. So the checks see what a Kubernetes API server sees.
 */
import { isRecord } from '../../runtime/is-record.ts';
import { badRequest } from '../status-errors.ts';
import type { DefinitionSpec, SchemaProps } from './definition.ts';

type Fields = Record<string, unknown>;

/** Deeper schemas are refused (definition-schema.ts). */
const depthMax = 101;

/** Changes the definition in place. Throws BadRequest if additionalProperties is neither a schema nor a boolean. */
export function replaceNullItems(spec: DefinitionSpec): void {
  fill(spec, ['versions'], () => ({}));
  fill(spec.names, ['shortNames', 'categories'], () => '');
  fill(spec.conversion?.webhook, ['conversionReviewVersions'], () => '');
  for (const version of spec.versions ?? []) {
    fill(version, ['additionalPrinterColumns', 'selectableFields'], () => ({}));
    replaceInSchema(version.schema?.openAPIV3Schema, 0);
  }
}

function replaceInSchema(schema: unknown, depth: number): void {
  if (!isRecord(schema) || depth > depthMax) return;
  const fields: Fields & SchemaProps = schema;
  fill(fields, ['allOf', 'anyOf', 'oneOf', 'x-kubernetes-validations'], () => ({}));
  fill(fields, ['required', 'x-kubernetes-list-map-keys'], () => '');
  if (Array.isArray(fields.items)) fill(fields, ['items'], () => ({}));
  const { additionalProperties, items } = fields;
  if (
    additionalProperties !== undefined &&
    typeof additionalProperties !== 'boolean' &&
    !isRecord(additionalProperties)
  ) {
    const why = 'cannot be handled as a CustomResourceDefinition: boolean or JSON schema expected';
    throw badRequest(`CustomResourceDefinition in version "v1" ${why}`);
  }
  if (!isRecord(items) && !(Array.isArray(items) && items.length > 0)) delete fields.items;
  const maps = ['properties', 'definitions', 'patternProperties', 'dependencies'].map((name) => fields[name]);
  const below = [
    ...maps.flatMap((map) => (isRecord(map) ? Object.values(map) : [])),
    ...[fields.allOf, fields.anyOf, fields.oneOf, fields.items].flat(),
    fields.not,
    additionalProperties,
  ];
  for (const child of below) replaceInSchema(child, depth + 1);
}

function fill(object: object | undefined, lists: readonly string[], empty: () => unknown): void {
  for (const name of lists) {
    const list = (object as Fields | undefined)?.[name];
    if (!Array.isArray(list)) continue;
    for (const [index, item] of list.entries()) if (item === null) list[index] = empty();
  }
}
