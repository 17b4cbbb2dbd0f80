/** The type of `metadata` in custom resources and embedded resources. A CustomResourceDefinition can't define this type. */
import type { Field, FieldType, ObjectType } from '../schema.ts';

const string: FieldType = { type: 'string' };
const time: FieldType = { type: 'string', format: 'date-time' };
const strings: FieldType = { type: 'map', values: string, mapType: 'granular' };
const boolean: FieldType = { type: 'boolean' };

/** Makes a type with these fields. Only the fields in `options.required` are required. */
export function objectType(
  fields: Readonly<Record<string, FieldType>>,
  options: { name?: string; required?: readonly string[]; mapType?: 'atomic' | 'granular' } = {},
): ObjectType {
  const entries = new Map<string, Field>(
    Object.entries(fields).map(([name, type]) => [name, { type, required: options.required?.includes(name) ?? false }]),
  );
  return {
    type: 'object',
    ...(options.name === undefined ? {} : { name: options.name }),
    mapType: options.mapType ?? 'granular',
    preserveUnknown: false,
    field: (name) => entries.get(name),
    fields: () => entries,
  };
}

const ownerReference = objectType(
  { apiVersion: string, kind: string, name: string, uid: string, controller: boolean, blockOwnerDeletion: boolean },
  {
    name: 'io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference',
    required: ['apiVersion', 'kind', 'name', 'uid'],
    mapType: 'atomic',
  },
);

const managedFieldsEntry = objectType(
  {
    manager: string,
    operation: string,
    apiVersion: string,
    time,
    fieldsType: string,
    fieldsV1: { type: 'any' },
    subresource: string,
  },
  { name: 'io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry' },
);

export const objectMetaType: ObjectType = objectType(
  {
    name: string,
    generateName: string,
    namespace: string,
    selfLink: string,
    uid: string,
    resourceVersion: string,
    generation: { type: 'integer', format: 'int64' },
    creationTimestamp: time,
    deletionTimestamp: time,
    deletionGracePeriodSeconds: { type: 'integer', format: 'int64' },
    labels: strings,
    annotations: strings,
    ownerReferences: { type: 'list', items: ownerReference, listType: 'map', mapKeys: ['uid'] },
    finalizers: { type: 'list', items: string, listType: 'set' },
    managedFields: { type: 'list', items: managedFieldsEntry, listType: 'atomic' },
  },
  { name: 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' },
);
