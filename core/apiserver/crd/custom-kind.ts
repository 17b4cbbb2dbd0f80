/** Turns a CustomResourceDefinition into a Kind of a space. Compiles each part of a schema once, when it is used for the first time. */
import { CelError } from '../../match/cel/cel-error.ts';
import type { JsonObject, KubeObject } from '../../object/meta.ts';
import { formatApiVersion, parseApiVersion } from '../../object/meta.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { KindRules, PrinterColumn } from '../schema.ts';
import type { Kind, ScalePaths } from '../space.ts';
import { countRules } from './cel-rules.ts';
import { type CompiledSchema, compileSchema } from './compiled-schema.ts';
import {
  type CustomResourceDefinition,
  type DefinitionColumn,
  type DefinitionNames,
  type DefinitionSpec,
  type DefinitionVersion,
  type SchemaProps,
  schemaOf,
} from './definition.ts';
import { isExactFor } from './version-conversion.ts';
import { compareVersions } from './version-order.ts';

/** To compile so many rules takes 25 ms. The definitions in common use have fewer. */
const fewRulesMax = 200;

/**
 * Requires a definition that has passed definitionAdmission, which fills in defaults. This function does not fill them in. `definedAt`: see Kind. Absent: the
 * definition is not in the storage of the space.
 */
export function customKind(definition: CustomResourceDefinition, definedAt?: number): Kind {
  const { spec } = definition;
  const versions = spec.versions.filter((version) => version.served);
  const names = servedNames(definition);
  const storage = spec.versions.find((version) => version.storage) ?? spec.versions[0]!;
  const byName = new Map(spec.versions.map((version) => [version.name, servedVersion(definition, version)]));
  const served = (name: string): ServedVersion => {
    const found = byName.get(name);
    if (found) return found;
    throw new BanyanError('NotFound', `${spec.names.plural}.${spec.group} has no version ${name}`);
  };
  return {
    group: spec.group,
    resource: spec.names.plural,
    kind: spec.names.kind,
    listKind: names.listKind ?? `${spec.names.kind}List`,
    singular: names.singular ?? spec.names.kind.toLowerCase(),
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    namespaced: spec.scope === 'Namespaced',
    versions: versions.map((version) => version.name).sort(compareVersions),
    storageVersion: storage.name,
    storesAsWritten: spec.conversion?.strategy === 'Webhook',
    hasSeveralVersions: spec.versions.length > 1,
    subresources: subresources(storage),
    scalePaths: (name) => subresources(spec.versions.find((version) => version.name === name) ?? storage).scale,
    custom: true,
    hasManyRules: versions.some((version) => countRules(schemaOf(version)) > fewRulesMax),
    hidesGeneration: false,
    ...(definition.metadata.uid === undefined ? {} : { definitionUid: definition.metadata.uid }),
    ...(definedAt === undefined ? {} : { definedAt }),
    schema: (version) => served(version).compiled().type,
    columns: (version) => served(version).columns,
    selectableFields: (version) => served(version).selectableFields,
    openapi: (version) => served(version).openapi(),
    rules: rules(spec, (version) => served(version).compiled()),
  };
}

interface ServedVersion {
  readonly compiled: () => CompiledSchema;
  readonly openapi: () => JsonObject;
  readonly columns: readonly PrinterColumn[];
  readonly selectableFields: readonly string[];
}

function servedVersion({ spec }: CustomResourceDefinition, version: DefinitionVersion): ServedVersion {
  const schema = schemaOf(version);
  const typeName = `${spec.group.split('.').reverse().join('.')}.${version.name}.${spec.names.kind}`;
  let compiled: CompiledSchema | undefined;
  return {
    compiled: () => {
      compiled ??= compile(schema, typeName, subresources(version).scale);
      return compiled;
    },
    openapi: () => schema as JsonObject,
    columns: version.additionalPrinterColumns?.map(printerColumn) ?? [ageColumn],
    selectableFields: version.selectableFields?.map((field) => field.jsonPath) ?? [],
  };
}

/**
 * A definition that has not passed admission, for example one from another program, might not compile. Then users can't write objects with values at such a part;
 * everything else works.
 */
function compile(schema: SchemaProps, typeName: string, scale: ScalePaths | undefined): CompiledSchema {
  const compiled = compilable(typeName, () => compileSchema(schema, typeName, scale));
  return {
    type: compiled.type,
    prepare: (object) => compilable(typeName, () => compiled.prepare(object)),
    validate: (object, old, context) => compilable(typeName, () => compiled.validate(object, old, context)),
  };
}

function compilable<T>(typeName: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof CelError || error instanceof SyntaxError)) throw error;
    throw new BanyanError(
      'Internal',
      `the schema of ${typeName} does not compile: ${error.message}`,
      {},
      { cause: error },
    );
  }
}

/** With the strategy None, a conversion changes only apiVersion. */
function rules(spec: DefinitionSpec, compiled: (version: string) => CompiledSchema): KindRules {
  const exact = new Map<string, boolean>();
  const isExact = (from: string, to: string): boolean => {
    if (spec.conversion?.strategy !== 'Webhook') return true;
    const pair = `${from} ${to}`;
    const known = exact.get(pair) ?? isExactFor(spec, from, to);
    exact.set(pair, known);
    return known;
  };
  return {
    prepare: (object, version) => compiled(version).prepare(object),
    validate: (object, version, old, context) => compiled(version).validate(object, old, context),
    convert: (object, toVersion): KubeObject | undefined => {
      const apiVersion = formatApiVersion(spec.group, toVersion);
      if (object.apiVersion === apiVersion) return object;
      return isExact(parseApiVersion(object.apiVersion).version, toVersion) ? { ...object, apiVersion } : undefined;
    },
  };
}

/** The names that the CrdController has accepted. Until the controller has processed the definition, the names in the definition's spec. */
function servedNames(definition: CustomResourceDefinition): DefinitionNames {
  return definition.status?.acceptedNames?.plural ? definition.status.acceptedNames : definition.spec.names;
}

function subresources(version: DefinitionVersion): { status: boolean; scale?: ScalePaths } {
  const scale = version.subresources?.scale;
  return { status: version.subresources?.status !== undefined, ...(scale ? { scale } : {}) };
}

const ageColumn: PrinterColumn = {
  name: 'Age',
  type: 'date',
  description: 'Time since the object was created',
  priority: 0,
  jsonPath: '.metadata.creationTimestamp',
};

function printerColumn(column: DefinitionColumn): PrinterColumn {
  return { ...column, priority: column.priority ?? 0 };
}
