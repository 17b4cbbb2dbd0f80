/**
 * Checks the parts of a CustomResourceDefinition that types can't express: names, versions, schemas. So every stored definition compiles. The messages are
 * those of the Kubernetes API server.
 */

import { duplicate, forbiddenField, invalidField, notSupported, required } from '../../object/field-error.ts';
import { checkDnsSubdomain } from '../../object/names.ts';
import type { Cause } from '../../runtime/errors.ts';
import type { Kinds, WriteAdmission } from '../space.ts';
import { invalidObject } from '../status-errors.ts';
import type { SpaceStorage } from '../storage.ts';
import { checkConversionWebhook } from './conversion-webhook.ts';
import {
  type CustomResourceDefinition,
  crdResource,
  type DefinitionColumn,
  type DefinitionSpec,
  type DefinitionVersion,
  isDefinition,
  type SchemaProps,
} from './definition.ts';
import { checkStoredObjects } from './stored-versions.ts';
import { checkStructural } from './structural.ts';

/**
 * Checks a definition and fills in defaults, in place. Throws Invalid. Does nothing if fields have the wrong type, because validation will refuse such a
 * definition.
 */
export function definitionAdmission(kinds: Kinds, storage: SpaceStorage): WriteAdmission {
  return ({ operation, key, object, old, subresource }) => {
    if (key.group !== crdResource.group || key.resource !== crdResource.resource) return;
    if (!object || operation === 'delete' || subresource !== undefined || !isDefinition(object)) return;
    const kind = kinds.byResource(crdResource);
    if (!kind || kind.rules.validate(object, 'v1').length > 0) return;
    fillIn(object.spec);
    const before = old && isDefinition(old) ? old : undefined;
    const causes = [
      ...checkDefinition(object, before),
      ...(before ? checkStoredObjects(object.spec, before.spec, storage) : []),
    ];
    if (causes.length > 0) throw invalidObject(kind, key.name, causes);
  };
}

export function checkDefinition(definition: CustomResourceDefinition, old?: CustomResourceDefinition): Cause[] {
  const { spec } = definition;
  const expected = `${spec.names?.plural}.${spec.group}`;
  return [
    ...(definition.metadata.name === expected
      ? []
      : [invalidField('metadata.name', definition.metadata.name, 'must be spec.names.plural+"."+spec.group')]),
    ...checkGroupAndScope(spec),
    ...checkNames(spec),
    ...checkVersions(spec, old?.spec.versions ?? []),
    ...checkConversion(spec),
    ...(old ? checkUpdate(definition, old) : []),
  ];
}

function fillIn(spec: DefinitionSpec): void {
  const { names } = spec;
  if (!names?.kind) return;
  names.singular ||= names.kind.toLowerCase();
  names.listKind ||= `${names.kind}List`;
  spec.conversion ??= { strategy: 'None' };
}

function checkGroupAndScope({ group, scope, preserveUnknownFields }: DefinitionSpec): Cause[] {
  const causes: Cause[] = [];
  if (!group) causes.push(required('spec.group'));
  else if (!group.includes('.'))
    causes.push(invalidField('spec.group', group, 'should be a domain with at least one dot'));
  else if (checkDnsSubdomain(group)) causes.push(invalidField('spec.group', group, checkDnsSubdomain(group)!));
  if (!scope) causes.push(required('spec.scope'));
  else if (!['Cluster', 'Namespaced'].includes(scope))
    causes.push(notSupported('spec.scope', scope, ['Cluster', 'Namespaced']));
  if (preserveUnknownFields) {
    const why =
      'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead';
    causes.push(invalidField('spec.preserveUnknownFields', true, why));
  }
  return causes;
}

const dns1035 = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const dns1035Message =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";

function isLabel(name: string): boolean {
  return name.length <= 63 && dns1035.test(name);
}

function checkNames({ names }: DefinitionSpec): Cause[] {
  if (!names) return [required('spec.names')];
  const causes: Cause[] = [];
  const check = (field: string, name: string | undefined, text: string, form: string) => {
    if (!name) causes.push(required(field));
    else if (!isLabel(form)) causes.push(invalidField(field, name, text));
  };
  const mixed = `may have mixed case, but should otherwise match: ${dns1035Message}`;
  check('spec.names.plural', names.plural, dns1035Message, names.plural ?? '');
  check('spec.names.singular', names.singular, dns1035Message, names.singular ?? '');
  check('spec.names.kind', names.kind, mixed, (names.kind ?? '').toLowerCase());
  check('spec.names.listKind', names.listKind, mixed, (names.listKind ?? '').toLowerCase());
  for (const list of ['shortNames', 'categories'] as const) {
    for (const [index, name] of (names[list] ?? []).entries())
      check(`spec.names.${list}[${index}]`, name, dns1035Message, name);
  }
  if (names.kind && names.kind === names.listKind) {
    causes.push(invalidField('spec.names.listKind', names.listKind, 'kind and listKind may not be the same'));
  }
  return causes;
}

function checkVersions({ versions }: DefinitionSpec, old: readonly DefinitionVersion[]): Cause[] {
  if (!versions?.length) return [required('spec.versions', 'must have at least one version')];
  const causes: Cause[] = [];
  const seen = new Set<string>();
  for (const [index, version] of versions.entries()) {
    const field = `spec.versions[${index}]`;
    if (!isLabel(version.name)) causes.push(invalidField(`${field}.name`, version.name, dns1035Message));
    if (seen.has(version.name)) causes.push(duplicate(`${field}.name`, version.name));
    seen.add(version.name);
    const before = old.find(({ name }) => name === version.name);
    causes.push(...checkVersion(version, field, before));
  }
  if (versions.filter((version) => version.storage).length !== 1) {
    causes.push(
      invalidField(
        'spec.versions',
        versions.map(({ name }) => name),
        'must have exactly one version marked as storage version',
      ),
    );
  }
  return causes;
}

function checkVersion(version: DefinitionVersion, field: string, old: DefinitionVersion | undefined): Cause[] {
  const causes: Cause[] = [];
  const schema = version.schema?.openAPIV3Schema;
  if (version.deprecationWarning !== undefined && !version.deprecated) {
    causes.push(
      invalidField(
        `${field}.deprecationWarning`,
        version.deprecationWarning,
        'can only be set for deprecated versions',
      ),
    );
  }
  if (schema) {
    causes.push(...checkStructural(schema, `${field}.schema.openAPIV3Schema`, old?.schema?.openAPIV3Schema));
  }
  if (!schema) causes.push(required(`${field}.schema.openAPIV3Schema`, 'schemas are required'));
  for (const [index, column] of (version.additionalPrinterColumns ?? []).entries()) {
    causes.push(...checkColumn(column, `${field}.additionalPrinterColumns[${index}]`));
  }
  causes.push(...checkScale(version, `${field}.subresources.scale`));
  causes.push(...checkSelectable(version, schema ?? {}, `${field}.selectableFields`));
  return causes;
}

const columnTypes = ['integer', 'number', 'string', 'boolean', 'date'];

function checkColumn(column: DefinitionColumn, field: string): Cause[] {
  const causes: Cause[] = [];
  if (!column.name) causes.push(required(`${field}.name`));
  if (!column.type) causes.push(required(`${field}.type`));
  else if (!columnTypes.includes(column.type)) causes.push(notSupported(`${field}.type`, column.type, columnTypes));
  if (!column.jsonPath) causes.push(required(`${field}.jsonPath`));
  else if (!column.jsonPath.startsWith('.')) {
    causes.push(invalidField(`${field}.jsonPath`, column.jsonPath, 'must be a simple json path starting with .'));
  }
  return causes;
}

const simplePath = /^(\.[A-Za-z_][\w-]*)+$/;

function checkScale({ subresources }: DefinitionVersion, field: string): Cause[] {
  const scale = subresources?.scale;
  if (!scale) return [];
  const causes: Cause[] = [];
  const check = (
    name: 'specReplicasPath' | 'statusReplicasPath' | 'labelSelectorPath',
    under: string[],
    isNeeded: boolean,
  ) => {
    const path = scale[name];
    if (!path) {
      if (isNeeded) causes.push(required(`${field}.${name}`));
    } else if (!simplePath.test(path) || !under.some((prefix) => path.startsWith(prefix))) {
      causes.push(invalidField(`${field}.${name}`, path, `should be a json path under ${under.join(' or ')}`));
    }
  };
  check('specReplicasPath', ['.spec.'], true);
  check('statusReplicasPath', ['.status.'], true);
  check('labelSelectorPath', ['.spec.', '.status.'], false);
  return causes;
}

/** The limit of the Kubernetes API server. A list request reads each selectable field of every object. */
const selectableFieldsMax = 8;

function checkSelectable({ selectableFields = [] }: DefinitionVersion, schema: SchemaProps, field: string): Cause[] {
  const causes: Cause[] = [];
  if (selectableFields.length > selectableFieldsMax) {
    causes.push(invalidField(field, selectableFields.length, `must have at most ${selectableFieldsMax} fields`));
  }
  for (const [index, { jsonPath }] of selectableFields.entries()) {
    const at = `${field}[${index}].jsonPath`;
    const names = simplePath.test(jsonPath ?? '') ? jsonPath.slice(1).split('.') : undefined;
    let node: SchemaProps | undefined = names && schema;
    for (const name of names ?? []) node = node?.properties?.[name];
    if (names?.[0] === 'metadata') causes.push(invalidField(at, jsonPath, 'must not point to fields in metadata'));
    else if (!node) causes.push(invalidField(at, jsonPath, 'is an invalid path: does not refer to a valid field'));
    else if (!['string', 'integer', 'boolean'].includes(node.type ?? '')) {
      causes.push(
        invalidField(
          at,
          jsonPath,
          'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
        ),
      );
    }
  }
  return causes;
}

function checkConversion({ conversion }: DefinitionSpec): Cause[] {
  const strategy = conversion?.strategy ?? 'None';
  if (strategy === 'None') {
    return conversion?.webhook
      ? [forbiddenField('spec.conversion.webhook', 'should not be set when strategy is not set to Webhook')]
      : [];
  }
  return strategy === 'Webhook'
    ? checkConversionWebhook(conversion?.webhook)
    : [notSupported('spec.conversion.strategy', strategy, ['None', 'Webhook'])];
}

function checkUpdate({ spec }: CustomResourceDefinition, old: CustomResourceDefinition): Cause[] {
  const causes: Cause[] = [];
  const immutable = (field: string, value: string, before: string) => {
    if (value !== before) causes.push(invalidField(field, value, 'field is immutable'));
  };
  immutable('spec.group', spec.group, old.spec.group);
  immutable('spec.names.plural', spec.names.plural, old.spec.names.plural);
  if (old.status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True')) {
    immutable('spec.scope', spec.scope, old.spec.scope);
    immutable('spec.names.kind', spec.names.kind, old.spec.names.kind);
  }
  const names = new Set(spec.versions?.map((version) => version.name));
  for (const [index, stored] of (old.status?.storedVersions ?? []).entries()) {
    if (!names.has(stored))
      causes.push(invalidField(`status.storedVersions[${index}]`, stored, 'must appear in spec.versions'));
  }
  return causes;
}
