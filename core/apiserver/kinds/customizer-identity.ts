/**
 * Refuses a Customizer that would change the identity of an object, as far as the text of the Customizer shows this. If only an evaluation shows it, the
 * destination reports the mistake.
 */

import type { CustomizerSpec, CustomizerTarget, PatchItem } from '../../customize/customizer.ts';
import { forbiddenField } from '../../object/field-error.ts';
import { jsonText } from '../../object/json.ts';
import { parseJsonPath } from '../../object/jsonpath.ts';
import { parseApiVersion } from '../../object/meta.ts';
import type { Cause } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';

/** The fields that identify an object, as names joined by dots. */
const identity = ['apiVersion', 'kind', 'metadata.name', 'metadata.namespace'];
const detail =
  'would make another object of the customized one; a Customizer can not change apiVersion, kind, name and namespace';
const writing = new Set(['add', 'remove', 'replace', 'move', 'copy']);

export function checkCustomizedIdentity({ rules = [], replacements = [] }: CustomizerSpec): Cause[] {
  const patched = rules.flatMap(({ target = {}, patch = [] }, index) =>
    patch.flatMap((item, at) => {
      const field = `spec.rules[${index}].patch[${at}]`;
      return item.merge === undefined ? checkItem(item, field) : checkMerge(item.merge, target, `${field}.merge`);
    }),
  );
  const replaced = replacements.flatMap(({ path }, index) => {
    const steps = parseJsonPath(path) ?? [];
    const names = steps.map((step) => (step.type === 'name' ? step.name : '*')).join('.');
    return identity.includes(names) ? [forbiddenField(`spec.replacements[${index}].path`, `${path} ${detail}`)] : [];
  });
  return [...patched, ...replaced];
}

function checkItem({ op = '', path, from }: PatchItem, field: string): Cause[] {
  if (!writing.has(op)) return [];
  const taken = op === 'move' && isIdentity(from) ? [forbiddenField(`${field}.from`, `${from} ${detail}`)] : [];
  return isIdentity(path) ? [forbiddenField(`${field}.path`, `${path} ${detail}`), ...taken] : taken;
}

function isIdentity(pointer: string | undefined): boolean {
  return pointer !== undefined && identity.includes(pointer.slice(1).replaceAll('/', '.'));
}

/**
 * Checks a merge patch. A merge may repeat the identity of its object, for example as part of a whole manifest. The check refuses an identity that differs
 * from the target of the rule. If the target does not have the field, or if the value contains an expression, only the object itself can show a difference.
 */
function checkMerge(merge: unknown, target: CustomizerTarget, field: string): Cause[] {
  if (!isRecord(merge)) return [];
  const { apiVersion, kind, metadata } = merge;
  const causes = checkDirective(merge, field);
  if (apiVersion !== undefined && !isSame(apiVersion, target.group, (text) => parseApiVersion(text).group))
    causes.push(forbiddenField(`${field}.apiVersion`, `${jsonText(apiVersion)} ${detail}`));
  if (kind !== undefined && !isSame(kind, target.kind))
    causes.push(forbiddenField(`${field}.kind`, `${jsonText(kind)} ${detail}`));
  if (metadata === undefined) return causes;
  if (!isRecord(metadata)) return [...causes, forbiddenField(`${field}.metadata`, `${jsonText(metadata)} ${detail}`)];
  causes.push(...checkDirective(metadata, `${field}.metadata`));
  for (const [name, wanted] of [['name', target.name] as const, ['namespace', undefined] as const]) {
    const value = metadata[name];
    if (value !== undefined && !isSame(value, wanted))
      causes.push(forbiddenField(`${field}.metadata.${name}`, `${jsonText(value)} ${detail}`));
  }
  return causes;
}

/** Refuses `$patch: delete` and `$patch: replace` at the top: they would remove the fields that identify the object. */
function checkDirective({ $patch: directive }: Readonly<Record<string, unknown>>, field: string): Cause[] {
  if (directive !== 'delete' && directive !== 'replace') return [];
  return [forbiddenField(`${field}.$patch`, `${directive} ${detail}`)];
}

function isSame(value: unknown, wanted: string | undefined, part = (text: string): string => text): boolean {
  if (typeof value !== 'string') return false;
  return wanted === undefined || value.includes('${{') || part(value) === wanted;
}
