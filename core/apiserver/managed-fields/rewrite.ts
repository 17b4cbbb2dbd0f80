/**
 * A write that replaces the whole object in another version, while only a webhook could convert the old state. The metadata has the same meaning in all
 * versions, so it stays with its owners. The writer owns the rest.
 */
import type { KubeObject } from '../../object/meta.ts';
import { conflictError } from './conflicts.ts';
import { decodeEntries, encodeEntries, type FieldsEntry } from './entries.ts';
import type { FieldSet } from './field-set.ts';

const metadataElement = 'f:metadata';

/** The old state as the write in `apiVersion` sees it: its metadata, with the owners of the metadata. */
export function withoutContent(live: KubeObject, apiVersion: string): KubeObject {
  const { managedFields, ...metadata } = live.metadata;
  const entries = decodeEntries(managedFields).flatMap((entry): FieldsEntry[] => {
    const fields = entry.fields[metadataElement];
    return fields && entry.subresource === '' ? [{ ...entry, fields: { [metadataElement]: fields } }] : [];
  });
  const kept = entries.length > 0 ? { managedFields: encodeEntries(entries) } : {};
  return { apiVersion, kind: live.kind, metadata: { ...metadata, ...kept } };
}

/** Throws Conflict if other managers than this applier own content of the object. An apply with `force` takes it from them. */
export function checkRewrite(live: KubeObject, applier: string): void {
  const conflicts = decodeEntries(live.metadata.managedFields)
    .filter(
      ({ manager, operation, subresource }) => subresource === '' && !(manager === applier && operation === 'Apply'),
    )
    .map((entry) => ({ entry, fields: contentOf(entry.fields) }))
    .filter(({ fields }) => Object.keys(fields).length > 0);
  if (conflicts.length > 0) throw conflictError(conflicts);
}

function contentOf({
  [metadataElement]: _metadata,
  ...content
}: FieldSet & { [metadataElement]?: FieldSet }): FieldSet {
  return content;
}
