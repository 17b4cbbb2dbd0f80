/** Warnings about pods and the templates of pods, in the order of Kubernetes (pkg/api/pod/warnings.go). */
import { isNumber } from '../../../object/json.ts';
import { ownField } from '../../../object/json-value.ts';
import { containersOf, recordsIn, type Values } from '../../../object/pod-template.ts';
import { isSameValue } from '../validation/updates.ts';
import { wordOf } from '../validation/visit.ts';
import { addressWarning, addressWarnings } from './address-warnings.ts';
import { amountWarnings, hiddenVariables, type PlacedContainer, portWarnings, repeated } from './container-warnings.ts';
import { oldLabelAt, oldLabelsIn, termWarnings } from './node-labels.ts';
import { sharedPathWarnings } from './shared-paths.ts';
import { below, fractionalBytes, listIn, oldAnnotations, valuesIn, type Warnings } from './warning.ts';

const annotationsOfPods: readonly (readonly [name: string, why: string])[] = [
  ['scheduler.alpha.kubernetes.io/critical-pod', 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  ['security.alpha.kubernetes.io/sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
  ['security.alpha.kubernetes.io/unsafe-sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
];
const seccompOfPod = 'seccomp.security.alpha.kubernetes.io/pod';
const seccompOfContainer = 'container.seccomp.security.alpha.kubernetes.io/';
const profileOfContainer = 'container.apparmor.security.beta.kubernetes.io/';
const oldSeccomp = 'non-functional in v1.27+; use the "seccompProfile" field instead';
const oldProfile = 'deprecated since v1.30; use the "appArmorProfile" field instead';

/** The sources that no kubelet mounts any more, in the order of the warnings about pods. */
const oldSources: Readonly<Record<string, string>> = {
  photonPersistentDisk: 'photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+',
  gitRepo: 'gitRepo: deprecated in v1.11, and disabled by default in v1.33+',
  scaleIO: 'scaleIO: deprecated in v1.16, non-functional in v1.22+',
  flocker: 'flocker: deprecated in v1.22, non-functional in v1.25+',
  storageos: 'storageOS: deprecated in v1.22, non-functional in v1.25+',
  quobyte: 'quobyte: deprecated in v1.22, non-functional in v1.25+',
  glusterfs: 'glusterfs: deprecated in v1.25, non-functional in v1.26+',
  cephfs: 'cephfs: deprecated in v1.28, non-functional in v1.31+',
  rbd: 'rbd: deprecated in v1.28, non-functional in v1.31+',
};

export function* oldSourceWarning(volume: Values, path: string, source: string): Warnings {
  const why = ownField(oldSources, source);
  if (why !== undefined && volume[source] !== undefined) yield below(path, why);
}

/** `spec`: the spec of a claim. */
export function* claimWarnings(spec: Values, path: string): Warnings {
  for (const list of ['requests', 'limits']) {
    yield* fractionalBytes(valuesIn(spec, 'resources', list), 'storage', `${path}.resources.${list}`);
  }
}

/** `pod` has metadata and a spec. `path` is the place of a template. Empty: the pod itself. */
export function* podWarnings(pod: Values, path: string): Warnings {
  const spec = valuesIn(pod, 'spec');
  const annotations = valuesIn(pod, 'metadata', 'annotations');
  const at = below(path, 'spec');
  yield* placementWarnings(spec, at);
  yield* oldAnnotations(annotations, annotationsOfPods, path);
  yield* volumeWarnings(spec, at);
  yield* repeatedItems(spec, at);
  for (const name of ['memory', 'ephemeral-storage']) {
    yield* fractionalBytes(valuesIn(spec.overhead), name, `${at}.overhead`);
  }
  yield* containerWarnings(pod, path);
  const { terminationGracePeriodSeconds: grace } = spec;
  if (isNumber(grace) && grace < 0) {
    yield `${at}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`;
  }
  yield* affinityWarnings(spec, at);
  yield* addressWarnings(valuesIn(spec.dnsConfig).nameservers, `${at}.dnsConfig.nameservers`);
  for (const [i, { ip }] of recordsIn(spec, 'hostAliases').entries()) {
    yield* addressWarning(ip, `${at}.hostAliases[${i}].ip`);
  }
}

function* placementWarnings(spec: Values, at: string): Warnings {
  const names = Object.keys(valuesIn(spec.nodeSelector));
  yield* oldLabelsIn(names, (label, why) => `${at}.nodeSelector[${label}]: ${why}`);
  const affinity = valuesIn(spec, 'affinity', 'nodeAffinity');
  const [must, may] = [
    'requiredDuringSchedulingIgnoredDuringExecution',
    'preferredDuringSchedulingIgnoredDuringExecution',
  ];
  for (const [i, term] of listIn(affinity[must!], 'nodeSelectorTerms').entries()) {
    yield* termWarnings(term, `${at}.affinity.nodeAffinity.${must}.nodeSelectorTerms[${i}]`);
  }
  for (const [i, { preference }] of recordsIn(affinity, may!).entries()) {
    yield* termWarnings(preference, `${at}.affinity.nodeAffinity.${may}[${i}].preference`, true);
  }
  for (const [i, { topologyKey, labelSelector }] of recordsIn(spec, 'topologySpreadConstraints').entries()) {
    const constraint = `${at}.topologySpreadConstraints[${i}]`;
    yield* oldLabelAt(topologyKey, `${constraint}.topologyKey`);
    if (labelSelector === undefined) yield noSelector(constraint);
  }
}

function noSelector(owner: string): string {
  return `${owner}.labelSelector: a null labelSelector results in matching no pod`;
}

function* volumeWarnings(spec: Values, at: string): Warnings {
  const volumes = recordsIn(spec, 'volumes');
  for (const [i, volume] of volumes.entries()) {
    const path = `${at}.volumes[${i}]`;
    for (const source of Object.keys(oldSources)) {
      if (source === 'cephfs') yield* ephemeralClaimWarnings(volume, path);
      yield* oldSourceWarning(volume, path, source);
    }
  }
  for (const volume of volumes) yield* sharedPathWarnings(volume);
}

function ephemeralClaimWarnings(volume: Values, path: string): Warnings {
  const claim = valuesIn(volume, 'ephemeral', 'volumeClaimTemplate', 'spec');
  return claimWarnings(claim, `${path}.ephemeral.volumeClaimTemplate.spec`);
}

function* repeatedItems(spec: Values, at: string): Warnings {
  for (const [list, field] of [
    ['hostAliases', 'ip'],
    ['imagePullSecrets', 'name'],
  ] as const) {
    for (const { index, key } of repeated(recordsIn(spec, list), (item) => wordOf(item[field]))) {
      yield `${at}.${list}[${index}].${field}: duplicate ${field} ${JSON.stringify(key)}`;
    }
  }
  for (const [i, { name }] of recordsIn(spec, 'imagePullSecrets').entries()) {
    if (!name) yield `${at}.imagePullSecrets[${i}].name: invalid empty name ""`;
  }
}

function* containerWarnings(pod: Values, path: string): Warnings {
  const spec = valuesIn(pod.spec);
  const annotations = valuesIn(pod, 'metadata', 'annotations');
  const hasOnlyAnnotation = (owner: unknown, key: string) =>
    Object.hasOwn(annotations, key) && valuesIn(owner).seccompProfile === undefined;
  if (hasOnlyAnnotation(spec.securityContext, seccompOfPod)) yield annotated(seccompOfPod, oldSeccomp, path);
  const containers = containersOf({ path: below(path, 'spec'), spec });
  for (const placed of containers) {
    const { name, securityContext } = placed.container;
    const seccomp = `${seccompOfContainer}${wordOf(name)}`;
    if (hasOnlyAnnotation(securityContext, seccomp)) yield annotated(seccomp, oldSeccomp, path);
    if (path !== '') yield* profileWarning(placed, pod, path);
    yield* amountWarnings(placed);
    yield* hiddenVariables(placed);
  }
  yield* portWarnings(containers);
}

function annotated(key: string, why: string, path: string): string {
  return `${below(path, 'metadata.annotations')}[${key}]: ${why}`;
}

/** Profiles of AppArmor that only annotations of the pod itself name. Kubernetes warns about them before all other checks. */
export function* profileWarnings(pod: Values): Warnings {
  const spec = valuesIn(pod.spec);
  if (valuesIn(spec.os).name === 'windows') return;
  for (const placed of containersOf({ path: 'spec', spec })) yield* profileWarning(placed, pod, '');
}

function* profileWarning({ container }: PlacedContainer, pod: Values, path: string): Warnings {
  const key = `${profileOfContainer}${wordOf(container.name)}`;
  const annotations = valuesIn(pod, 'metadata', 'annotations');
  if (!Object.hasOwn(annotations, key) || valuesIn(container.securityContext).appArmorProfile !== undefined) return;
  const ofPod = valuesIn(pod, 'spec', 'securityContext').appArmorProfile;
  if (!isProfileOfPod(ofPod, annotations[key])) yield annotated(key, oldProfile, path);
}

const localhost = 'localhost/';

/** The annotation says the same as the profile of the pod. */
function isProfileOfPod(ofPod: unknown, annotation: unknown): boolean {
  if (ofPod === undefined) return false;
  const text = wordOf(annotation);
  const profile = text.startsWith(localhost) ? text.slice(localhost.length) : '';
  const said =
    text === 'unconfined'
      ? { type: 'Unconfined' }
      : text === 'runtime/default'
        ? { type: 'RuntimeDefault' }
        : profile === ''
          ? undefined
          : { type: 'Localhost', localhostProfile: profile };
  return said !== undefined && isSameValue(ofPod, said);
}

function* affinityWarnings(spec: Values, at: string): Warnings {
  for (const which of ['podAffinity', 'podAntiAffinity']) {
    const affinity = valuesIn(spec, 'affinity', which);
    const terms = (of: string, inner: string) =>
      recordsIn(affinity, of).flatMap((item, i) => {
        const term = inner === '' ? item : valuesIn(item[inner]);
        return term.labelSelector === undefined
          ? [noSelector(below(`${at}.affinity.${which}.${of}[${i}]`, inner))]
          : [];
      });
    yield* terms('requiredDuringSchedulingIgnoredDuringExecution', '');
    yield* terms('preferredDuringSchedulingIgnoredDuringExecution', 'podAffinityTerm');
  }
}
