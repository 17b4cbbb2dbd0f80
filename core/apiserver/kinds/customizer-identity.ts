/**
 * What would make another object of the one that it customizes: told when it is written where the text alone shows it. What only an evaluation shows is
 * told by the destinations.
 */
import type { CustomizerSpec, PatchItem } from '../../customize/customizer.ts';
import { parseJsonPath } from '../../object/jsonpath.ts';
import type { Cause } from '../../runtime/errors.ts';
import { forbidden } from '../crd/field-error.ts';

/** Fields as the names that lead to them. */
const identity = ['apiVersion', 'kind', 'metadata.name', 'metadata.namespace'];
const detail = 'would make another object of the one that it customizes; the fields that say which one it is stay';
const writing = new Set(['add', 'remove', 'replace', 'move', 'copy']);

export function checkIdentity({ rules = [], replacements = [] }: CustomizerSpec): Cause[] {
  const patched = rules.flatMap(({ patch = [] }, index) =>
    patch.flatMap((item, at) => checkItem(item, `spec.rules[${index}].patch[${at}]`)),
  );
  const replaced = replacements.flatMap(({ path }, index) => {
    const steps = parseJsonPath(path) ?? [];
    const names = steps.map((step) => (step.type === 'name' ? step.name : '*')).join('.');
    return identity.includes(names) ? [forbidden(`spec.replacements[${index}].path`, `${path} ${detail}`)] : [];
  });
  return [...patched, ...replaced];
}

/** A merge may name what it is for, as whole manifests do; whether that is another object, the object says. */
function checkItem({ op = '', path, from }: PatchItem, field: string): Cause[] {
  if (!writing.has(op)) return [];
  const taken = op === 'move' && isIdentity(from) ? [forbidden(`${field}.from`, `${from} ${detail}`)] : [];
  return isIdentity(path) ? [forbidden(`${field}.path`, `${path} ${detail}`), ...taken] : taken;
}

function isIdentity(pointer: string | undefined): boolean {
  return pointer !== undefined && identity.includes(pointer.slice(1).replaceAll('/', '.'));
}
