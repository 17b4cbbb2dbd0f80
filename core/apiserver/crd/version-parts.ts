/**
 * The parts of a definition that each version has: schema, subresources, columns and selectable fields. If all versions have the same part, the Kubernetes API
 * server moves the part to `spec` before it checks the definition. Its messages then name a field of `spec`, also in a definition with one version.
 */
import { equalJson } from '../../object/json-value.ts';
import type { DefinitionVersion } from './definition.ts';

/** The fields of a version, and their names in `spec`. */
const names = {
  schema: 'validation',
  subresources: 'subresources',
  additionalPrinterColumns: 'additionalPrinterColumns',
  selectableFields: 'selectableFields',
} as const;

type PartName = keyof typeof names;
export type VersionParts = Partial<Pick<DefinitionVersion, PartName>>;

export interface Parts {
  /** The parts that all versions share. */
  readonly shared: VersionParts;
  /** For each version, the parts that differ between versions. */
  readonly own: readonly VersionParts[];
}

export function versionParts(versions: readonly DefinitionVersion[]): Parts {
  const [first] = versions;
  const isShared = (name: PartName) =>
    versions.every((version) => equalJson(filled(version[name]), filled(first?.[name])));
  const all = Object.keys(names) as PartName[];
  const shared = all.filter(isShared);
  const own = all.filter((name) => !shared.includes(name));
  return { shared: pick(first, shared), own: versions.map((version) => pick(version, own)) };
}

export function sharedField(name: PartName): string {
  return `spec.${names[name]}`;
}

function pick(version: DefinitionVersion | undefined, parts: readonly PartName[]): VersionParts {
  return Object.fromEntries(parts.flatMap((name) => (filled(version?.[name]) ? [[name, version?.[name]]] : [])));
}

/** For the Kubernetes API server, an empty list is no list. */
function filled<T>(value: T): T | undefined {
  return Array.isArray(value) && value.length === 0 ? undefined : value;
}

/** `spec.versions` as the messages of the Kubernetes API server show this field: with the names that the fields have in its code. */
export function shownVersions(versions: readonly DefinitionVersion[], { own }: Parts): object[] {
  return versions.map(({ name, served, storage, deprecated, deprecationWarning }, index) => {
    const { schema, subresources, additionalPrinterColumns: columns, selectableFields: fields } = own[index] ?? {};
    const { status, scale } = subresources ?? {};
    return {
      Name: name ?? '',
      Served: served ?? false,
      Storage: storage ?? false,
      Deprecated: deprecated ?? false,
      DeprecationWarning: deprecationWarning ?? null,
      Schema: schema ? { OpenAPIV3Schema: schema.openAPIV3Schema ?? null } : null,
      Subresources: subresources ? { Status: status ?? null, Scale: scale ? shownScale(scale) : null } : null,
      AdditionalPrinterColumns:
        columns?.map((column) => ({
          Name: column.name ?? '',
          Type: column.type ?? '',
          Format: column.format ?? '',
          Description: column.description ?? '',
          Priority: column.priority ?? 0,
          JSONPath: column.jsonPath ?? '',
        })) ?? null,
      SelectableFields: fields?.map(({ jsonPath }) => ({ JSONPath: jsonPath ?? '' })) ?? null,
    };
  });
}

type Scale = NonNullable<NonNullable<DefinitionVersion['subresources']>['scale']>;

function shownScale({ specReplicasPath, statusReplicasPath, labelSelectorPath }: Scale): object {
  return {
    SpecReplicasPath: specReplicasPath ?? '',
    StatusReplicasPath: statusReplicasPath ?? '',
    LabelSelectorPath: labelSelectorPath ?? null,
  };
}
