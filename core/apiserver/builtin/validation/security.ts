/** Security contexts of pods and containers. */
import { dnsSubdomain, localPath } from './formats.ts';
import {
  between,
  each,
  type FieldCheck,
  fields,
  ifGiven,
  isPresent,
  listOf,
  oneOf,
  type ReadValues,
  recordOf,
  recordsOf,
  textOfForm,
  wordOf,
} from './visit.ts';

const int32Max = 2_147_483_647;
const id: FieldCheck = ifGiven(between(0, int32Max));

const profileTypes = ['Localhost', 'RuntimeDefault', 'Unconfined'];

function profileType(detail: string): FieldCheck {
  return (value, at) => {
    const type = recordOf(value).type;
    if (!type) at.required('type', detail);
    else if (!profileTypes.includes(wordOf(type))) at.unsupported('type', type, profileTypes);
  };
}

const seccompType = profileType('type is required when seccompProfile is set');

const seccompProfile: FieldCheck = ifGiven((value, at) => {
  const { type, localhostProfile } = recordOf(value);
  seccompType(value, at);
  if (type !== 'Localhost') {
    if (isPresent(localhostProfile)) {
      at.invalid('localhostProfile', value, 'can only be set when seccomp type is Localhost');
    }
  } else if (!isPresent(localhostProfile)) {
    at.required('localhostProfile', 'must be set when seccomp type is Localhost');
  } else at.into('localhostProfile', localhostProfile, textOfForm(localPath));
});

const appArmorType = profileType('type is required when appArmorProfile is set');
const appArmorBytesMax = 4095;

const appArmorProfile: FieldCheck = ifGiven((value, at) => {
  const { type, localhostProfile } = recordOf(value);
  const needed = 'must be set when AppArmor type is Localhost';
  if (type !== 'Localhost') {
    if (type && profileTypes.includes(wordOf(type)) && isPresent(localhostProfile)) {
      at.invalid('localhostProfile', localhostProfile, 'can only be set when AppArmor type is Localhost');
    }
    appArmorType(value, at);
    return;
  }
  const profile = wordOf(localhostProfile);
  if (!isPresent(localhostProfile)) at.required('localhostProfile', needed);
  else if (profile.trim() !== profile) at.invalid('localhostProfile', profile, 'must not be padded with whitespace');
  else if (profile === '') at.required('localhostProfile', needed);
  if (profile.length > appArmorBytesMax) at.tooLong('localhostProfile', appArmorBytesMax);
});

const gmsaBytesMax = 64 * 1024;
const dnsForm = '[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?';
const netBios = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const dnsDomain = new RegExp(`^${dnsForm}(?:\\.${dnsForm})*$`);
const userName = "runAsUserName's";

function windowsUserMistakes(name: string): string[] {
  if (name === '') return ['runAsUserName cannot be an empty string'];
  if (/\p{Cc}/u.test(name)) return ['runAsUserName cannot contain control characters'];
  const parts = name.split('\\');
  if (parts.length > 2) return ['runAsUserName cannot contain more than one backslash'];
  const domain = parts.length === 2 ? parts[0]! : undefined;
  const user = parts.at(-1)!;
  return [
    ...(domain !== undefined && domain.length >= 256 ? [`${userName} Domain length must be under 256 characters`] : []),
    ...(domain !== undefined && !netBios.test(domain) && !dnsDomain.test(domain)
      ? [`${userName} Domain doesn't match the NetBios nor the DNS format`]
      : []),
    ...(user === '' ? [`${userName} User cannot be empty`] : []),
    ...(user.length > 104 ? [`${userName} User length must not be longer than 104 characters`] : []),
    ...(/^[. ]+$/.test(user) ? [`${userName} User cannot contain only periods or spaces`] : []),
    ...(/["/\\:;|=,+*?<>@[\]]/.test(user)
      ? [`${userName} User cannot contain the following characters: "/\\:;|=,+*?<>@[]`]
      : []),
  ];
}

const windowsOptions: FieldCheck = ifGiven(
  fields({
    gmsaCredentialSpecName: ifGiven(textOfForm(dnsSubdomain)),
    gmsaCredentialSpec: ifGiven((value, at) => {
      const spec = wordOf(value);
      if (spec === '') at.invalid('', spec, 'gmsaCredentialSpec cannot be an empty string');
      else if (spec.length > gmsaBytesMax) at.invalid('', spec, 'gmsaCredentialSpec size must be under 64 KiB');
    }),
    runAsUserName: ifGiven(textOfForm(windowsUserMistakes)),
  }),
);

export function containerSecurity(hasHostUsers: boolean): FieldCheck {
  return ifGiven((value, at) => {
    const { procMount, allowPrivilegeEscalation, privileged, capabilities } = recordOf(value);
    fields({ runAsUser: id, runAsGroup: id, procMount: ifGiven(oneOf('Default', 'Unmasked')) })(value, at);
    if (hasHostUsers && procMount === 'Unmasked') {
      at.invalid('procMount', procMount, '`hostUsers` must be false to use `Unmasked`');
    }
    at.into('seccompProfile', recordOf(value).seccompProfile, seccompProfile);
    if (allowPrivilegeEscalation === false) {
      const cannot = 'cannot set `allowPrivilegeEscalation` to false and';
      if (privileged === true) at.invalid('', value, `${cannot} \`privileged\` to true`);
      if (listOf(recordOf(capabilities).add).includes('CAP_SYS_ADMIN')) {
        at.invalid('', value, `${cannot} \`capabilities.Add\` CAP_SYS_ADMIN`);
      }
    }
    fields({ windowsOptions, appArmorProfile })(value, at);
  });
}

const sysctlForm = '^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$';
const sysctl = new RegExp(sysctlForm);
const namespacedSysctls: readonly (readonly [prefix: string, field: string])[] = [
  ['net.', 'hostNetwork'],
  ['kernel.shm', 'hostIPC'],
  ['kernel.msg', 'hostIPC'],
  ['kernel.sem', 'hostIPC'],
  ['fs.mqueue.', 'hostIPC'],
];

/** `spec` has the fields of the node's namespaces. */
function sysctls(spec: ReadValues): FieldCheck {
  return (value, at) => {
    const names = new Set<string>();
    for (const [i, item] of recordsOf(value).entries()) {
      const name = wordOf(item.name);
      const field = `[${i}].name`;
      if (name === '') at.required(field);
      else if (name.length > 253 || !sysctl.test(name)) {
        at.invalid(field, name, `must have at most 253 characters and match regex ${sysctlForm}`);
      } else if (names.has(name)) at.duplicate(field, name);
      const dotted = name.replaceAll('/', '.');
      const shared = namespacedSysctls.find(([prefix, host]) => dotted.startsWith(prefix) && spec[host] === true);
      if (shared) at.invalid(field, name, `may not be specified when '${shared[1]}' is true`);
      names.add(name);
    }
  };
}

export function podSecurity(spec: ReadValues): FieldCheck {
  return ifGiven((value, at) => {
    fields({ fsGroup: id, runAsUser: id, runAsGroup: id, supplementalGroups: each(id) })(value, at);
    if (spec.shareProcessNamespace === true && spec.hostPID === true) {
      at.invalid('shareProcessNamespace', true, 'ShareProcessNamespace and HostPID cannot both be enabled');
    }
    fields({
      sysctls: sysctls(spec),
      fsGroupChangePolicy: ifGiven(oneOf('Always', 'OnRootMismatch')),
      seccompProfile,
      windowsOptions,
      appArmorProfile,
      supplementalGroupsPolicy: ifGiven(oneOf('Merge', 'Strict')),
      seLinuxChangePolicy: ifGiven(oneOf('Recursive')),
    })(value, at);
  });
}

/** Fields that only Linux has, [field of the pod's spec, path]. */
const podFieldsOfLinux = [
  'securityContext.appArmorProfile',
  'securityContext.seLinuxOptions',
  'hostUsers',
  'hostPID',
  'hostIPC',
  'securityContext.seccompProfile',
  'securityContext.fsGroup',
  'securityContext.fsGroupChangePolicy',
  'securityContext.sysctls',
  'shareProcessNamespace',
  'securityContext.runAsUser',
  'securityContext.runAsGroup',
  'securityContext.supplementalGroups',
  'securityContext.supplementalGroupsPolicy',
  'securityContext.seLinuxChangePolicy',
];
const containerFieldsOfLinux = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
];
const containerLists = ['initContainers', 'containers', 'ephemeralContainers'];

/** Fields of a pod that its operating system does not have. */
export const fieldsOfSystem: FieldCheck = (value, at) => {
  const spec = recordOf(value);
  const system = recordOf(spec.os).name;
  const isWindows = system === 'windows';
  const why = isWindows ? 'cannot be set for a windows pod' : 'windows options cannot be set for a linux pod';
  const podFields = isWindows ? podFieldsOfLinux : ['securityContext.windowsOptions'];
  const containerFields = isWindows ? containerFieldsOfLinux : ['windowsOptions'];
  for (const field of podFields) {
    const given = field.split('.').reduce<unknown>((inner, name) => recordOf(inner)[name], spec);
    if (isPresent(given) && given !== (field.startsWith('host') && field !== 'hostUsers' ? false : undefined)) {
      at.forbidden(field, why);
    }
  }
  for (const list of containerLists) {
    for (const [i, { securityContext }] of recordsOf(spec[list]).entries()) {
      for (const field of containerFields) {
        if (isPresent(recordOf(securityContext)[field])) at.forbidden(`${list}[${i}].securityContext.${field}`, why);
      }
    }
  }
};

/** Containers that run as processes of a Windows node. */
export const hostProcesses: FieldCheck = (value, at) => {
  const spec = recordOf(value);
  const ofPod = hostProcessOf(spec.securityContext);
  let count = 0;
  let hostProcessCount = 0;
  for (const list of containerLists) {
    for (const [i, { securityContext }] of recordsOf(spec[list]).entries()) {
      count += 1;
      const own = hostProcessOf(securityContext);
      if (isPresent(ofPod) && isPresent(own) && own !== ofPod) {
        const why = `pod hostProcess value must be identical if both are specified, was ${ofPod}`;
        at.invalid(`${list}[${i}].securityContext.windowsOptions.hostProcess`, own, why);
      }
      if ((own ?? ofPod) === true) hostProcessCount += 1;
    }
  }
  if (hostProcessCount === 0) return;
  if (hostProcessCount !== count) {
    const why = 'If pod contains any hostProcess containers then all containers must be HostProcess containers';
    at.invalid('', '', why);
  }
  if (spec.hostNetwork !== true) {
    at.invalid('hostNetwork', false, 'hostNetwork must be true if pod contains any hostProcess containers');
  }
};

function hostProcessOf(context: unknown): unknown {
  return recordOf(recordOf(context).windowsOptions).hostProcess;
}
