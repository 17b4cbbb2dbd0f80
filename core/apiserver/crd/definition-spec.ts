/** Checks `spec` of a definition, in the order of the Kubernetes API server: group and scope, each version, names, what all versions share, conversion. */

import { invalidField, notSupported, required } from '../../object/field-error.ts';
import { equalJson } from '../../object/json-value.ts';
import type { Cause } from '../../runtime/errors.ts';
import { checkConversion } from './conversion-webhook.ts';
import type { DefinitionSpec, DefinitionVersion } from './definition.ts';
import { checkGroup, checkLabel, checkNames } from './definition-names.ts';
import { checkDefinitionSchema, type SchemaContext } from './definition-schema.ts';
import { checkColumns, checkScale, checkSelectable, checkWarning } from './part-checks.ts';
import { type Parts, sharedField, shownVersions, type VersionParts, versionParts } from './version-parts.ts';

export interface SpecContext {
  /** Whether a webhook needs valid certificates. */
  readonly needsBundle: boolean;
  readonly old: DefinitionSpec | undefined;
  /** Leaves out mistakes that the stored definition has too. */
  fresh(causes: Cause[]): Cause[];
}

export function checkSpec(spec: DefinitionSpec, context: SpecContext): Cause[] {
  const { group, scope, names, versions = [], conversion } = spec;
  const parts = versionParts(versions);
  const hasStatus = versions.some(({ subresources }) => subresources?.status !== undefined);
  const ofSchema = (name: string | undefined, status: boolean): SchemaContext => ({
    hasStatus: status,
    isUnchanged: isSchemaUnchanged(name, spec, context.old),
    fresh: context.fresh,
  });
  return [
    ...checkGroup(group, 'spec.group'),
    ...checkScope(scope),
    ...versions.flatMap(({ schema }, index) =>
      schema?.openAPIV3Schema ? [] : [required(`spec.versions[${index}].schema.openAPIV3Schema`)],
    ),
    ...versions.flatMap((version, index) => {
      const at = `spec.versions[${index}]`;
      return [
        ...checkLabel(version.name ?? '', `${at}.name`),
        ...checkWarning(version, `${at}.deprecationWarning`),
        ...checkParts(
          parts.own[index]!,
          (name) => `${at}.${name}`,
          'may only be set when `version.schema.openAPIV3Schema` is not included',
          ofSchema(version.name, version.subresources?.status !== undefined),
        ),
      ];
    }),
    ...checkVersions(spec.versions, parts),
    ...checkNames(names ?? {}, 'spec.names'),
    ...checkParts(
      parts.shared,
      sharedField,
      'may only be set when validations.schema is included',
      ofSchema(versions[0]?.name, hasStatus),
    ),
    ...(conversion ? checkConversion(conversion, context.needsBundle) : []),
  ];
}

function isSchemaUnchanged(name: string | undefined, spec: DefinitionSpec, old: DefinitionSpec | undefined): boolean {
  const schemaIn = (definition: DefinitionSpec | undefined) =>
    definition?.versions?.find((version) => version.name === name)?.schema;
  return schemaIn(old) !== undefined && equalJson(schemaIn(old), schemaIn(spec));
}

function checkScope(scope: string | undefined): Cause[] {
  const scopes = ['Cluster', 'Namespaced'];
  if (!scope) return [required('spec.scope')];
  return scopes.includes(scope) ? [] : [notSupported('spec.scope', scope, scopes)];
}

/** `fieldOf`: the field of a part. `lonely`: the message about selectable fields without a schema beside them. */
function checkParts(
  { schema, subresources, additionalPrinterColumns: columns = [], selectableFields = [] }: VersionParts,
  fieldOf: (part: keyof VersionParts) => string,
  lonely: string,
  context: SchemaContext,
): Cause[] {
  const root = schema?.openAPIV3Schema;
  const selectable = fieldOf('selectableFields');
  return [
    ...(root ? checkDefinitionSchema(root, `${fieldOf('schema')}.openAPIV3Schema`, context) : []),
    ...(subresources ? checkScale(subresources, fieldOf('subresources')) : []),
    ...checkColumns(columns, fieldOf('additionalPrinterColumns')),
    ...(selectableFields.length === 0
      ? []
      : root
        ? checkSelectable(selectableFields, root, selectable)
        : [invalidField(selectable, '', lonely)]),
  ];
}

function checkVersions(versions: readonly DefinitionVersion[] | undefined, parts: Parts): Cause[] {
  const all = versions ?? [];
  const mistake = (why: string) => invalidField('spec.versions', versions && shownVersions(all, parts), why);
  const first = all[0]?.name;
  return [
    ...(new Set(all.map(({ name }) => name)).size < all.length ? [mistake('must contain unique version names')] : []),
    ...(all.filter(({ storage }) => storage).length === 1
      ? []
      : [mistake('must have exactly one version marked as storage version')]),
    // The Kubernetes API server also keeps the name of the first version at this place.
    ...(first ? checkLabel(first, 'spec.version') : []),
  ];
}
