/** A space over a memory store, with a few hand-made kinds, for the tests of verbs, patches and lifecycle. */

import { mergePatch } from '../../../../../core/apiserver/patch/merge-patch.ts';
import type { Field, FieldType, KindRules, ObjectType } from '../../../../../core/apiserver/schema.ts';
import type { Kind, Kinds, WriteAdmission } from '../../../../../core/apiserver/space.ts';
import { EmbeddedStorage } from '../../../../../core/apiserver/storage/embedded.ts';
import { EmbeddedSpace } from '../../../../../core/apiserver/verbs/embedded-space.ts';
import type { FieldManager } from '../../../../../core/apiserver/verbs/field-manager.ts';
import type { GroupResource } from '../../../../../core/object/key.ts';
import { formatApiVersion, type JsonObject, type KubeObject } from '../../../../../core/object/meta.ts';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import type { Cause } from '../../../../../core/runtime/errors.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../../core/store/memory/memory-store.ts';

type FieldSpec =
  | FieldType
  | { type: FieldType; merge?: boolean; replace?: boolean; retainKeys?: boolean; key?: string };

const text: FieldType = { type: 'string' };
const integer: FieldType = { type: 'integer' };
const anything: FieldType = { type: 'any' };

function listOf(items: FieldType): FieldType {
  return { type: 'list', items, listType: 'atomic' };
}

function mapOf(values: FieldType): FieldType {
  return { type: 'map', values, mapType: 'granular' };
}

function objectOf(specs: Record<string, FieldSpec>): ObjectType {
  const fields = new Map<string, Field>();
  for (const [name, spec] of Object.entries(specs)) {
    if (typeof spec.type === 'string') fields.set(name, { type: spec as FieldType, required: false });
    else {
      const { type, merge = false, replace = false, retainKeys = false, key } = spec;
      const patchStrategy = { merge, replace, retainKeys };
      fields.set(name, { type, required: false, patchStrategy, ...(key ? { patchMergeKey: key } : {}) });
    }
  }
  return {
    type: 'object',
    mapType: 'granular',
    preserveUnknown: false,
    field: (name) => fields.get(name),
    fields: () => fields,
  };
}

const metadata = objectOf({
  labels: mapOf(text),
  annotations: mapOf(text),
  finalizers: { type: listOf(text), merge: true },
  ownerReferences: { type: listOf(objectOf({ uid: text })), merge: true, key: 'uid' },
});

export const podSpec = objectOf({
  containers: {
    type: listOf(
      objectOf({
        name: text,
        image: text,
        args: listOf(text),
        env: { type: listOf(objectOf({ name: text, value: text })), merge: true, key: 'name' },
        ports: {
          type: listOf(objectOf({ containerPort: integer, protocol: text, name: text })),
          merge: true,
          key: 'containerPort',
        },
      }),
    ),
    merge: true,
    key: 'name',
  },
  volumes: { type: listOf(anything), merge: true, retainKeys: true, key: 'name' },
  nodeSelector: mapOf(text),
});

export const deploymentType = objectOf({
  metadata,
  spec: objectOf({
    replicas: integer,
    paused: { type: 'boolean' },
    selector: objectOf({ matchLabels: mapOf(text) }),
    strategy: { type: objectOf({ type: text, rollingUpdate: anything }), retainKeys: true },
    template: objectOf({ metadata, spec: podSpec }),
  }),
  status: objectOf({ replicas: integer, readyReplicas: integer }),
});

interface KindSpec {
  group?: string;
  kind: string;
  resource: string;
  versions?: string[];
  namespaced?: boolean;
  status?: boolean;
  scale?: boolean;
  custom?: boolean;
  fields?: string[];
  defaults?: (object: KubeObject) => void;
  validate?: (object: KubeObject, old?: KubeObject) => Cause[];
  type?: ObjectType;
}

function kind(spec: KindSpec): Kind {
  const { group = '', versions = ['v1'], namespaced = true, status = false, custom = false } = spec;
  const known = new Set(['apiVersion', 'kind', 'metadata', 'status', ...(spec.fields ?? ['spec'])]);
  const rules: KindRules = {
    prepare(object) {
      const unknown = Object.keys(object).filter((field) => !known.has(field));
      if (custom) for (const field of unknown) delete object[field];
      spec.defaults?.(object);
      return unknown;
    },
    validate: (object, _version, old) => spec.validate?.(object, old) ?? [],
    convert: (object, version) => ({ ...object, apiVersion: formatApiVersion(group, version) }),
  };
  const labelSelectorPath = '.spec.selector';
  const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas', labelSelectorPath };
  return {
    group,
    resource: spec.resource,
    kind: spec.kind,
    listKind: `${spec.kind}List`,
    singular: spec.kind.toLowerCase(),
    shortNames: [],
    categories: [],
    namespaced,
    versions,
    storageVersion: versions[0]!,
    storesAsWritten: false,
    hasSeveralVersions: versions.length > 1,
    subresources: { status, ...(spec.scale ? { scale } : {}) },
    custom,
    hidesGeneration: false,
    schema: () => spec.type ?? objectOf({ metadata }),
    columns: () => [],
    selectableFields: () => [],
    rules,
  };
}

const kinds: readonly Kind[] = [
  kind({ kind: 'Namespace', resource: 'namespaces', namespaced: false, status: true }),
  kind({ kind: 'ConfigMap', resource: 'configmaps', fields: ['data', 'binaryData', 'immutable'] }),
  kind({
    kind: 'Secret',
    resource: 'secrets',
    fields: ['data', 'stringData', 'immutable', 'type'],
    defaults: (object) => {
      object.type ??= 'Opaque';
    },
  }),
  kind({ kind: 'Pod', resource: 'pods', status: true }),
  kind({ group: 'apps', kind: 'ReplicaSet', resource: 'replicasets', status: true }),
  kind({
    group: 'apps',
    kind: 'Deployment',
    resource: 'deployments',
    status: true,
    scale: true,
    type: deploymentType,
    defaults: (object) => {
      object.spec ??= {};
      const spec = object.spec as { replicas?: number };
      spec.replicas ??= 1;
    },
    validate: ({ spec }) => {
      const { replicas } = spec as { replicas: number };
      if (replicas >= 0) return [];
      const message = `Invalid value: ${replicas}: must be greater than or equal to 0`;
      return [{ reason: 'FieldValueInvalid', message, field: 'spec.replicas' }];
    },
  }),
  kind({ group: 'rbac.authorization.k8s.io', kind: 'ClusterRole', resource: 'clusterroles', namespaced: false }),
  kind({
    group: 'shop.example',
    kind: 'Till',
    resource: 'tills',
    versions: ['v1', 'v1beta1'],
    custom: true,
    status: true,
  }),
  kind({ group: 'shop.example', kind: 'Region', resource: 'regions', namespaced: false, custom: true }),
];

export const fakeKinds: Kinds = {
  byResource: ({ group, resource }: GroupResource) =>
    kinds.find((one) => one.group === group && one.resource === resource),
  byKind: (group, version, name) =>
    kinds.find((one) => one.group === group && one.kind === name && (version === '' || one.versions.includes(version))),
  all: () => kinds,
  generation: 1,
};

/** A field manager that knows only the first writer, and applies by a merge. */
export const fakeFields: FieldManager = {
  mistakes: () => [],
  apply(live, config, _kind, _version, manager, force) {
    if (live && !force && live.metadata.labels?.owner && live.metadata.labels.owner !== manager) {
      throw new BanyanError('Conflict', 'Apply failed with 1 conflict: conflict with "someone": .metadata.labels');
    }
    const merged = mergePatch(live ?? {}, config as JsonObject) as JsonObject & KubeObject;
    merged.metadata.managedFields = [{ manager, operation: 'Apply' }];
    return merged;
  },
  update(live, next, _kind, _version, manager, _now, subresource) {
    const first = { manager, operation: 'Update', ...(subresource ? { subresource } : {}) };
    next.metadata.managedFields = live?.metadata.managedFields ?? [first];
  },
  // No kind here has a conversion webhook.
  withoutContent: (live) => live,
  checkRewrite() {},
};

const startMs = Date.UTC(2030, 0, 2, 3, 4, 5);

export function fakeSpace(options: { admissions?: WriteAdmission[]; namespaces?: string[] } = {}) {
  const clock = new VirtualClock(startMs);
  const store = new MemoryStore();
  const storage = new EmbeddedStorage({ store, name: 'test', logger: silentLogger });
  const space = new EmbeddedSpace({
    name: 'test',
    storage,
    kinds: fakeKinds,
    clock,
    random: new SeededRandom(7),
    fields: fakeFields,
    admissions: options.admissions ?? [],
  });
  for (const name of options.namespaces ?? ['default', 'shop']) space.create(namespace(name));
  return { space, storage, clock, store };
}

export function namespace(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

export function configMap(name: string, data: Record<string, string> = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop' }, data };
}

export function deployment(name: string, spec: Record<string, unknown> = {}): KubeObject {
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, namespace: 'shop' }, spec };
}

/** The error that `act` throws. */
export function errorOf(act: () => unknown): BanyanError {
  try {
    act();
  } catch (error) {
    if (error instanceof BanyanError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}
