/**
 * Conversion between the versions of a custom kind whose definition names a conversion webhook. The webhook runs at edge clusters, and not here. So an
 * object stays in the version in which it was written. A reader of another version gets an object only if the conversion is exact (decision 0050).
 */
import { stableStringify } from '../../object/canonical.ts';
import { type DefinitionSpec, type SchemaProps, schemaOf } from './definition.ts';

/** Whether a definition with a webhook has an exact conversion between two of its versions. */
export function isExactFor({ versions }: DefinitionSpec, from: string, to: string): boolean {
  const named = (name: string) => versions.find((version) => version.name === name);
  const [before, after] = [named(from), named(to)];
  return from === to || (before && after ? isExactConversion(schemaOf(before), schemaOf(after)) : false);
}

/**
 * Whether the conversion of an object changes only its apiVersion. The evidence: both versions have the same schema, with the same defaults and rules, and
 * the schema names every field. If the schema allows unknown fields, nobody knows from the schema which fields the versions have.
 */
function isExactConversion(from: SchemaProps, to: SchemaProps): boolean {
  const text = stableStringify(withoutProse(from));
  return namesEveryField(from) && text === stableStringify(withoutProse(to));
}

function namesEveryField(schema: SchemaProps): boolean {
  if (schema['x-kubernetes-preserve-unknown-fields']) return false;
  return childrenOf(schema).every(namesEveryField);
}

/** The schema without the texts for people. */
function withoutProse(schema: SchemaProps): object {
  const { title: _title, description: _description, example: _example, externalDocs: _docs, ...rest } = schema;
  const { properties, items, additionalProperties, not, allOf, anyOf, oneOf, ...values } = rest;
  const all = (schemas: readonly SchemaProps[] | undefined) => schemas?.map(withoutProse);
  return {
    ...values,
    properties:
      properties &&
      Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, withoutProse(property)])),
    items: items && withoutProse(items),
    additionalProperties:
      typeof additionalProperties === 'object' ? withoutProse(additionalProperties) : additionalProperties,
    not: not && withoutProse(not),
    allOf: all(allOf),
    anyOf: all(anyOf),
    oneOf: all(oneOf),
  };
}

/** The schemas of the fields, items and entries of a value. */
function childrenOf({ properties = {}, items, additionalProperties }: SchemaProps): SchemaProps[] {
  return [
    ...Object.values(properties),
    ...(items ? [items] : []),
    ...(typeof additionalProperties === 'object' ? [additionalProperties] : []),
  ];
}
