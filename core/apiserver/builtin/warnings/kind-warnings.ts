/** The warnings of each kind, in the order in which Kubernetes makes them. */
import { ownField } from '../../../object/json-value.ts';
import type { KubeObject } from '../../../object/meta.ts';
import { recordsIn } from '../../../object/pod-template.ts';
import type { WarnedWrite } from '../../schema.ts';
import { dnsLabel } from '../validation/formats.ts';
import { numberOf, textsOf, valueAtPath, wordOf } from '../validation/visit.ts';
import { addressWarning, addressWarnings, rangeWarning, rangeWarnings } from './address-warnings.ts';
import { keyPairWarnings } from './key-pair.ts';
import { nodeSelectorWarnings, oldLabelsIn, termWarnings, topologyWarnings } from './node-labels.ts';
import { claimWarnings, oldSourceWarning, podWarnings, profileWarnings } from './pod-warnings.ts';
import { below, listIn, type ObjectWarnings, oldAnnotations, valuesIn, type Warnings } from './warning.ts';

/** An answer has room for fewer (http/warnings.ts). */
const warningsMax = 100;

/** Warnings about a valid object. */
export function objectWarnings(kind: string, object: KubeObject, write: WarnedWrite): string[] {
  const found: string[] = [];
  for (const warnings of ownField(write.subresource === 'status' ? ofStatuses : ofKinds, kind) ?? []) {
    for (const text of warnings(object, write)) {
      if (found.length === warningsMax) return found;
      found.push(text);
    }
  }
  return found;
}

/** Warnings about the kind itself, for every write. */
export function kindWarnings({ group, kind }: { readonly group: string; readonly kind: string }): string[] {
  const isDeprecated = group === '' && kind === 'Endpoints';
  return isDeprecated ? ['v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'] : [];
}

// When a warning is made.

function ifNew(warnings: ObjectWarnings): ObjectWarnings {
  return (object, write) => (write.old ? [] : warnings(object, write));
}

function ifUpdated(warnings: ObjectWarnings): ObjectWarnings {
  return (object, write) => (write.old ? warnings(object, write) : []);
}

function ifChanged(warnings: ObjectWarnings): ObjectWarnings {
  return (object, write) => (!write.old || write.isChanged ? warnings(object, write) : []);
}

// Warnings of several kinds.

function surprisingName(use: string): ObjectWarnings {
  return ifNew(({ metadata: { name = '' } }) => {
    const mistakes = dnsLabel(name).join(' ');
    const why = `this is used in ${use}, which can result in surprising behavior; a DNS label is recommended`;
    return mistakes === '' ? [] : [`metadata.name: ${why}: [${mistakes}]`];
  });
}
const nameOfPods = surprisingName('Pod names and hostnames');

function template(path: string): ObjectWarnings {
  return (object) => podWarnings(valuesIn(object, ...path.split('.')), path);
}

function jobSpec(path: string): ObjectWarnings {
  const ofTemplate = template(`${path}.template`);
  return ifChanged(function* (object, write) {
    const { completionMode, completions, parallelism } = valuesIn(object, ...path.split('.'));
    if (completionMode === 'Indexed' && numberOf(completions) > 100_000 && numberOf(parallelism) > 10_000) {
      yield `${path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail`;
    }
    yield* ofTemplate(object, write);
  });
}

function annotations(table: readonly (readonly [name: string, why: string])[]): ObjectWarnings {
  return ({ metadata }) => oldAnnotations(valuesIn(metadata.annotations), table, '');
}

/** True if a controller of Kubernetes has written the object: it takes over the addresses of others. */
function isManagedBy({ metadata }: KubeObject, label: string, ...controllers: readonly string[]): boolean {
  return controllers.includes(metadata.labels?.[label] ?? '');
}

// Warnings of one kind.

const classOfStorage = [
  'volume.beta.kubernetes.io/storage-class',
  'deprecated since v1.8; use "storageClassName" attribute instead',
] as const;
const mountOptions = [
  'volume.beta.kubernetes.io/mount-options',
  'deprecated since v1.31; use "mountOptions" attribute instead',
] as const;

const oldSourcesOfVolumes = ['cephfs', 'photonPersistentDisk', 'scaleIO', 'storageos', 'glusterfs', 'rbd'];

function* persistentVolume({ spec }: KubeObject): Warnings {
  const { persistentVolumeReclaimPolicy: policy, nodeAffinity } = valuesIn(spec);
  if (policy === 'Recycle') {
    yield 'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.';
  }
  for (const [i, term] of listIn(valuesIn(nodeAffinity).required, 'nodeSelectorTerms').entries()) {
    yield* termWarnings(term, `spec.nodeAffinity.required.nodeSelectorTerms[${i}]`);
  }
  for (const source of oldSourcesOfVolumes) yield* oldSourceWarning(valuesIn(spec), 'spec', source);
}

const hints = 'service.kubernetes.io/topology-aware-hints';

function* service({ metadata, spec: given }: KubeObject): Warnings {
  const spec = valuesIn(given);
  const { type = 'ClusterIP', clusterIP, clusterIPs, externalIPs, loadBalancerIP, externalName } = spec;
  if (metadata.annotations && hints in metadata.annotations) {
    yield `annotation ${hints} is deprecated, please use service.kubernetes.io/topology-mode instead`;
  }
  if (clusterIP && clusterIP !== 'None') yield* addressWarnings(clusterIPs, 'spec.clusterIPs');
  const hasExternalIPs = textsOf(externalIPs).length > 0;
  if (type === 'ClusterIP' && clusterIP === 'None') {
    if (loadBalancerIP) yield 'spec.loadBalancerIP is ignored for headless services';
    if (hasExternalIPs) yield 'spec.externalIPs is ignored for headless services';
    if ((spec.sessionAffinity ?? 'None') !== 'None') yield 'spec.SessionAffinity is ignored for headless services';
  }
  yield* addressWarnings(externalIPs, 'spec.externalIPs');
  yield* addressWarning(loadBalancerIP, 'spec.loadBalancerIP');
  yield* rangeWarnings(spec.loadBalancerSourceRanges, 'spec.loadBalancerSourceRanges');
  if (type === 'ExternalName' && hasExternalIPs) {
    yield 'spec.externalIPs is ignored when spec.type is "ExternalName"';
  }
  if (type !== 'ExternalName' && externalName) {
    yield 'spec.externalName is ignored when spec.type is not "ExternalName"';
  }
}

function claimTemplates(inner: string): ObjectWarnings {
  return function* ({ spec }) {
    for (const [i, claim] of recordsIn(valuesIn(spec), 'volumeClaimTemplates').entries()) {
      yield* claimWarnings(valuesIn(claim.spec), below(`spec.volumeClaimTemplates[${i}]`, inner));
    }
  };
}

function* endpoints(object: KubeObject): Warnings {
  if (isManagedBy(object, 'endpoints.kubernetes.io/managed-by', 'endpoint-controller')) return;
  for (const [i, subset] of recordsIn(object, 'subsets').entries()) {
    for (const list of ['addresses', 'notReadyAddresses']) {
      for (const [j, { ip }] of recordsIn(subset, list).entries()) {
        yield* addressWarning(ip, `subsets[${i}].${list}[${j}].ip`);
      }
    }
  }
}

const mirroring = ['endpointslice-controller.k8s.io', 'endpointslicemirroring-controller.k8s.io'];

function* endpointSlice(object: KubeObject): Warnings {
  if (isManagedBy(object, 'endpointslice.kubernetes.io/managed-by', ...mirroring)) return;
  for (const [i, { addresses }] of recordsIn(object, 'endpoints').entries()) {
    yield* addressWarnings(addresses, `endpoints[${i}].addresses`);
  }
}

function* networkPolicy({ spec }: KubeObject): Warnings {
  for (const [direction, peers] of [
    ['ingress', 'from'],
    ['egress', 'to'],
  ] as const) {
    for (const [i, rule] of recordsIn(valuesIn(spec), direction).entries()) {
      for (const [j, { ipBlock }] of recordsIn(rule, peers).entries()) {
        const path = `spec.${direction}[${i}].${peers}[${j}].ipBlock`;
        yield* rangeWarning(valuesIn(ipBlock).cidr, `${path}.cidr`);
        yield* rangeWarnings(valuesIn(ipBlock).except, `${path}.except`);
      }
    }
  }
}

function* node({ spec: given }: KubeObject): Warnings {
  const spec = valuesIn(given);
  if (spec.externalID) yield 'spec.externalID: this field is deprecated, and is unused by Kubernetes';
  yield* rangeWarnings(spec.podCIDRs, 'spec.podCIDRs');
}

const mountable = 'kubernetes.io/enforce-mountable-secrets';
const ingressClass = 'kubernetes.io/ingress.class';

const ofKinds: Readonly<Record<string, readonly ObjectWarnings[]>> = {
  CronJob: [
    nameOfPods,
    jobSpec('spec.jobTemplate.spec'),
    ifUpdated((object) =>
      wordOf(valueAtPath(object, 'spec.schedule')).includes('TZ')
        ? [
            'cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details',
          ]
        : [],
    ),
  ],
  CSIStorageCapacity: [({ nodeTopology }) => nodeSelectorWarnings(nodeTopology, 'nodeTopology')],
  DaemonSet: [ifChanged(template('spec.template'))],
  Deployment: [nameOfPods, ifChanged(template('spec.template'))],
  EndpointSlice: [
    ifNew(({ addressType }) => (addressType === 'FQDN' ? ['spec.addressType: FQDN endpoints are deprecated'] : [])),
    endpointSlice,
  ],
  Endpoints: [endpoints],
  Ingress: [
    ifNew(({ metadata: { annotations: given = {} }, spec }) =>
      ingressClass in given && valuesIn(spec).ingressClassName === undefined
        ? [`annotation "${ingressClass}" is deprecated, please use 'spec.ingressClassName' instead`]
        : [],
    ),
  ],
  Job: [nameOfPods, jobSpec('spec')],
  NetworkPolicy: [networkPolicy],
  Node: [node],
  PersistentVolume: [annotations([classOfStorage, mountOptions]), persistentVolume],
  PersistentVolumeClaim: [annotations([classOfStorage]), ({ spec }) => claimWarnings(valuesIn(spec), 'spec')],
  Pod: [ifNew(profileWarnings), surprisingName("the Pod's hostname"), ifNew((pod) => podWarnings(pod, ''))],
  PodTemplate: [ifChanged(template('template'))],
  ReplicaSet: [nameOfPods, ifChanged(template('spec.template'))],
  // As in Kubernetes, an update warns about the template before the update.
  ReplicationController: [
    nameOfPods,
    ifChanged((object, write) => template('spec.template')(write.old ?? object, write)),
  ],
  RuntimeClass: [
    ({ scheduling }) =>
      oldLabelsIn(Object.keys(valuesIn(scheduling, 'nodeSelector')), (_, why) => `scheduling.nodeSelector: ${why}`),
  ],
  Secret: [keyPairWarnings],
  Service: [service],
  ServiceAccount: [
    ({ metadata: { annotations: given = {} } }, { old }) =>
      mountable in given && !(mountable in (old?.metadata.annotations ?? {}))
        ? [
            `metadata.annotations[${mountable}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
          ]
        : [],
  ],
  StatefulSet: [
    ifChanged(template('spec.template')),
    ifNew(claimTemplates('')),
    ifUpdated(claimTemplates('Spec')),
    ({ spec }) =>
      numberOf(valuesIn(spec).revisionHistoryLimit) < 0
        ? ['spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended']
        : [],
  ],
  StorageClass: [({ allowedTopologies }) => topologyWarnings(allowedTopologies)],
};

function* loadBalancer({ status }: KubeObject): Warnings {
  for (const [i, { ip }] of recordsIn(valuesIn(status, 'loadBalancer'), 'ingress').entries()) {
    yield* addressWarning(ip, `status.loadBalancer.ingress[${i}]`);
  }
}

function* addressesOfPod({ status }: KubeObject): Warnings {
  for (const list of ['podIPs', 'hostIPs']) {
    for (const [i, { ip }] of recordsIn(valuesIn(status), list).entries()) {
      yield* addressWarning(ip, `status.${list}[${i}].ip`);
    }
  }
}

const ofStatuses: Readonly<Record<string, readonly ObjectWarnings[]>> = {
  Ingress: [loadBalancer],
  Pod: [addressesOfPod],
  Service: [loadBalancer],
};
