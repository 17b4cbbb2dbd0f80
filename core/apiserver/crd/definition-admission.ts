/**
 * Checks the parts of a CustomResourceDefinition that types can't express: names, versions, schemas. So every stored definition compiles. The messages and the
 * names of fields are those of the Kubernetes API server.
 */

import { invalidField } from '../../object/field-error.ts';
import type { Cause } from '../../runtime/errors.ts';
import type { Kinds, WriteAdmission } from '../space.ts';
import { invalidObject } from '../status-errors.ts';
import type { SpaceStorage } from '../storage.ts';
import { checkApproval } from './api-approval.ts';
import { isBundle } from './conversion-webhook.ts';
import { decodeSpec } from './decode.ts';
import { type CustomResourceDefinition, crdResource, type DefinitionSpec, isDefinition } from './definition.ts';
import { checkSpec } from './definition-spec.ts';
import { checkStoredObjects } from './stored-versions.ts';

/**
 * Checks a definition and fills in defaults, in place. Throws Invalid. Does nothing if fields have the wrong type, because validation will refuse such a
 * definition.
 */
export function definitionAdmission(kinds: Pick<Kinds, 'byResource'>, storage: SpaceStorage): WriteAdmission {
  return ({ operation, key, object, old, subresource }) => {
    if (key.group !== crdResource.group || key.resource !== crdResource.resource) return;
    if (!object || operation === 'delete' || subresource !== undefined || !isDefinition(object)) return;
    const kind = kinds.byResource(crdResource);
    if (!kind || kind.rules.validate(object, 'v1').length > 0) return;
    object.spec ??= {} as DefinitionSpec;
    decodeSpec(object.spec, kind);
    fillIn(object.spec);
    const before = old && isDefinition(old) ? old : undefined;
    const causes = [
      ...checkDefinition(object, before),
      ...(before ? checkStoredObjects(object.spec, before.spec, storage) : []),
    ];
    if (causes.length > 0) throw invalidObject(kind, key.name, causes);
  };
}

function fillIn(spec: DefinitionSpec): void {
  const { names } = spec;
  if (names?.kind) {
    names.singular ||= names.kind.toLowerCase();
    names.listKind ||= `${names.kind}List`;
  }
  spec.conversion ??= { strategy: 'None' };
  const service = spec.conversion.webhook?.clientConfig?.service;
  if (service) service.port ??= 443;
}

export function checkDefinition(definition: CustomResourceDefinition, old?: CustomResourceDefinition): Cause[] {
  const { metadata, spec } = definition;
  return [
    ...(old ? [] : checkName(definition)),
    ...checkChangedSpec(spec, old),
    ...(old ? checkImmutable(spec, old) : []),
    ...checkStoredVersions(spec, old?.status?.storedVersions ?? []),
    ...checkApproval(spec.group ?? '', metadata, old?.metadata),
    ...checkPreserve(spec, old?.spec),
  ];
}

function checkName({ metadata, spec }: CustomResourceDefinition): Cause[] {
  if (metadata.name === `${spec.names?.plural ?? ''}.${spec.group ?? ''}`) return [];
  return [invalidField('metadata.name', metadata.name, 'must be spec.names.plural+"."+spec.group')];
}

/**
 * Leaves out mistakes that the stored definition has too: an earlier build of this server may have accepted the definition, and its users must be able to
 * change the other parts. A real API server has such exceptions for a few fields.
 */
function checkChangedSpec(spec: DefinitionSpec, old: CustomResourceDefinition | undefined): Cause[] {
  const isEstablished = old ? isServed(old) : false;
  const bundle = old?.spec.conversion?.webhook?.clientConfig?.caBundle;
  const needsBundle = isEstablished && !(bundle && !isBundle(bundle));
  const causes = checkSpec(spec, { needsBundle, old: old?.spec, fresh: (found) => found });
  if (causes.length === 0 || !old) return causes;
  const known = new Set(checkSpec(old.spec, { needsBundle, old: old.spec, fresh: (found) => found }).map(textOf));
  if (known.size === 0) return causes;
  const fresh = (found: Cause[]) => found.filter((cause) => !known.has(textOf(cause)));
  return fresh(checkSpec(spec, { needsBundle, old: old.spec, fresh }));
}

function textOf({ field, message }: Cause): string {
  return `${field}: ${message}`;
}

function isServed({ status }: CustomResourceDefinition): boolean {
  return (status?.conditions ?? []).some(
    (condition) => condition.type === 'Established' && condition.status === 'True',
  );
}

function checkImmutable(spec: DefinitionSpec, old: CustomResourceDefinition): Cause[] {
  const same = (field: string, value: string | undefined, before: string | undefined): Cause[] =>
    value === before ? [] : [invalidField(field, value ?? '', 'field is immutable')];
  return [
    ...(isServed(old)
      ? [
          ...same('spec.scope', spec.scope, old.spec.scope),
          ...same('spec.names.kind', spec.names?.kind, old.spec.names.kind),
        ]
      : []),
    ...same('spec.group', spec.group, old.spec.group),
    ...same('spec.names.plural', spec.names?.plural, old.spec.names.plural),
  ];
}

/** `before`: the versions in which objects may be stored. The storage version of the new spec is added to these. */
function checkStoredVersions({ versions = [] }: DefinitionSpec, before: readonly string[]): Cause[] {
  const field = 'status.storedVersions';
  const storage = versions.filter((version) => version.storage).map(({ name }) => name);
  const stored = [...new Set([...before, ...storage.slice(0, 1)])];
  if (stored.length === 0) return [invalidField(field, null, 'must have at least one stored version')];
  const rest = new Set(stored);
  const causes: Cause[] = [];
  for (const { name, storage: isStorage } of versions) {
    if (!rest.delete(name) && isStorage) {
      causes.push(invalidField(field, stored, `must have the storage version ${name}`));
    }
  }
  for (const name of rest) {
    const why = `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`;
    causes.push(invalidField(`${field}[${stored.indexOf(name)}]`, name, why));
  }
  return causes;
}

function checkPreserve({ preserveUnknownFields }: DefinitionSpec, old: DefinitionSpec | undefined): Cause[] {
  if (!preserveUnknownFields || old?.preserveUnknownFields) return [];
  const why = 'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead';
  return [invalidField('spec.preserveUnknownFields', true, why)];
}
