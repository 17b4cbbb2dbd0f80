/**
 * Decides about the names of custom kinds within one API group. Each plural, singular, short name, kind and list kind belongs to one definition: the first
 * one that asked for the name. If a definition asks for a name of another one, its condition NamesAccepted is False, and the space does not serve the
 * definition.
 */
import type { NewCondition } from '../../object/conditions.ts';
import type { CustomResourceDefinition, DefinitionNames } from './definition.ts';

export interface AcceptedNames {
  readonly accepted: DefinitionNames;
  readonly condition: NewCondition;
}

/** True unless the CrdController has refused the names of the definition. So a definition is also served before the controller has processed it. */
export function isServed(definition: CustomResourceDefinition): boolean {
  return conditionOf(definition, 'NamesAccepted') !== 'False' || isEstablished(definition);
}

/** True if the controller has accepted the names. Then the objects that are stored under these names belong to the definition. */
export function isEstablished(definition: CustomResourceDefinition): boolean {
  return conditionOf(definition, 'Established') === 'True';
}

/** True if the controller has refused at least one name of the definition. */
export function isWaitingForNames(definition: CustomResourceDefinition): boolean {
  return conditionOf(definition, 'NamesAccepted') === 'False';
}

function conditionOf(definition: CustomResourceDefinition, type: string): string | undefined {
  return definition.status?.conditions?.find((condition) => condition.type === type)?.status;
}

/** Accepts or refuses the names of a definition. `others` are the names of the other definitions and of the built-in kinds in the same group. */
export function acceptNames(definition: CustomResourceDefinition, others: readonly DefinitionNames[]): AcceptedNames {
  const asked = definition.spec.names;
  const before = definition.status?.acceptedNames;
  const resources = new Set(
    others.flatMap((names) => [names.plural, names.singular ?? '', ...(names.shortNames ?? [])]),
  );
  const kinds = new Set(others.flatMap((names) => [names.kind, names.listKind ?? '']));
  const conflicts: [reason: string, message: string][] = [];
  const take = <T extends string | undefined>(name: T, taken: Set<string>, reason: string, otherwise: T): T => {
    if (name === undefined || name === '' || !taken.has(name)) return name;
    conflicts.push([reason, `"${name}" is already in use`]);
    return otherwise;
  };
  const singular = take(
    asked.singular ?? asked.kind.toLowerCase(),
    resources,
    'SingularConflict',
    before?.singular ?? '',
  );
  const listKind = take(asked.listKind ?? `${asked.kind}List`, kinds, 'ListKindConflict', before?.listKind ?? '');
  const accepted: DefinitionNames = {
    plural: take(asked.plural, resources, 'PluralConflict', before?.plural ?? ''),
    singular,
    shortNames: (asked.shortNames ?? []).filter((name) => take(name, resources, 'ShortNamesConflict', '') !== ''),
    kind: take(asked.kind, kinds, 'KindConflict', before?.kind ?? ''),
    listKind,
    ...(asked.categories ? { categories: asked.categories } : {}),
  };
  if (accepted.shortNames?.length === 0) delete accepted.shortNames;
  const [first] = conflicts;
  const condition: NewCondition = first
    ? {
        type: 'NamesAccepted',
        status: 'False',
        reason: first[0],
        message: conflicts.map(([, text]) => text).join(', '),
      }
    : { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' };
  return { accepted, condition };
}
