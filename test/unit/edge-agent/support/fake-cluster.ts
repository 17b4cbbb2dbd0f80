/** A cluster in memory: objects by key, generations, managers, watches; no controllers. It answers at once or refuses as the test says. */
import { fieldsOf } from '../../../../core/apiserver/managed-fields/extract.ts';
import { mergePatch } from '../../../../core/apiserver/patch/merge-patch.ts';
import { formatKey, type GroupResource, type ObjectKey } from '../../../../core/object/key.ts';
import type { JsonObject, KubeObject, ManagedFieldsEntry } from '../../../../core/object/meta.ts';
import { BanyanError, type ErrorCode } from '../../../../core/runtime/errors.ts';
import { isRecord } from '../../../../core/runtime/is-record.ts';
import type {
  Cluster,
  ClusterApplyOptions,
  ClusterDescription,
  ClusterEvent,
  ClusterWatchOptions,
  ServedResource,
  WatchEvents,
} from '../../../../edge-agent/cluster/cluster.ts';

interface Listener {
  readonly resource: string;
  readonly metadataOnly: boolean;
  readonly on: (event: ClusterEvent) => void;
}

const resources: Record<string, string> = {
  'v1 Namespace': '/namespaces',
  'v1 ConfigMap': '/configmaps',
  'v1 Secret': '/secrets',
  'v1 Service': '/services',
  'v1 Pod': '/pods',
  'apps/v1 Deployment': 'apps/deployments',
  'apps/v1 ReplicaSet': 'apps/replicasets',
  'autoscaling/v1 HorizontalPodAutoscaler': 'autoscaling/horizontalpodautoscalers',
  'v1 ServiceAccount': '/serviceaccounts',
  'rbac.authorization.k8s.io/v1 ClusterRole': 'rbac.authorization.k8s.io/clusterroles',
  'apiextensions.k8s.io/v1 CustomResourceDefinition': 'apiextensions.k8s.io/customresourcedefinitions',
  'apiregistration.k8s.io/v1 APIService': 'apiregistration.k8s.io/apiservices',
  'admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration':
    'admissionregistration.k8s.io/validatingwebhookconfigurations',
  'admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding':
    'admissionregistration.k8s.io/validatingadmissionpolicybindings',
};
const clusterScoped = new Set([
  '/namespaces',
  'rbac.authorization.k8s.io/clusterroles',
  'apiextensions.k8s.io/customresourcedefinitions',
  'apiregistration.k8s.io/apiservices',
  'admissionregistration.k8s.io/validatingwebhookconfigurations',
  'admissionregistration.k8s.io/validatingadmissionpolicybindings',
]);

export class FakeCluster implements Cluster {
  readonly objects = new Map<string, KubeObject>();
  /** `apply KEY`, `remove KEY`, `remove KEY Orphan`, in order. */
  readonly log: string[] = [];
  /** Keys whose apply is refused, with the message. */
  readonly refuse = new Map<string, string>();
  /** Keys whose removal is refused, with the message. */
  readonly irremovable = new Map<string, string>();
  /** Keys whose deletion waits for a finalizer. */
  readonly finalized = new Set<string>();
  /** Resources whose watches report nothing, such as `/secrets`. */
  readonly silent = new Set<string>();
  /** Resources that cannot be listed, with the refusal. */
  readonly unlisted = new Map<string, ErrorCode>();
  /** API groups whose kinds it does not list, with the reason. */
  readonly unknown = new Map<string, string>();
  /** A key for which it never answers, as when the process ends meanwhile. */
  hangs: string | undefined;
  /** The reason why it does not describe itself. */
  away: BanyanError | undefined;
  /** Controllers read applied objects after the answer to the apply. */
  onApplied: (key: string) => void = () => {};
  /** Answers to `get` wait for this promise. */
  gate: Promise<void> = Promise.resolve();
  readonly #kinds = new Map(Object.entries(resources));
  readonly #listeners = new Set<Listener>();
  #revision = 0;

  async apply(object: KubeObject, { dryRun = false, yields = false }: ClusterApplyOptions = {}): Promise<KubeObject> {
    const key = this.#key(object);
    if (yields && differs(contentOf(this.objects.get(key)), contentOf(object)))
      throw new BanyanError('Conflict', 'somebody has other values');
    const managedFields = [appliedEntry(object)];
    if (dryRun) {
      return structuredClone({ ...this.objects.get(key), ...object, metadata: { ...object.metadata, managedFields } });
    }
    this.log.push(`apply ${key}`);
    const refusal = this.refuse.get(key);
    if (refusal !== undefined) throw new BanyanError('Invalid', refusal);
    const before = this.objects.get(key);
    const changed = !before || JSON.stringify(before.spec) !== JSON.stringify(object.spec);
    const stored = this.#store(key, {
      ...before,
      ...structuredClone(object),
      metadata: {
        ...structuredClone(object.metadata),
        uid: before?.metadata.uid ?? `uid-${this.#revision + 1}`,
        generation: (before?.metadata.generation ?? 0) + (changed ? 1 : 0),
        managedFields,
      },
    });
    if (object.kind === 'CustomResourceDefinition') this.#serve(object);
    setImmediate(() => this.onApplied(key));
    return stored;
  }

  async patch(key: ObjectKey, change: object): Promise<void> {
    const name = formatKey(key);
    this.log.push(`patch ${name}`);
    this.#store(name, mergePatch(this.objects.get(name), change as JsonObject) as unknown as KubeObject);
  }

  async get(key: ObjectKey): Promise<KubeObject | undefined> {
    await this.gate;
    if (formatKey(key) === this.hangs) return new Promise(() => {});
    return structuredClone(this.objects.get(formatKey(key)));
  }

  async remove(key: ObjectKey, propagation: string, uid?: string): Promise<boolean> {
    const name = formatKey(key);
    this.log.push(`remove ${name}${propagation === 'Background' ? '' : ` ${propagation}`}`);
    const refusal = this.irremovable.get(name);
    if (refusal !== undefined) throw new BanyanError('Forbidden', refusal);
    const object = this.objects.get(name);
    if (!object || (uid !== undefined && object.metadata.uid !== uid)) return false;
    if (this.finalized.has(name)) {
      this.#store(name, { ...object, metadata: { ...object.metadata, deletionTimestamp: 'now' } });
    } else {
      this.erase(name);
    }
    return true;
  }

  async resourceOf(apiVersion: string, kind: string): Promise<ServedResource | undefined> {
    return (await this.served()).find((served) => served.kind === kind && this.#kinds.has(`${apiVersion} ${kind}`));
  }

  async served(): Promise<readonly ServedResource[]> {
    await this.gate;
    const kinds = [...this.#kinds].filter(([, found]) => !this.unknown.has(found.split('/')[0]!));
    return kinds.map(([name, found]) => {
      const [group = '', resource = ''] = found.split('/');
      const kind = name.slice(name.indexOf(' ') + 1);
      return { group, resource, kind, versions: ['v1'], namespaced: !clusterScoped.has(found) };
    });
  }

  async unknownGroups(): Promise<ReadonlyMap<string, string>> {
    return this.unknown;
  }

  watch(resource: GroupResource, events: WatchEvents, { metadataOnly = false }: ClusterWatchOptions = {}): () => void {
    const prefix = `${resource.group}/${resource.resource}/`;
    if (this.silent.has(prefix.slice(0, -1))) return () => {};
    const refusal = this.unlisted.get(prefix.slice(0, -1));
    if (refusal) {
      setImmediate(() => events.trouble?.(new BanyanError(refusal, 'cannot list it')));
      return () => {};
    }
    const on = ({ type, key, object }: ClusterEvent) => {
      const { apiVersion, kind, metadata } = object;
      events.on({ type, key, object: metadataOnly ? { apiVersion, kind, metadata } : object });
    };
    const listener = { resource: prefix, metadataOnly, on };
    const there = new Set<string>();
    for (const [key, object] of this.objects) {
      if (!key.startsWith(prefix)) continue;
      there.add(key);
      on({ type: 'ADDED', key: parse(key), object: structuredClone(object) });
    }
    events.synced(there);
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async *metadataOf({ group, resource }: GroupResource): AsyncGenerator<Pick<KubeObject, 'metadata'>> {
    const refusal = this.unlisted.get(`${group}/${resource}`);
    if (refusal) throw new BanyanError(refusal, 'cannot list it');
    for (const [key, object] of this.objects) if (key.startsWith(`${group}/${resource}/`)) yield object;
  }

  async describe(): Promise<ClusterDescription> {
    if (this.away) throw this.away;
    return { kubernetesVersion: 'v1.34.0', nodes: 1, capacity: { cpu: '4' }, allocatable: { cpu: '4' } };
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** Somebody other than the agent writes. */
  write(key: string, change: (object: KubeObject) => void): void {
    const object = structuredClone(
      this.objects.get(key) ?? { apiVersion: 'v1', kind: 'Unknown', metadata: { uid: `uid-${key}` } },
    );
    change(object);
    this.#store(key, object);
  }

  /** Watches report an unchanged object once more, as after a broken connection. */
  reportAgain(key: string): void {
    this.#notify('ADDED', key, this.objects.get(key)!);
  }

  /** A controller reports that the object is in its desired state. */
  settle(key: string, replicas: number): void {
    this.write(key, (object) => {
      object.status = {
        observedGeneration: object.metadata.generation,
        replicas,
        updatedReplicas: replicas,
        availableReplicas: replicas,
        readyReplicas: replicas,
        conditions: [{ type: 'Available', status: 'True' }],
      };
    });
  }

  erase(key: string): void {
    const object = this.objects.get(key);
    if (!object) return;
    this.objects.delete(key);
    this.#revision++;
    this.#notify('DELETED', key, { ...object, metadata: { ...object.metadata, resourceVersion: `${this.#revision}` } });
  }

  watched(): string[] {
    return [...this.#listeners].map((listener) => listener.resource.slice(0, -1)).sort();
  }

  /** Resources that are watched without bodies. */
  watchedBare(): string[] {
    const bare = [...this.#listeners].filter(({ metadataOnly }) => metadataOnly);
    return bare.map((listener) => listener.resource.slice(0, -1)).sort();
  }

  #store(key: string, object: KubeObject): KubeObject {
    const type = this.objects.has(key) ? 'MODIFIED' : 'ADDED';
    this.#revision++;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: `${this.#revision}` } };
    this.objects.set(key, stored);
    this.#notify(type, key, stored);
    return structuredClone(stored);
  }

  #notify(type: ClusterEvent['type'], key: string, object: KubeObject): void {
    for (const listener of [...this.#listeners]) {
      if (key.startsWith(listener.resource)) listener.on({ type, key: parse(key), object: structuredClone(object) });
    }
  }

  #key(object: KubeObject): string {
    const resource = this.#kinds.get(`${object.apiVersion} ${object.kind}`);
    if (resource === undefined) throw new BanyanError('NotFound', `no kind ${object.kind}`);
    const key = `${resource}/${object.metadata.namespace ?? ''}/${object.metadata.name}`;
    const { namespace } = object.metadata;
    if (namespace !== undefined && !this.objects.has(`/namespaces//${namespace}`)) {
      throw new BanyanError('NotFound', `namespaces "${namespace}" not found`);
    }
    return key;
  }

  #serve(definition: KubeObject): void {
    const spec = definition.spec as { group: string; names: { kind: string; plural: string } };
    this.#kinds.set(`${spec.group}/v1 ${spec.names.kind}`, `${spec.group}/${spec.names.plural}`);
  }
}

/** Tests that write an object of somebody else may leave out its kind. */
function contentOf(object: KubeObject | undefined): unknown {
  const { apiVersion: _version, kind: _kind, ...content } = object ?? {};
  return object && content;
}

/** Whether a field that both objects have has another value. Lists are compared as a whole. */
function differs(there: unknown, sent: unknown): boolean {
  if (there === undefined) return false;
  if (!isRecord(there) || !isRecord(sent)) return JSON.stringify(there) !== JSON.stringify(sent);
  return Object.keys(sent).some((name) => differs(there[name], sent[name]));
}

/** Like an API server without schemas: lists are atomic. Writes by others take no field from an owner. */
function appliedEntry(object: KubeObject): ManagedFieldsEntry {
  const fieldsV1 = fieldsOf(object, { type: 'any' }) as JsonObject;
  return { manager: 'banyan', operation: 'Apply', apiVersion: object.apiVersion, fieldsV1 };
}

function parse(key: string): ObjectKey {
  const [group = '', resource = '', namespace = '', name = ''] = key.split('/');
  return { group, resource, namespace, name };
}
