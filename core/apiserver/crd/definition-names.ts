/** Checks the names of a definition: its group, its kind, and the names in URLs. */
import { dns1035LabelMistakes, subdomainMistakes } from '../../match/cel/library/formats.ts';
import { invalidField, required } from '../../object/field-error.ts';
import type { Cause } from '../../runtime/errors.ts';
import type { DefinitionNames } from './definition.ts';

export function checkGroup(group: string | undefined, field: string): Cause[] {
  if (!group) return [required(field)];
  const mistakes = subdomainMistakes(group);
  if (mistakes.length > 0) return [invalidField(field, group, mistakes.join(','))];
  return group.includes('.') ? [] : [invalidField(field, group, 'should be a domain with at least one dot')];
}

export function checkLabel(name: string, field: string): Cause[] {
  const mistakes = dns1035LabelMistakes(name);
  return mistakes.length === 0 ? [] : [invalidField(field, name, mistakes.join(','))];
}

export function checkNames(names: Partial<DefinitionNames>, field: string): Cause[] {
  const { plural, singular, kind, listKind, shortNames = [], categories = [] } = names;
  const each = (list: readonly string[], name: string) =>
    list.flatMap((item, index) => checkLabel(item, `${field}.${name}[${index}]`));
  return [
    ...(['plural', 'singular', 'kind', 'listKind'] as const).flatMap((name) =>
      names[name] ? [] : [required(`${field}.${name}`)],
    ),
    ...(plural ? checkLabel(plural, `${field}.plural`) : []),
    ...(singular ? checkLabel(singular, `${field}.singular`) : []),
    ...(kind ? checkMixed(kind, `${field}.kind`) : []),
    ...(listKind ? checkMixed(listKind, `${field}.listKind`) : []),
    ...each(shortNames, 'shortNames'),
    ...(kind && kind === listKind
      ? [invalidField(`${field}.listKind`, listKind, 'kind and listKind may not be the same')]
      : []),
    ...each(categories, 'categories'),
  ];
}

function checkMixed(name: string, field: string): Cause[] {
  const mistakes = dns1035LabelMistakes(name.toLowerCase());
  if (mistakes.length === 0) return [];
  return [invalidField(field, name, `may have mixed case, but should otherwise match: ${mistakes.join(',')}`)];
}
