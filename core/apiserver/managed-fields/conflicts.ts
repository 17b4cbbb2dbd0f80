/** The error of an apply that would change fields of other owners, with the message of the Kubernetes API server. kubectl prints the message unchanged. */
import { BanyanError, type Cause } from '../../runtime/errors.ts';
import type { FieldsEntry } from './entries.ts';
import { type FieldSet, pathsOf } from './field-set.ts';

export interface FieldConflict {
  readonly entry: FieldsEntry;
  readonly fields: FieldSet;
}

export function conflictError(conflicts: readonly FieldConflict[]): BanyanError {
  const fields = conflicts.flatMap(({ entry, fields }) =>
    pathsOf(fields).map((path) => ({ manager: text(entry), path })),
  );
  const causes: Cause[] = fields.map(({ manager, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${manager}`,
    field: path,
  }));
  const [only] = fields;
  const message =
    fields.length === 1 && only
      ? `Apply failed with 1 conflict: conflict with ${only.manager}: ${only.path}`
      : `Apply failed with ${fields.length} conflicts: ${grouped(fields)}`;
  return new BanyanError('Conflict', message, { causes });
}

function grouped(fields: readonly { manager: string; path: string }[]): string {
  const managers = [...new Set(fields.map(({ manager }) => manager))].sort();
  const lines = managers.flatMap((manager) => [
    `conflicts with ${manager}:`,
    ...fields.filter((field) => field.manager === manager).map(({ path }) => `- ${path}`),
  ]);
  return lines.join('\n');
}

function text({ manager, operation, apiVersion, subresource }: FieldsEntry): string {
  const name =
    subresource === '' ? JSON.stringify(manager) : `${JSON.stringify(manager)} with subresource "${subresource}"`;
  return operation === 'Update' ? `${name} using ${apiVersion}` : name;
}
