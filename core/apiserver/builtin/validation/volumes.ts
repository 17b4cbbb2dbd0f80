/** The sources of volumes, in pods and in PersistentVolumes. A volume has one source. */

import { compilePattern } from '../../../match/cel/base/pattern.ts';
import { ownField } from '../../../object/json-value.ts';
import { fieldSelector, resourceFieldSelector, volumeFields } from './field-references.ts';
import { dnsLabel, dnsSubdomain, localNonReservedPath, localPath, noBacksteps } from './formats.ts';
import { nanosOf } from './resources.ts';
import {
  all,
  between,
  each,
  type FieldCheck,
  fields,
  filled,
  givenThen,
  ifFilled,
  ifGiven,
  isPresent,
  listOf,
  numberOf,
  oneOf,
  type ReadValues,
  recordOf,
  recordsOf,
  requiredThen,
  textOfForm,
  type Visit,
  wordOf,
} from './visit.ts';

/** A source: the name of its field, the name that paths of its causes have, and its check. */
export type VolumeSource = readonly [field: string, path: string, check: FieldCheck];

const mode: FieldCheck = ifGiven(between(0, 0o777, 'must be a number between 0 and 0777 (octal), both inclusive'));
const partition: FieldCheck = between(0, 255, 'must be between 1 and 255, inclusive');
const lun: FieldCheck = between(0, 255);
const namedSecret: FieldCheck = ifGiven(fields({ name: filled }));
const namespacedSecret: FieldCheck = ifGiven(fields({ name: filled, namespace: filled }));
const absolutePath: FieldCheck = (value, at) => {
  if (!wordOf(value).startsWith('/')) at.invalid('', wordOf(value), 'must be an absolute path');
};
const keyToPath: FieldCheck = fields({ key: filled, path: [filled, textOfForm(localNonReservedPath)], mode });
const items: FieldCheck = each(keyToPath);

const hostPathTypes = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];
const hostPath: FieldCheck = (value, at) => {
  if (!recordOf(value).path) at.required('path');
  else fields({ path: textOfForm(noBacksteps), type: ifGiven(oneOf(...hostPathTypes)) })(value, at);
};
const gcePersistentDisk: FieldCheck = fields({ pdName: filled, partition });
const awsElasticBlockStore: FieldCheck = fields({ volumeID: filled, partition });
const nfs: FieldCheck = fields({ server: filled, path: [filled, absolutePath] });
const rbd: FieldCheck = fields({ monitors: filled, image: filled });
const cephfs: FieldCheck = fields({ monitors: filled });
const azureDisk: FieldCheck = (value, at) => {
  const { kind, diskURI } = recordOf(value);
  fields({
    diskName: filled,
    diskURI: filled,
    cachingMode: ifGiven(oneOf('None', 'ReadOnly', 'ReadWrite')),
    kind: ifGiven(oneOf('Dedicated', 'Managed', 'Shared')),
  })(value, at);
  if (kind === 'Managed' && !wordOf(diskURI).startsWith('/subscriptions/')) {
    const form = '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}';
    at.unsupported('diskURI', wordOf(diskURI), [form]);
  }
  if (isPresent(kind) && kind !== 'Managed' && !wordOf(diskURI).startsWith('https://')) {
    const form = 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd';
    at.unsupported('diskURI', wordOf(diskURI), [form]);
  }
};
const scaleIO: FieldCheck = fields({ gateway: filled, system: filled, volumeName: filled });
const storageosWith = (secretRef: FieldCheck): FieldCheck =>
  fields({
    volumeName: requiredThen(textOfForm(dnsLabel)),
    volumeNamespace: ifFilled(textOfForm(dnsLabel)),
    secretRef,
  });
const fc: FieldCheck = (value, at) => {
  const { targetWWNs, wwids, lun: number } = recordOf(value);
  const names = listOf(targetWWNs);
  if (names.length === 0 && listOf(wwids).length === 0) {
    at.required('targetWWNs', 'must specify either targetWWNs or wwids, but not both');
  }
  if (names.length === 0) return;
  if (listOf(wwids).length > 0) {
    at.invalid('targetWWNs', names, 'targetWWNs and wwids can not be specified simultaneously');
  }
  if (number === undefined) at.required('lun', 'lun is required if targetWWNs is specified');
  else at.into('lun', number, lun);
};
const flexVolume: FieldCheck = fields({
  driver: filled,
  options: (value, at) => {
    for (const key of Object.keys(recordOf(value))) {
      const [namespace = ''] = key.split('/');
      if (/\.(kubernetes|k8s)\.io$/.test(`.${namespace.toLowerCase()}`)) {
        at.invalid(`[${key}]`, key, 'kubernetes.io and k8s.io namespaces are reserved');
      }
    }
  },
});
const flocker: FieldCheck = (value, at) => {
  const { datasetName, datasetUUID } = recordOf(value);
  if (!datasetName && !datasetUUID) at.required('', 'one of datasetName and datasetUUID is required');
  if (datasetName && datasetUUID) {
    at.invalid('', 'resource', 'datasetName and datasetUUID can not be specified simultaneously');
  }
  if (wordOf(datasetName).includes('/')) at.invalid('datasetName', datasetName, "must not contain '/'");
};
const quobyte: FieldCheck = (value, at) => {
  const { registry, tenant, volume } = recordOf(value);
  const pairs = 'must be a host:port pair or multiple pairs separated by commas';
  if (!registry) at.required('registry', pairs);
  else if (wordOf(tenant).length >= 65) {
    at.required('tenant', 'must be a UUID and may not exceed a length of 64 characters');
  } else {
    for (const pair of wordOf(registry).split(',')) {
      if (!/^([^:]*|\[.*\]):[^:]*$/.test(pair)) at.invalid('registry', registry, pairs);
    }
  }
  if (!volume) at.required('volume');
};

/** Searches in linear time: the JavaScript engine would begin anew at each `iqn.` of a long text. */
const iqn = compilePattern(String.raw`iqn\.\d{4}-\d{2}\.[a-zA-Z0-9.-]+:[^,;*&$|\s]+$`);
const initiator =
  (emptyForm: string): FieldCheck =>
  (value, at) => {
    const name = wordOf(value);
    if (!/^(iqn|eui|naa)/.test(name)) at.invalid('', name, emptyForm);
    else if (
      (name.startsWith('iqn') && !iqn.test(name)) ||
      (name.startsWith('eui') && !/^eui.[a-zA-Z0-9]{16}$/.test(name)) ||
      (name.startsWith('naa') && !/^naa.[a-zA-Z0-9]{32}$/.test(name))
    ) {
      at.invalid('', name, 'must be valid format');
    }
  };
const iscsiWith =
  (form: string, inPersistentVolume: boolean): FieldCheck =>
  (value, at) => {
    const { chapAuthDiscovery: a, chapAuthSession: b, secretRef, initiatorName, targetPortal } = recordOf(value);
    at.into('targetPortal', targetPortal, filled);
    if (inPersistentVolume && isPresent(initiatorName)) {
      const { name = '' } = at.object.metadata;
      if (`${name}:${wordOf(targetPortal)}`.length > 64) at.invalid('targetportal', targetPortal, longPortal);
    }
    fields({ iqn: requiredThen(initiator(form)), lun })(value, at);
    if ((a === true || b === true) && !isPresent(secretRef)) at.required('secretRef');
    if (inPersistentVolume) at.into('secretRef', secretRef, namedSecret);
    at.into('initiatorname', initiatorName, ifGiven(initiator(form)));
  };
const longPortal =
  'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.';

export const driverName: FieldCheck = (value, at) => {
  const name = wordOf(value);
  if (name === '') at.required();
  if (name.length > 63) at.tooLong('', 63);
  for (const mistake of dnsSubdomain(name.toLowerCase())) at.invalid('', name, mistake);
};

const downwardFile: FieldCheck = (value, at) => {
  const { fieldRef, resourceFieldRef } = recordOf(value);
  fields({ path: [filled, textOfForm(localNonReservedPath)] })(value, at);
  if (isPresent(fieldRef)) {
    at.into('fieldRef', fieldRef, fieldSelector(volumeFields));
    if (isPresent(resourceFieldRef)) {
      at.invalid('', 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously');
    }
  } else if (isPresent(resourceFieldRef)) {
    at.into('resourceFieldRef', resourceFieldRef, resourceFieldSelector(true));
  } else {
    at.required('', 'one of fieldRef and resourceFieldRef is required');
  }
  fields({ mode })(value, at);
};

/** As in Kubernetes, the path of a cause has no index: all files have the path of their source. */
const downwardFiles: FieldCheck = (value, at) => {
  for (const file of recordsOf(recordOf(value).items)) downwardFile(file, at);
};

const downwardAPI: FieldCheck = all(fields({ defaultMode: mode }), downwardFiles);

type Paths = Set<unknown>;

/** Names a path that two sources of a projected volume write. */
function claimPath(path: unknown, paths: Paths, at: (path: unknown) => void): void {
  if (!path) return;
  if (paths.has(path)) at(path);
  paths.add(path);
}

const projected: FieldCheck = (value, at) => {
  const { sources } = recordOf(value);
  const paths: Paths = new Set();
  const twice = (shown: unknown) => at.invalid('', shown, 'conflicting duplicate paths');
  fields({ defaultMode: mode })(value, at);
  for (const [i, source] of recordsOf(sources).entries()) {
    let count = 0;
    const inSource = (name: string, check: FieldCheck) => {
      if (!isPresent(source[name])) return;
      count += 1;
      at.into('sources', undefined, () => at.into(i, undefined, () => at.into(name, source[name], check)));
    };
    for (const name of ['secret', 'configMap']) {
      inSource(name, fields({ name: filled, items }));
      const { name: owner, items: files } = recordOf(source[name]);
      for (const { path } of recordsOf(files)) claimPath(path, paths, () => twice(owner));
    }
    inSource('downwardAPI', downwardFiles);
    for (const { path } of recordsOf(recordOf(source.downwardAPI).items)) claimPath(path, paths, twice);
    inSource('serviceAccountToken', accountToken);
    if (isPresent(source.serviceAccountToken)) {
      at.into('path', recordOf(source.serviceAccountToken).path, requiredThen(textOfForm(localNonReservedPath)));
    }
    if (count > 1) at.forbidden(`sources[${i}]`, 'may not specify more than 1 volume type per source');
  }
};

/** 2³² seconds. */
const secondsMax = 2 ** 32;
export const tokenSeconds: FieldCheck = (value, at) => {
  const seconds = numberOf(value);
  if (seconds < 600) at.invalid('', seconds, 'may not specify a duration less than 10 minutes');
  if (seconds > secondsMax) at.invalid('', seconds, 'may not specify a duration larger than 2^32 seconds');
};
const accountToken: FieldCheck = fields({ expirationSeconds: ifGiven(tokenSeconds) });

const csiInPod: FieldCheck = fields({
  driver: driverName,
  nodePublishSecretRef: ifGiven(fields({ name: requiredThen(textOfForm(dnsSubdomain)) })),
});
const secretReference: FieldCheck = ifGiven(
  fields({ name: requiredThen(textOfForm(dnsSubdomain)), namespace: requiredThen(textOfForm(dnsLabel)) }),
);
const csiInPersistentVolume: FieldCheck = fields({
  driver: driverName,
  volumeHandle: filled,
  controllerPublishSecretRef: secretReference,
  controllerExpandSecretRef: secretReference,
  nodePublishSecretRef: secretReference,
  nodeExpandSecretRef: secretReference,
});

/** The sources of a pod's volume that say everything themselves, in the order in which Kubernetes looks at them. */
export function podVolumeSources(claimTemplate: FieldCheck): readonly VolumeSource[] {
  return [
    ['emptyDir', 'emptyDir', emptyDir],
    ['hostPath', 'hostPath', hostPath],
    ['gitRepo', 'gitRepo', fields({ repository: filled, directory: textOfForm(localPath) })],
    ['gcePersistentDisk', 'persistentDisk', gcePersistentDisk],
    ['awsElasticBlockStore', 'awsElasticBlockStore', awsElasticBlockStore],
    ['secret', 'secret', fields({ secretName: filled, defaultMode: mode, items })],
    ['nfs', 'nfs', nfs],
    ['iscsi', 'iscsi', iscsiWith('must be valid format starting with iqn, eui, or naa', false)],
    ['glusterfs', 'glusterfs', fields({ endpoints: filled, path: filled })],
    ['flocker', 'flocker', flocker],
    ['persistentVolumeClaim', 'persistentVolumeClaim', fields({ claimName: filled })],
    ['rbd', 'rbd', rbd],
    ['cinder', 'cinder', fields({ volumeID: filled, secretRef: namedSecret })],
    ['cephfs', 'cephfs', cephfs],
    ['quobyte', 'quobyte', quobyte],
    ['downwardAPI', 'downwardAPI', downwardAPI],
    ['fc', 'fc', fc],
    ['flexVolume', 'flexVolume', flexVolume],
    ['configMap', 'configMap', fields({ name: filled, defaultMode: mode, items })],
    ['azureFile', 'azureFile', fields({ secretName: filled, shareName: filled })],
    ['vsphereVolume', 'vsphereVolume', fields({ volumePath: filled })],
    ['photonPersistentDisk', 'photonPersistentDisk', fields({ pdID: filled })],
    ['portworxVolume', 'portworxVolume', fields({ volumeID: filled })],
    ['azureDisk', 'azureDisk', azureDisk],
    ['storageos', 'storageos', storageosWith(namedSecret)],
    ['projected', 'projected', projected],
    ['scaleIO', 'scaleIO', scaleIO],
    ['csi', 'csi', csiInPod],
    ['ephemeral', 'ephemeral', fields({ volumeClaimTemplate: givenThen(claimTemplate) })],
  ];
}

const emptyDir: FieldCheck = (value, at) => {
  const { sizeLimit } = recordOf(value);
  if (nanosOf(sizeLimit) < 0n) at.forbidden('sizeLimit', 'SizeLimit field must be a valid resource quantity');
};

export const persistentVolumeSources: readonly VolumeSource[] = [
  ['hostPath', 'hostPath', hostPath],
  ['gcePersistentDisk', 'persistentDisk', gcePersistentDisk],
  ['awsElasticBlockStore', 'awsElasticBlockStore', awsElasticBlockStore],
  [
    'glusterfs',
    'glusterfs',
    fields({ endpoints: filled, path: filled, endpointsNamespace: ifGiven(textOfForm(dnsLabel)) }),
  ],
  ['flocker', 'flocker', flocker],
  ['nfs', 'nfs', nfs],
  ['rbd', 'rbd', rbd],
  ['quobyte', 'quobyte', quobyte],
  ['cephfs', 'cephfs', cephfs],
  ['iscsi', 'iscsi', iscsiWith('must be valid format', true)],
  ['cinder', 'cinder', fields({ volumeID: filled, secretRef: namespacedSecret })],
  ['fc', 'fc', fc],
  ['flexVolume', 'flexVolume', flexVolume],
  [
    'azureFile',
    'azureFile',
    fields({
      secretName: filled,
      shareName: filled,
      secretNamespace: ifGiven(filled),
    }),
  ],
  ['vsphereVolume', 'vsphereVolume', fields({ volumePath: filled })],
  ['photonPersistentDisk', 'photonPersistentDisk', fields({ pdID: filled })],
  ['portworxVolume', 'portworxVolume', fields({ volumeID: filled })],
  ['azureDisk', 'azureDisk', azureDisk],
  ['scaleIO', 'scaleIO', scaleIO],
  ['local', 'local', fields({ path: [filled, textOfForm(noBacksteps)] })],
  ['storageos', 'storageos', storageosWith(namespacedSecret)],
  ['csi', 'csi', csiInPersistentVolume],
];

/** Names of fields in messages that differ from the name of the field. */
const refusedAs: Readonly<Record<string, string>> = { cephfs: 'cephFS', downwardAPI: 'downwarAPI' };

interface OneSourceOptions {
  /** A source that Kubernetes checks beside others too. */
  readonly anyway?: string;
  /** Checks what else the owner of a source needs. */
  readonly beside?: (source: string, owner: ReadValues, at: Visit) => void;
}

/** Exactly one of the sources. */
export function oneSource(sources: readonly VolumeSource[], { anyway, beside }: OneSourceOptions = {}): FieldCheck {
  return (value, at: Visit) => {
    const owner: ReadValues = recordOf(value);
    let count = 0;
    for (const [field, path, check] of sources) {
      if (!isPresent(owner[field])) continue;
      if (count > 0 && field !== anyway)
        at.forbidden(ownField(refusedAs, field) ?? field, 'may not specify more than 1 volume type');
      else {
        count += 1;
        at.into(path, owner[field], check);
        beside?.(field, owner, at);
      }
    }
    if (count === 0) at.required('', 'must specify a volume type');
  };
}
