/** Warnings about fields that Kubernetes takes and that have no effect, or will have none. The texts are those of Kubernetes (pkg/api/pod, pkg/api/service and others). */
import { isNumber } from '../../object/json.ts';
import { ownField } from '../../object/json-value.ts';
import type { KubeObject } from '../../object/meta.ts';
import { containersOf, podSpecOf, recordsIn, type Values } from '../../object/pod-template.ts';
import { isRecord } from '../../runtime/is-record.ts';
import { dnsLabel } from './validation/formats.ts';
import { amountText, nanosOf } from './validation/resources.ts';

/** Warnings about the kind itself, for every write. */
export function kindWarnings({ group, kind }: { readonly group: string; readonly kind: string }): string[] {
  const isDeprecated = group === '' && kind === 'Endpoints';
  return isDeprecated ? ['v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'] : [];
}

/** Kinds whose names become parts of the names of pods. */
const podOwners: ReadonlySet<string> = new Set([
  'CronJob',
  'Deployment',
  'Job',
  'Pod',
  'ReplicaSet',
  'ReplicationController',
]);

/** The deprecated sources of volumes, in the order in which Kubernetes names them. */
const deprecatedVolumes: readonly (readonly [source: string, since: string])[] = [
  ['photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['gitRepo', 'deprecated in v1.11, and disabled by default in v1.33+'],
  ['scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', 'deprecated in v1.22, non-functional in v1.25+'],
  ['storageos', 'deprecated in v1.22, non-functional in v1.25+'],
  ['quobyte', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['rbd', 'deprecated in v1.28, non-functional in v1.31+'],
];
const shownAs: Readonly<Record<string, string>> = { storageos: 'storageOS' };

/** Labels of Nodes that have another name now. */
const deprecatedLabels: Readonly<Record<string, string>> = {
  'beta.kubernetes.io/arch': 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  'beta.kubernetes.io/os': 'deprecated since v1.14; use "kubernetes.io/os" instead',
  'failure-domain.beta.kubernetes.io/region': 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  'failure-domain.beta.kubernetes.io/zone': 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  'beta.kubernetes.io/instance-type': 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
};

const deprecatedAnnotations: readonly (readonly [name: string, why: string])[] = [
  ['scheduler.alpha.kubernetes.io/critical-pod', 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  ['security.alpha.kubernetes.io/sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
  ['security.alpha.kubernetes.io/unsafe-sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
];

const nanosOfOne = 1_000_000_000n;

/** `isNew`: the object is created. */
export function deprecationWarnings(kind: string, object: KubeObject, isNew: boolean): string[] {
  const { name = '', annotations = {} } = object.metadata;
  const spec: Values = isRecord(object.spec) ? object.spec : {};
  const mistakes = isNew && podOwners.has(kind) ? dnsLabel(name) : [];
  return [
    ...(mistakes.length > 0 ? [`metadata.name: ${surprise}: [${mistakes.join(' ')}]`] : []),
    ...podWarnings(kind, object),
    ...(kind === 'Service' ? serviceWarnings(spec) : []),
    ...(kind === 'PersistentVolume' ? volumeWarnings(spec, 'spec') : []),
    ...(isNew && kind === 'Ingress' && ingressClass in annotations
      ? [`annotation "${ingressClass}" is deprecated, please use 'spec.ingressClassName' instead`]
      : []),
  ];
}

const surprise =
  'this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended';
const ingressClass = 'kubernetes.io/ingress.class';

function volumeWarnings(owner: Values, path: string): string[] {
  return deprecatedVolumes
    .filter(([source]) => isRecord(owner[source]))
    .map(([source, since]) => `${path}.${ownField(shownAs, source) ?? source}: ${since}`);
}

function podWarnings(kind: string, object: KubeObject): string[] {
  const pod = podSpecOf(kind, object);
  if (!pod) return [];
  const { path, spec } = pod;
  const { nodeSelector, terminationGracePeriodSeconds: grace } = spec;
  return [
    ...Object.keys(isRecord(nodeSelector) ? nodeSelector : {}).flatMap((label) => {
      const why = ownField(deprecatedLabels, label);
      return why === undefined ? [] : [`${path}.nodeSelector[${label}]: ${why}`];
    }),
    ...annotationWarnings(object, path),
    ...recordsIn(spec, 'volumes').flatMap((volume, i) => volumeWarnings(volume, `${path}.volumes[${i}]`)),
    ...recordsIn(spec, 'imagePullSecrets').flatMap(({ name }, i) =>
      name ? [] : [`${path}.imagePullSecrets[${i}].name: invalid empty name ""`],
    ),
    ...containersOf(pod).flatMap(({ path: at, container }) => [
      ...fractionalBytes(container, at),
      ...uselessAddresses(container, at),
    ]),
    ...(isNumber(grace) && grace < 0
      ? [`${path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`]
      : []),
  ];
}

/** The annotations of the pod itself: those beside its spec. */
function annotationWarnings(object: KubeObject, path: string): string[] {
  const owner = path
    .split('.')
    .slice(0, -1)
    .reduce<unknown>((value, name) => (isRecord(value) ? value[name] : undefined), object);
  const annotations = isRecord(owner) && isRecord(owner.metadata) ? owner.metadata.annotations : undefined;
  if (!isRecord(annotations)) return [];
  const at = `${path.replace(/(^|\.)spec$/, '$1')}metadata.annotations`;
  return deprecatedAnnotations
    .filter(([name]) => Object.hasOwn(annotations, name))
    .map(([name, why]) => `${at}[${name}]: ${why}`);
}

/** Kubernetes shows the port as the value of its Go type. */
function uselessAddresses(container: Values, at: string): string[] {
  return recordsIn(container, 'ports').flatMap(
    ({ name = '', hostPort, containerPort, protocol = 'TCP', hostIP }, i) => {
      if (!hostIP || hostPort) return [];
      const shown = `{Name:${name} HostPort:0 ContainerPort:${containerPort} Protocol:${protocol} HostIP:${hostIP}}`;
      return [`${at}.ports[${i}]: hostIP set without hostPort: ${shown}`];
    },
  );
}

function fractionalBytes({ resources }: Values, at: string): string[] {
  if (!isRecord(resources)) return [];
  return ['memory', 'ephemeral-storage'].flatMap((name) =>
    ['limits', 'requests'].flatMap((list) => {
      const amounts = resources[list];
      const amount = isRecord(amounts) ? amounts[name] : undefined;
      if (amount === undefined || nanosOf(amount) % nanosOfOne === 0n) return [];
      const shown = JSON.stringify(amountText(amount));
      return [`${at}.resources.${list}[${name}]: fractional byte value ${shown} is invalid, must be an integer`];
    }),
  );
}

function serviceWarnings(spec: Values): string[] {
  const { type = 'ClusterIP', clusterIP, loadBalancerIP, externalIPs, sessionAffinity = 'None', externalName } = spec;
  const isHeadless = type === 'ClusterIP' && clusterIP === 'None';
  const hasExternalIPs = Array.isArray(externalIPs) && externalIPs.length > 0;
  return [
    ...(isHeadless && loadBalancerIP ? ['spec.loadBalancerIP is ignored for headless services'] : []),
    ...(isHeadless && hasExternalIPs ? ['spec.externalIPs is ignored for headless services'] : []),
    ...(isHeadless && sessionAffinity !== 'None' ? ['spec.SessionAffinity is ignored for headless services'] : []),
    ...(type === 'ExternalName' && hasExternalIPs
      ? ['spec.externalIPs is ignored when spec.type is "ExternalName"']
      : []),
    ...(type !== 'ExternalName' && externalName
      ? ['spec.externalName is ignored when spec.type is not "ExternalName"']
      : []),
  ];
}
