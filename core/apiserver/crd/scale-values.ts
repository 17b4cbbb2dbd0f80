/** Checks the fields of an object that its definition names for the scale subresource. The schema may allow other values there. */

import { invalidField } from '../../object/field-error.ts';
import { isWhole, jsonText } from '../../object/json.ts';
import type { Cause } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';
import type { ScalePaths } from '../space.ts';

/** Largest number of replicas: that of a 32-bit integer. */
const replicasMax = 2 ** 31 - 1;

/** `isStatus`: a write of the status, which does not concern the wanted number of replicas. */
export function checkScaleValues(object: object, paths: ScalePaths, isStatus: boolean, causes: Cause[]): void {
  if (!isStatus) checkReplicas(object, paths.specReplicasPath, causes);
  checkReplicas(object, paths.statusReplicasPath, causes);
  const { labelSelectorPath } = paths;
  if (labelSelectorPath === undefined) return;
  const found = valueAt(object, labelSelectorPath, 'string', (value) => typeof value === 'string');
  if (found?.flaw !== undefined) causes.push(invalidField(labelSelectorPath, '', found.flaw));
}

function checkReplicas(object: object, path: string, causes: Cause[]): void {
  const found = valueAt(object, path, 'int64', isWhole);
  if (!found) return;
  const { flaw, value } = found;
  if (flaw !== undefined) causes.push(invalidField(path, 0, flaw));
  else if ((value as number | bigint) < 0) causes.push(invalidField(path, value, 'should be a non-negative integer'));
  else if ((value as number | bigint) > replicasMax)
    causes.push(invalidField(path, value, `should be less than or equal to ${replicasMax}`));
}

/** Undefined: the object has no such field. `flaw`: why the path does not lead to a value of the type. */
function valueAt(
  object: object,
  path: string,
  type: string,
  isType: (value: unknown) => boolean,
): { readonly value?: unknown; readonly flaw?: string } | undefined {
  const names = path.replace(/^\./, '').split('.');
  let value: unknown = object;
  for (const [index, name] of names.entries()) {
    if (value === null) return undefined;
    if (!isRecord(value)) return { flaw: accessorFlaw(names.slice(0, index + 1), value, 'map[string]interface{}') };
    if (!Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return isType(value) ? { value } : { flaw: accessorFlaw(names, value, type) };
}

function accessorFlaw(names: readonly string[], value: unknown, expected: string): string {
  const shown = typeof value === 'object' && value !== null ? jsonText(value) : String(value ?? '<nil>');
  return `.${names.join('.')} accessor error: ${shown} is of the type ${goType(value)}, expected ${expected}`;
}

/** The names of types in messages of Kubernetes. */
function goType(value: unknown): string {
  if (value === null) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  if (isWhole(value)) return 'int64';
  if (typeof value === 'number') return 'float64';
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'object' ? 'map[string]interface {}' : 'string';
}
