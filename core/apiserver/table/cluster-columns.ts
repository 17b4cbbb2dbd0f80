/** The columns of `kubectl get` for kinds around workloads: services, storage, nodes, access, admission. */
import { ownField } from '../../object/json-value.ts';
import type { KubeObject } from '../../object/meta.ts';
import { humanDuration } from './ages.ts';
import {
  ageColumn,
  booleanColumn,
  type ComputedColumn,
  column,
  entries,
  field,
  firstOf,
  get,
  integerColumn,
  labelsText,
  listAt,
  nameColumn,
  type ReadFields,
  requirementsText,
  textAt,
  textOr,
  wide,
} from './cells.ts';

const bindingColumns = [
  column('Role', (o) => `${textAt(o, 'roleRef.kind')}/${textAt(o, 'roleRef.name')}`),
  ageColumn,
  wide(subjects('Users', 'User')),
  wide(subjects('Groups', 'Group')),
  wide(subjects('ServiceAccounts', 'ServiceAccount')),
];
const webhookColumns = [column('Webhooks', (o) => listAt(o, 'webhooks').length, 0, 'integer'), ageColumn];
const paramKind = column('ParamKind', (o) =>
  get(o, 'spec.paramKind')
    ? `${textAt(o, 'spec.paramKind.apiVersion')}/${textAt(o, 'spec.paramKind.kind')}`
    : '<unset>',
);
const policyBindingColumns = [field('PolicyName', 'spec.policyName'), column('ParamRef', paramRef), ageColumn];
const counted = (name: string, path: string) => column(name, (o) => listAt(o, path).length, 0, 'integer');
const isDefault = (one: KubeObject, annotation: string) => one.metadata.annotations?.[annotation] === 'true';
/** Width of a list of addresses that is not shown in whole. */
const addressesWidth = 16;

export const clusterColumns: Readonly<Record<string, readonly ComputedColumn[]>> = {
  '/services': [
    field('Type', 'spec.type', 'ClusterIP'),
    column('Cluster-IP', (o) => textOr(o, 'spec.clusterIP', '<none>')),
    column('External-IP', externalIp),
    column('Port(s)', (o) => listAt(o, 'spec.ports').map(portText).join(',') || '<none>'),
    ageColumn,
    wide(column('Selector', (o) => labelsText(get(o, 'spec.selector')))),
  ],
  '/endpoints': [column('Endpoints', endpointsText), ageColumn],
  'discovery.k8s.io/endpointslices': [
    field('AddressType', 'addressType'),
    column('Ports', (o) => firstOf(listAt(o, 'ports').map(slicePort), 3) || '<unset>'),
    column('Endpoints', (o) => firstOf(listAt(o, 'endpoints').flatMap(addressesOf), 3) || '<unset>'),
    ageColumn,
  ],
  'networking.k8s.io/ingresses': [
    field('Class', 'spec.ingressClassName', '<none>'),
    column('Hosts', hostsText),
    column('Address', (o) => loadBalancerText(o)),
    column('Ports', (o) => (listAt(o, 'spec.tls').length > 0 ? '80, 443' : '80')),
    ageColumn,
  ],
  'networking.k8s.io/ingressclasses': [
    field('Controller', 'spec.controller'),
    column('Parameters', (o) => parametersText(get(o, 'spec.parameters'))),
    ageColumn,
  ],
  'networking.k8s.io/networkpolicies': [
    column('Pod-Selector', (o) => requirementsText(get(o, 'spec.podSelector')) || '<none>'),
    ageColumn,
  ],
  'networking.k8s.io/servicecidrs': [column('CIDRs', (o) => listAt(o, 'spec.cidrs').join(',')), ageColumn],
  'networking.k8s.io/ipaddresses': [column('ParentRef', parentRef)],
  '/configmaps': [entries('Data', 'data', 'binaryData'), ageColumn],
  '/secrets': [field('Type', 'type'), entries('Data', 'data'), ageColumn],
  '/serviceaccounts': [column('Secrets', (o) => listAt(o, 'secrets').length), ageColumn],
  '/namespaces': [field('Status', 'status.phase'), ageColumn],
  '/nodes': [
    column('Status', nodeStatus),
    column('Roles', nodeRoles),
    ageColumn,
    field('Version', 'status.nodeInfo.kubeletVersion'),
    wide(column('Internal-IP', (o) => nodeAddress(o, 'InternalIP'))),
    wide(column('External-IP', (o) => nodeAddress(o, 'ExternalIP'))),
    wide(column('OS-Image', (o) => textOr(o, 'status.nodeInfo.osImage', '<unknown>'))),
    wide(column('Kernel-Version', (o) => textOr(o, 'status.nodeInfo.kernelVersion', '<unknown>'))),
    wide(column('Container-Runtime', (o) => textOr(o, 'status.nodeInfo.containerRuntimeVersion', '<unknown>'))),
  ],
  '/resourcequotas': [
    column('Request', (o) => quotaText(o, false)),
    column('Limit', (o) => quotaText(o, true)),
    ageColumn,
  ],
  '/persistentvolumes': [
    field('Capacity', 'spec.capacity.storage', '0'),
    column('Access Modes', (o) => accessModesText(get(o, 'spec.accessModes'))),
    field('Reclaim Policy', 'spec.persistentVolumeReclaimPolicy'),
    column('Status', volumePhase),
    column('Claim', (o) =>
      get(o, 'spec.claimRef') ? `${textAt(o, 'spec.claimRef.namespace')}/${textAt(o, 'spec.claimRef.name')}` : '',
    ),
    column('StorageClass', volumeClass),
    field('VolumeAttributesClass', 'spec.volumeAttributesClassName', '<unset>'),
    field('Reason', 'status.reason'),
    ageColumn,
    wide(field('VolumeMode', 'spec.volumeMode', '<unset>')),
  ],
  '/persistentvolumeclaims': [
    column('Status', volumePhase),
    field('Volume', 'spec.volumeName'),
    column('Capacity', (o) => (get(o, 'spec.volumeName') ? textAt(o, 'status.capacity.storage', '0') : '')),
    column('Access Modes', (o) => (get(o, 'spec.volumeName') ? accessModesText(get(o, 'status.accessModes')) : '')),
    column('StorageClass', volumeClass),
    field('VolumeAttributesClass', 'spec.volumeAttributesClassName', '<unset>'),
    ageColumn,
    wide(field('VolumeMode', 'spec.volumeMode', '<unset>')),
  ],
  'storage.k8s.io/storageclasses': [
    { ...nameColumn, cell: (o) => `${o.metadata.name}${isDefaultClass(o) ? ' (default)' : ''}` },
    field('Provisioner', 'provisioner'),
    field('ReclaimPolicy', 'reclaimPolicy', 'Delete'),
    field('VolumeBindingMode', 'volumeBindingMode', 'Immediate'),
    { ...booleanColumn('AllowVolumeExpansion', 'allowVolumeExpansion'), type: 'string' },
    ageColumn,
  ],
  'storage.k8s.io/volumeattributesclasses': [
    {
      ...nameColumn,
      cell: (o) =>
        `${o.metadata.name}${isDefault(o, 'volumeattributesclass.storage.kubernetes.io/is-default-class') ? ' (default)' : ''}`,
    },
    field('DriverName', 'driverName'),
    ageColumn,
  ],
  'storage.k8s.io/volumeattachments': [
    { ...field('Attacher', 'spec.attacher'), format: 'name' },
    field('PV', 'spec.source.persistentVolumeName'),
    field('Node', 'spec.nodeName'),
    booleanColumn('Attached', 'status.attached'),
    ageColumn,
  ],
  'storage.k8s.io/csinodes': [counted('Drivers', 'spec.drivers'), ageColumn],
  'storage.k8s.io/csidrivers': [
    booleanColumn('AttachRequired', 'spec.attachRequired', true),
    booleanColumn('PodInfoOnMount', 'spec.podInfoOnMount'),
    booleanColumn('StorageCapacity', 'spec.storageCapacity'),
    column('TokenRequests', (o) =>
      get(o, 'spec.tokenRequests')
        ? listAt(o, 'spec.tokenRequests')
            .map(({ audience }) => audience)
            .join(',')
        : '<unset>',
    ),
    booleanColumn('RequiresRepublish', 'spec.requiresRepublish'),
    column('Modes', (o) => listAt(o, 'spec.volumeLifecycleModes').join(',') || '<none>'),
    ageColumn,
  ],
  'node.k8s.io/runtimeclasses': [field('Handler', 'handler'), ageColumn],
  'rbac.authorization.k8s.io/rolebindings': bindingColumns,
  'rbac.authorization.k8s.io/clusterrolebindings': bindingColumns,
  'certificates.k8s.io/certificatesigningrequests': [
    ageColumn,
    field('SignerName', 'spec.signerName', '<none>'),
    field('Requestor', 'spec.username'),
    column('RequestedDuration', (o) => {
      const seconds = get(o, 'spec.expirationSeconds');
      return typeof seconds === 'number' ? humanDuration(seconds * 1_000) : '<none>';
    }),
    column('Condition', requestCondition),
  ],
  'coordination.k8s.io/leases': [field('Holder', 'spec.holderIdentity'), ageColumn],
  'admissionregistration.k8s.io/mutatingwebhookconfigurations': webhookColumns,
  'admissionregistration.k8s.io/validatingwebhookconfigurations': webhookColumns,
  'admissionregistration.k8s.io/validatingadmissionpolicies': [
    counted('Validations', 'spec.validations'),
    paramKind,
    ageColumn,
  ],
  'admissionregistration.k8s.io/validatingadmissionpolicybindings': policyBindingColumns,
  'flowcontrol.apiserver.k8s.io/flowschemas': [
    field('PriorityLevel', 'spec.priorityLevelConfiguration.name'),
    { ...integerColumn('MatchingPrecedence', 'spec.matchingPrecedence'), type: 'string' },
    field('DistinguisherMethod', 'spec.distinguisherMethod.type', '<none>'),
    ageColumn,
    column('MissingPL', (o) => {
      const dangling = listAt(o, 'status.conditions').find(({ type }) => type === 'Dangling');
      return String(dangling?.status ?? '?');
    }),
  ],
  'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations': [
    field('Type', 'spec.type'),
    limited('NominalConcurrencyShares', 'nominalConcurrencyShares'),
    limited('Queues', 'limitResponse.queuing.queues'),
    limited('HandSize', 'limitResponse.queuing.handSize'),
    limited('QueueLengthLimit', 'limitResponse.queuing.queueLengthLimit'),
    ageColumn,
  ],
  'apiregistration.k8s.io/apiservices': [
    column('Service', (o) =>
      get(o, 'spec.service') ? `${textAt(o, 'spec.service.namespace')}/${textAt(o, 'spec.service.name')}` : 'Local',
    ),
    column('Available', availability),
    ageColumn,
  ],
};

function subjects(name: string, wanted: string): ComputedColumn {
  return column(name, (o) =>
    listAt(o, 'subjects')
      .filter(({ kind }) => kind === wanted)
      .map((one) => (wanted === 'ServiceAccount' ? `${one.namespace ?? ''}/${one.name}` : one.name))
      .join(', '),
  );
}

function limited(name: string, path: string): ComputedColumn {
  return column(name, (o) => (get(o, `spec.limited.${path}`) ?? '<none>') as string | number);
}

function portText({ port, nodePort, protocol = 'TCP' }: ReadFields): string {
  return nodePort ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`;
}

function externalIp(service: KubeObject): string {
  const own = listAt(service, 'spec.externalIPs').join(',');
  switch (get(service, 'spec.type') ?? 'ClusterIP') {
    case 'ClusterIP':
    case 'NodePort':
      return own || '<none>';
    case 'LoadBalancer':
      return [loadBalancerText(service), own].filter((one) => one !== '').join(',') || '<pending>';
    case 'ExternalName':
      return textAt(service, 'spec.externalName');
    default:
      return '<unknown>';
  }
}

/** The addresses of a load balancer. A table that is not wide would show 16 characters of them; kubectl asks for all columns at once. */
function loadBalancerText(object: KubeObject): string {
  const addresses = listAt(object, 'status.loadBalancer.ingress').map(({ ip, hostname }) =>
    String(ip ?? hostname ?? ''),
  );
  const shown = [...new Set(addresses.filter((one) => one !== ''))].sort().join(',');
  return shown.length > addressesWidth ? `${shown.slice(0, addressesWidth - 3)}...` : shown;
}

function endpointsText(endpoints: KubeObject): string {
  const subsets = listAt(endpoints, 'subsets');
  const all = subsets.flatMap((subset) => {
    const addresses = listAt(subset, 'addresses').map(({ ip }) => String(ip));
    const ports = listAt(subset, 'ports');
    return ports.length === 0
      ? addresses
      : ports.flatMap(({ port }) => addresses.map((ip) => `${ip.includes(':') ? `[${ip}]` : ip}:${port}`));
  });
  return subsets.length === 0 ? '<none>' : firstOf(all, 3);
}

function slicePort({ port, name }: ReadFields): string {
  return String(port ?? name ?? '*');
}

function addressesOf(endpoint: ReadFields): string[] {
  return listAt(endpoint, 'addresses').map(String);
}

function hostsText(ingress: KubeObject): string {
  const rules = listAt(ingress, 'spec.rules');
  const hosts = rules.flatMap(({ host }) => (host ? [String(host)] : []));
  return hosts.length === 0 ? '*' : firstOf(hosts, 3, hosts.length < 3 ? hosts.length : rules.length);
}

function parametersText(parameters: unknown): string {
  if (!parameters) return '<none>';
  const group = get(parameters, 'apiGroup');
  return `${textAt(parameters, 'kind')}${group === undefined ? '' : `.${group}`}/${textAt(parameters, 'name')}`;
}

function nodeStatus(node: KubeObject): string {
  const ready = listAt(node, 'status.conditions').find(({ type }) => type === 'Ready');
  const status = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return get(node, 'spec.unschedulable') ? `${status},SchedulingDisabled` : status;
}

const roleLabel = 'node-role.kubernetes.io/';

function nodeRoles({ metadata }: KubeObject): string {
  const roles = Object.entries(metadata.labels ?? {}).flatMap(([key, value]) => {
    if (key.startsWith(roleLabel) && key.length > roleLabel.length) return [key.slice(roleLabel.length)];
    return key === 'kubernetes.io/role' && value !== '' ? [value] : [];
  });
  return [...new Set(roles)].sort().join(',') || '<none>';
}

function nodeAddress(node: KubeObject, wanted: string): string {
  return String(listAt(node, 'status.addresses').find(({ type }) => type === wanted)?.address ?? '<none>');
}

/** The used and the allowed amounts of the resources that are limits of containers, or of the others. */
function quotaText(quota: KubeObject, ofLimits: boolean): string {
  const hard = Object.entries((get(quota, 'status.hard') ?? {}) as Record<string, string>);
  const used = (get(quota, 'status.used') ?? {}) as Record<string, string>;
  return hard
    .filter(([name]) => name.startsWith('limits.') === ofLimits)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, amount]) => `${name}: ${ownField(used, name) ?? '0'}/${amount}`)
    .join(', ');
}

const modeNames = [
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
] as const;

function accessModesText(modes: unknown): string {
  const given = (modes ?? []) as unknown[];
  return modeNames.flatMap(([mode, short]) => (given.includes(mode) ? [short] : [])).join(',');
}

function volumePhase(volume: KubeObject): string {
  return volume.metadata.deletionTimestamp ? 'Terminating' : textAt(volume, 'status.phase');
}

function volumeClass(volume: KubeObject): string {
  const former = volume.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'];
  return former ?? textAt(volume, 'spec.storageClassName');
}

function isDefaultClass(storageClass: KubeObject): boolean {
  return ['storageclass.kubernetes.io/is-default-class', 'storageclass.beta.kubernetes.io/is-default-class'].some(
    (annotation) => isDefault(storageClass, annotation),
  );
}

function requestCondition(request: KubeObject): string {
  const types = listAt(request, 'status.conditions').map(({ type }) => String(type));
  const decided = ['Denied', 'Approved'].find((type) => types.includes(type)) ?? 'Pending';
  const failed = types.includes('Failed') ? ['Failed'] : [];
  const issued = get(request, 'status.certificate') ? ['Issued'] : [];
  return [decided, ...failed, ...issued].join(',');
}

function paramRef(binding: KubeObject): string {
  const name = textAt(binding, 'spec.paramRef.name');
  return name ? `${textOr(binding, 'spec.paramRef.namespace', '*')}/${name}` : '<unset>';
}

function parentRef(address: KubeObject): string {
  const parent = get(address, 'spec.parentRef');
  if (!parent) return '<none>';
  const [resource, group] = [textAt(parent, 'resource'), textAt(parent, 'group')];
  const owner = `${resource}${group ? `.${group}` : ''}`.toLowerCase();
  return [owner, textAt(parent, 'namespace'), textAt(parent, 'name')].filter((part) => part !== '').join('/');
}

function availability(service: KubeObject): string {
  const found = listAt(service, 'status.conditions').find(({ type }) => type === 'Available');
  if (found === undefined) return 'Unknown';
  return found.status === 'True' || !found.reason ? String(found.status) : `${found.status} (${found.reason})`;
}
