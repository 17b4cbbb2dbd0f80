/** Checks the syntax of spec.drift.ignoredFields. */

import { invalidField } from '../../object/field-error.ts';
import { parseJsonPath } from '../../object/jsonpath.ts';
import type { Cause } from '../../runtime/errors.ts';

export function checkIgnoredFields(paths: readonly string[] = [], field = 'spec.drift.ignoredFields'): Cause[] {
  return paths.flatMap((path, i) => {
    const wrong = problemOf(path);
    return wrong === undefined ? [] : [invalidField(`${field}[${i}]`, path, wrong)];
  });
}

function problemOf(path: string): string | undefined {
  const steps = parseJsonPath(path);
  if (!steps || steps.length === 0) {
    return "write a JSONPath, such as .spec.replicas or .spec.template.spec.containers[?(@.name=='till')].image";
  }
  if (steps.some(({ type }) => type === 'all')) return 'name one field: * leads to many';
  if (steps.at(-1)?.type !== 'name') return 'end with the name of a field';
  const [first, second] = steps.map((step) => (step.type === 'name' ? step.name : ''));
  const isIdentity =
    ['apiVersion', 'kind'].includes(first!) ||
    (first === 'metadata' && !['labels', 'annotations'].includes(second ?? ''));
  return isIdentity ? 'this field identifies the object; name a field of its content' : undefined;
}
