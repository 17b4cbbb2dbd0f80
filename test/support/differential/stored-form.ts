/** The stored form of an object in a space and at a real API server, so that the two can be compared. */
import type { KubeObject } from '../../../core/object/meta.ts';
import { isRecord } from '../../../core/runtime/is-record.ts';

/** Metadata that is different at each server and in each write. */
const ofServer = ['uid', 'creationTimestamp', 'resourceVersion', 'generation', 'managedFields'];

/** Fields that only a real API server has: paths without indexes, and why a space has none. */
const accepted: readonly (readonly [kind: string, path: RegExp, reason: string])[] = [
  [
    'DaemonSet',
    /^metadata\.annotations/,
    'the number of the template is deprecated since apps/v1, and only its controller reads the number',
  ],
  [
    'Job',
    /^(metadata|spec\.template\.metadata)\.labels/,
    'the labels have the uid of the Job, and each cluster gives another uid',
  ],
  ['Job', /^spec\.(selector|manualSelector)/, 'the selector has the uid of the Job'],
  [
    'Node',
    /^spec\.(taints|podCIDR)/,
    'controllers and the admission of a cluster: a new node is tainted until it is ready',
  ],
  ['PersistentVolume', /^(metadata\.finalizers|status\.lastPhaseTransitionTime)/, 'no volume is used in a space'],
  [
    'PersistentVolumeClaim',
    /^(metadata\.finalizers|spec\.storageClassName)/,
    'the cluster has the classes, and protects the claim',
  ],
  [
    'Pod',
    /^(metadata\.|spec\.(serviceAccount(Name)?|tolerations|preemptionPolicy|priority)|status\.qosClass)/,
    'the admission of a cluster',
  ],
  [
    'Pod',
    /^spec\.(volumes|containers|initContainers)\.volumeMounts/,
    'the token of the ServiceAccount, which each cluster mounts',
  ],
  ['Pod', /^spec\.volumes\.(name$|projected)/, 'the token of the ServiceAccount, which each cluster mounts'],
  [
    'Service',
    /^spec\.(clusterIPs?|ports\.nodePort|healthCheckNodePort)/,
    'each cluster gives addresses and ports of its own',
  ],
  ['VolumeAttributesClass', /^metadata\.finalizers/, 'no volume is used in a space'],
];

/**
 * The fields by path without indexes, and their values in order. Without values that Go can't tell from absent ones (empty ones and false), and without accepted
 * differences.
 */
export function storedForm(object: KubeObject): Record<string, unknown[]> {
  const metadata = Object.fromEntries(Object.entries(object.metadata).filter(([name]) => !ofServer.includes(name)));
  const form: Record<string, unknown[]> = {};
  collect({ ...object, metadata }, '', form);
  const isAccepted = (path: string) => accepted.some(([kind, of]) => kind === object.kind && of.test(path));
  return Object.fromEntries(Object.entries(form).filter(([path]) => !isAccepted(path)));
}

function collect(value: unknown, path: string, form: Record<string, unknown[]>): void {
  if (Array.isArray(value)) for (const item of value) collect(item, path, form);
  else if (isRecord(value)) {
    for (const [name, field] of Object.entries(value)) collect(field, path === '' ? name : `${path}.${name}`, form);
  } else if (value) form[path] = [...(form[path] ?? []), value];
}
