/**
 * The objects that every Kubernetes cluster publishes: in each Namespace the ServiceAccount `default` and the certificates of the API server, and the Service
 * of the API server in `default`. Charts and client programs expect them. A placement never sends them with `*`: each edge cluster has its own.
 */
import type { GroupResource, ObjectKey } from '../../object/key.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Space } from '../space.ts';
import { isNamespace } from '../verbs/kind-strategy.ts';
import { namespaceResource } from '../verbs/namespace-guard.ts';
import { KeyQueue } from './key-queue.ts';

export interface PublishedObjectsOptions {
  readonly space: Space;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Calls `turn` shortly after the present commit (key-queue.ts). */
  readonly schedule: (turn: () => void) => void;
  /** PEM: the authorities by which clients verify the API server. Absent: nobody serves the API, and no certificates are published. */
  authority?(): string;
}

export const permanentNamespaces: readonly string[] = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

/** The Namespaces that exist only for objects of the cluster itself. */
const publishedNamespaces: ReadonlySet<string> = new Set(['kube-public', 'kube-node-lease']);
const accounts: GroupResource = { group: '', resource: 'serviceaccounts' };
const configMaps: GroupResource = { group: '', resource: 'configmaps' };
const rootCertificates = 'kube-root-ca.crt';
const apiServer = 'kubernetes';
/** The names of the field managers in Kubernetes. Clients that show managers show the same names as at other API servers. */
const controllerManager = 'kube-controller-manager';
const apiServerManager = 'kube-apiserver';
/** The names that the controller has to publish, keyed by group and resource. */
const published: Readonly<Record<string, string>> = {
  '/serviceaccounts': 'default',
  '/configmaps': rootCertificates,
  '/services': apiServer,
  '/endpoints': apiServer,
  'discovery.k8s.io/endpointslices': apiServer,
};

export class PublishedObjects {
  readonly #space: Space;
  readonly #authority: (() => string) | undefined;
  readonly #queue: KeyQueue;
  readonly #unsubscribe: () => void;

  /** Creates the permanent Namespaces at once. Reads all Namespaces once, and then follows the events of the space. */
  constructor({ space, clock, logger, schedule, authority }: PublishedObjectsOptions) {
    this.#space = space;
    this.#authority = authority;
    this.#queue = new KeyQueue({ work: (name) => this.#publish(name), schedule, clock, logger });
    this.#unsubscribe = space.storage.subscribe((events) => {
      for (const { object } of events) {
        if (isNamespace(object.key)) this.#queue.add(object.key.name);
        else if (isPublishedKey(object.key)) this.#queue.add(object.key.namespace);
      }
    });
    for (const name of permanentNamespaces) this.#ensure(plain('v1', 'Namespace', { name }), apiServerManager);
    for (const { key } of space.storage.scan(namespaceResource)) this.#queue.add(key.name);
  }

  close(): void {
    this.#unsubscribe();
    this.#queue.close();
  }

  #publish(name: string): void {
    const namespace = this.#space.get({ ...namespaceResource, namespace: '', name });
    if (!namespace || namespace.metadata.deletionTimestamp) return;
    const account = plain('v1', 'ServiceAccount', { name: 'default', namespace: name });
    this.#ensure(account, controllerManager);
    this.#publishCertificates(name);
    if (name === 'default') for (const object of apiServerObjects) this.#ensure(object, apiServerManager);
  }

  #ensure(object: KubeObject, fieldManager: string): void {
    if (!this.#space.get(this.#space.keyOf(object))) this.#space.create(object, { fieldManager });
  }

  /** Writes the certificates if they are absent, or if somebody has changed them. */
  #publishCertificates(namespace: string): void {
    if (!this.#authority) return;
    const data = { 'ca.crt': this.#authority() };
    const key: ObjectKey = { ...configMaps, namespace, name: rootCertificates };
    const present = this.#space.get(key) as (KubeObject & { data?: Record<string, string> }) | undefined;
    const annotations = { 'kubernetes.io/description': description };
    const wanted = { ...plain('v1', 'ConfigMap', { name: key.name, namespace, annotations }), data };
    if (!present) this.#space.create(wanted, { fieldManager: controllerManager });
    else if (present.data?.['ca.crt'] !== data['ca.crt'] || Object.keys(present.data).length > 1)
      this.#space.update({ ...present, data }, { fieldManager: controllerManager });
  }
}

/** Whether the controller publishes an object with this name in the namespace. Namespaces do not count. */
export function isPublishedKey({ group, resource, namespace, name }: ObjectKey): boolean {
  if (published[`${group}/${resource}`] !== name) return false;
  return resource === configMaps.resource || resource === accounts.resource || namespace === 'default';
}

/** Whether the object is one that the controller publishes, and not one to which a person has given content of its own. */
export function isPublished(resource: GroupResource, object: KubeObject): boolean {
  const { name = '', namespace = '' } = object.metadata;
  if (isNamespace(resource)) return publishedNamespaces.has(name);
  if (!isPublishedKey({ ...resource, namespace, name })) return false;
  if (resource.resource !== accounts.resource) return true;
  const { apiVersion: _version, kind: _kind, metadata, ...content } = object;
  return Object.keys({ ...content, ...metadata.labels, ...metadata.annotations }).length === 0;
}

const description =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.';

/** No workload runs in a space, so nobody connects to these addresses. The first is the one that the ranges of Services leave free for the API server. */
const serviceAddress = '10.96.0.1';
const serverAddress = '10.0.0.1';
const serverPort = 6443;

const apiServerObjects: readonly KubeObject[] = [
  {
    ...plain('v1', 'Service', inDefault({ component: 'apiserver', provider: 'kubernetes' })),
    spec: {
      clusterIP: serviceAddress,
      clusterIPs: [serviceAddress],
      internalTrafficPolicy: 'Cluster',
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: serverPort }],
      sessionAffinity: 'None',
      type: 'ClusterIP',
    },
  },
  {
    ...plain('v1', 'Endpoints', inDefault({ 'endpointslice.kubernetes.io/skip-mirror': 'true' })),
    subsets: [{ addresses: [{ ip: serverAddress }], ports: [{ name: 'https', port: serverPort, protocol: 'TCP' }] }],
  },
  {
    ...plain('discovery.k8s.io/v1', 'EndpointSlice', inDefault({ 'kubernetes.io/service-name': apiServer })),
    addressType: 'IPv4',
    endpoints: [{ addresses: [serverAddress], conditions: { ready: true } }],
    ports: [{ name: 'https', port: serverPort, protocol: 'TCP' }],
  },
];

function inDefault(labels: Record<string, string>): KubeObject['metadata'] {
  return { name: apiServer, namespace: 'default', labels };
}

function plain(apiVersion: string, kind: string, metadata: KubeObject['metadata']): KubeObject {
  return { apiVersion, kind, metadata };
}
