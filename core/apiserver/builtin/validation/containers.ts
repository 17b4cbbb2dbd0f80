/** The containers of a pod. */
import { ownField } from '../../../object/json-value.ts';
import { fieldSelector, resourceFieldSelector } from './field-references.ts';
import {
  configKey,
  dnsLabel,
  dnsSubdomain,
  headerName,
  localPath,
  noBacksteps,
  portName,
  variableName,
} from './formats.ts';
import { type ClaimNames, containerResource, requirements } from './resources.ts';
import { containerSecurity } from './security.ts';
import {
  between,
  each,
  type FieldCheck,
  fields,
  filled,
  ifGiven,
  isPresent,
  notNegative,
  numberOf,
  oneOf,
  type ReadValues,
  recordOf,
  recordsOf,
  requiredOneOf,
  requiredThen,
  textOfForm,
  type Visit,
  wordOf,
} from './visit.ts';

/** The facts about a pod that the rules of its containers need. */
export interface PodContext {
  readonly volumes: ReadonlyMap<string, ReadValues>;
  readonly claims: ClaimNames;
  readonly restartPolicy: unknown;
  readonly gracePeriodSeconds: number;
  /** The pod has the users of its node. */
  readonly hasHostUsers: boolean;
}

const protocols = ['SCTP', 'TCP', 'UDP'];
export const portNumber: FieldCheck = between(1, 65_535);
export const protocol: FieldCheck = requiredOneOf(...protocols);

export const portNumberOrName: FieldCheck = (value, at) => {
  if (typeof value === 'string') textOfForm(portName)(value, at);
  else portNumber(value, at);
};

const ports: FieldCheck = (value, at) => {
  const seen = new Set<string>();
  each((item, here) => {
    const { name, hostPort } = recordOf(item);
    const mistakes = name ? portName(wordOf(name)) : [];
    for (const mistake of mistakes) here.invalid('name', name, mistake);
    if (name && mistakes.length === 0) {
      if (seen.has(wordOf(name))) here.duplicate('name', name);
      seen.add(wordOf(name));
    }
    fields({ containerPort: requiredThen(portNumber) })(item, here);
    if (hostPort) here.into('hostPort', hostPort, portNumber);
    fields({ protocol })(item, here);
  })(value, at);
};

const variableFields = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];
const keySelector: FieldCheck = ifGiven(
  fields({ name: textOfForm(dnsSubdomain), key: requiredThen(textOfForm(configKey)) }),
);
const variableSources: readonly (readonly [string, FieldCheck])[] = [
  ['fieldRef', fieldSelector(variableFields)],
  ['resourceFieldRef', resourceFieldSelector(false)],
  ['configMapKeyRef', keySelector],
  ['secretKeyRef', keySelector],
];

const variable: FieldCheck = (value, at) => {
  const { value: given, valueFrom } = recordOf(value);
  fields({ name: requiredThen(textOfForm(variableName)) })(value, at);
  if (!isPresent(valueFrom)) return;
  at.into('valueFrom', valueFrom, (from) => {
    const source = recordOf(from);
    const present = variableSources.filter(([name]) => isPresent(source[name]));
    for (const [name, check] of present) at.into(name, source[name], check);
    if (present.length === 0) {
      at.invalid('', '', 'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`');
    } else if (given) at.invalid('', '', 'may not be specified when `value` is not empty');
    else if (present.length > 1) at.invalid('', '', 'may not have more than one field specified at a time');
  });
};

const variablesFrom: FieldCheck = (value, at) => {
  for (const [i, source] of recordsOf(value).entries()) {
    const { prefix } = source;
    const named = ifGiven(fields({ name: requiredThen(textOfForm(dnsSubdomain)) }));
    at.into(i, source, (_item, here) => {
      if (prefix) here.into('prefix', prefix, textOfForm(variableName));
      fields({ configMapRef: named, secretRef: named })(source, here);
    });
    const count = ['configMapRef', 'secretRef'].filter((name) => isPresent(source[name])).length;
    if (count === 0) at.invalid('', '', 'must specify one of: `configMapRef` or `secretRef`');
    else if (count > 1) at.invalid('', '', 'may not have more than one field specified at a time');
  }
};

function mounts(pod: PodContext, container: ReadValues): FieldCheck {
  const devices = recordsOf(container.volumeDevices);
  return (value, at) => {
    const paths = new Set<unknown>();
    for (const [i, mount] of recordsOf(value).entries()) {
      const { name = '', mountPath = '', subPath, subPathExpr } = mount;
      if (!name) at.required(`[${i}].name`);
      if (!pod.volumes.has(wordOf(name))) at.notFound(`[${i}].name`, name);
      if (!mountPath) at.required(`[${i}].mountPath`);
      if (paths.has(mountPath)) at.invalid(`[${i}].mountPath`, mountPath, 'must be unique');
      paths.add(mountPath);
      if (devices.some((device) => wordOf(device.name) === name)) {
        at.invalid(`[${i}].name`, name, 'must not already exist in volumeDevices');
      }
      if (devices.some(({ devicePath }) => wordOf(devicePath) === mountPath)) {
        at.invalid(`[${i}].mountPath`, mountPath, 'must not already exist as a path in volumeDevices');
      }
      // As in Kubernetes, the paths of these causes have no index.
      if (subPath) at.into('subPath', subPath, textOfForm(localPath));
      if (subPathExpr) {
        if (subPath) at.invalid(`[${i}].subPathExpr`, subPathExpr, 'subPathExpr and subPath are mutually exclusive');
        at.into('subPathExpr', subPathExpr, textOfForm(localPath));
      }
      mountPropagation(mount, recordOf(container.securityContext), at);
    }
  };
}

function mountPropagation(mount: ReadValues, security: ReadValues, at: Visit): void {
  const { mountPropagation: propagation, recursiveReadOnly, readOnly } = mount;
  if (isPresent(propagation)) {
    at.into('mountPropagation', propagation, oneOf('Bidirectional', 'HostToContainer', 'None'));
    if (propagation === 'Bidirectional' && security.privileged !== true) {
      const why = 'Bidirectional mount propagation is available only to privileged containers';
      at.forbidden('mountPropagation', why);
    }
  }
  if (!isPresent(recursiveReadOnly) || recursiveReadOnly === 'Disabled') return;
  if (recursiveReadOnly !== 'Enabled' && recursiveReadOnly !== 'IfPossible') {
    at.unsupported('recursiveReadOnly', recursiveReadOnly, ['Disabled', 'Enabled', 'IfPossible']);
    return;
  }
  if (readOnly !== true) at.forbidden('recursiveReadOnly', 'may only be specified when readOnly is true');
  if (isPresent(propagation) && propagation !== 'None') {
    at.forbidden('recursiveReadOnly', 'may only be specified when mountPropagation is None or not specified');
  }
}

function devices(pod: PodContext, container: ReadValues): FieldCheck {
  const mounted = recordsOf(container.volumeMounts);
  return (value, at) => {
    const names = new Set<unknown>();
    const paths = new Set<unknown>();
    for (const [i, { name = '', devicePath = '' }] of recordsOf(value).entries()) {
      const volume = pod.volumes.get(wordOf(name));
      if (!name) at.required(`[${i}].name`);
      if (names.has(name)) at.invalid(`[${i}].name`, name, 'must be unique');
      if (volume && !isPresent(volume.persistentVolumeClaim) && !isPresent(volume.ephemeral)) {
        const why = 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode';
        at.invalid(`[${i}].name`, name, why);
      }
      if (!volume) at.notFound(`[${i}].name`, name);
      if (!devicePath) at.required(`[${i}].devicePath`);
      if (paths.has(devicePath)) at.invalid(`[${i}].devicePath`, devicePath, 'must be unique');
      if (noBacksteps(wordOf(devicePath)).length > 0) {
        at.invalid(`[${i}].devicePath`, devicePath, "can not contain backsteps ('..')");
      } else paths.add(devicePath);
      if (mounted.some((mount) => wordOf(mount.name) === name)) {
        at.invalid(`[${i}].name`, name, 'must not already exist in volumeMounts');
      }
      if (mounted.some(({ mountPath }) => wordOf(mountPath) === devicePath)) {
        at.invalid(`[${i}].devicePath`, devicePath, 'must not already exist as a path in volumeMounts');
      }
      if (name) names.add(name);
    }
  };
}

/** The handlers of probes and of the lifecycle, in the order in which Kubernetes looks at them. */
function handlerOf(pod: PodContext, names: readonly string[]): FieldCheck {
  const sleep: FieldCheck = (value, at) => {
    const { gracePeriodSeconds: max } = pod;
    const seconds = numberOf(recordOf(value).seconds);
    if (seconds < 0 || seconds > max) {
      at.invalid('', seconds, `must be non-negative and less than terminationGracePeriodSeconds (${max})`);
    }
  };
  const checks: Readonly<Record<string, FieldCheck>> = {
    exec,
    httpGet,
    tcpSocket: fields({ port: portNumberOrName }),
    grpc,
    sleep,
  };
  return (value, at) => {
    const handler = recordOf(value);
    const [first, ...others] = names.filter((name) => isPresent(handler[name]));
    if (first === undefined) at.required('', 'must specify a handler type');
    else at.into(first, handler[first], ownField(checks, first)!);
    for (const name of others) at.forbidden(name, 'may not specify more than 1 handler type');
  };
}

const exec: FieldCheck = fields({ command: filled });
const grpc: FieldCheck = fields({ port: portNumber });
const httpGet: FieldCheck = fields({
  path: filled,
  port: portNumberOrName,
  scheme: oneOf('HTTP', 'HTTPS'),
  // As in Kubernetes, the path of a cause has no index.
  httpHeaders: (value, at) => {
    for (const { name } of recordsOf(value)) textOfForm(headerName)(name, at);
  },
});

type ProbeName = 'livenessProbe' | 'readinessProbe' | 'startupProbe';
const probeNames: readonly ProbeName[] = ['livenessProbe', 'readinessProbe', 'startupProbe'];
const noPeriod: FieldCheck = (value, at) => {
  if (isPresent(value)) at.invalid('', value, 'must not be set for readinessProbes');
};
const positivePeriod: FieldCheck = ifGiven((value, at) => {
  if (numberOf(value) <= 0) at.invalid('', value, 'must be greater than 0');
});
const once: FieldCheck = (value, at) => {
  if (value !== 1) at.invalid('', numberOf(value), 'must be 1');
};

export function probe(pod: PodContext, name: ProbeName): FieldCheck {
  const own = name === 'readinessProbe' ? { terminationGracePeriodSeconds: noPeriod } : { successThreshold: once };
  const handler = handlerOf(pod, ['exec', 'httpGet', 'tcpSocket', 'grpc']);
  return ifGiven((value, at) => {
    handler(value, at);
    probeNumbers(value, at);
    fields(own)(value, at);
  });
}

const probeNumbers: FieldCheck = fields({
  initialDelaySeconds: notNegative,
  timeoutSeconds: notNegative,
  periodSeconds: notNegative,
  successThreshold: notNegative,
  failureThreshold: notNegative,
  terminationGracePeriodSeconds: positivePeriod,
});

function lifecycle(pod: PodContext): FieldCheck {
  const handler = ifGiven(handlerOf(pod, ['exec', 'httpGet', 'tcpSocket', 'sleep']));
  return ifGiven(fields({ postStart: handler, preStop: handler }));
}

function resizePolicy(pod: PodContext): FieldCheck {
  return (value, at) => {
    const seen = new Set<unknown>();
    for (const [i, { resourceName: name, restartPolicy }] of recordsOf(value).entries()) {
      if (seen.has(wordOf(name))) at.duplicate(`[${i}]`, wordOf(name));
      seen.add(wordOf(name));
      requiredOneOf('cpu', 'memory')(name, at);
      requiredOneOf('NotRequired', 'RestartContainer')(restartPolicy, at);
      if (pod.restartPolicy === 'Never' && restartPolicy !== 'NotRequired') {
        at.invalid('', restartPolicy, "must be 'NotRequired' when `restartPolicy` is 'Never'");
      }
    }
  };
}

export function commonContainer(pod: PodContext): FieldCheck {
  return (value, at) => {
    const container = recordOf(value);
    fields({
      name: requiredThen(textOfForm(dnsLabel)),
      image: filled,
      terminationMessagePolicy: requiredOneOf('File', 'FallbackToLogsOnError'),
      ports,
      env: each(variable),
      envFrom: variablesFrom,
      volumeMounts: mounts(pod, container),
      volumeDevices: devices(pod, container),
      imagePullPolicy: requiredOneOf('Always', 'IfNotPresent', 'Never'),
      resources: requirements(containerResource, pod.claims),
      resizePolicy: resizePolicy(pod),
      securityContext: containerSecurity(pod.hasHostUsers),
    })(container, at);
  };
}

function probes(pod: PodContext): FieldCheck {
  const checks = Object.fromEntries(probeNames.map((name) => [name, probe(pod, name)]));
  return fields({ lifecycle: lifecycle(pod), ...checks });
}

/** Names each port of the node that an earlier container of the list has. */
function hostPorts(containers: readonly ReadValues[], at: Visit): void {
  const seen = new Set<string>();
  for (const [i, container] of containers.entries()) {
    for (const [j, { protocol: of, hostIP, hostPort }] of recordsOf(container.ports).entries()) {
      if (!hostPort) continue;
      const key = `${wordOf(of)}/${wordOf(hostIP)}/${numberOf(hostPort)}`;
      if (seen.has(key)) at.duplicate(`[${i}].ports[${j}].hostPort`, key);
      seen.add(key);
    }
  }
}

export function containers(pod: PodContext): FieldCheck {
  return (value, at) => {
    const list = recordsOf(value);
    if (list.length === 0) {
      at.required();
      return;
    }
    const names = new Set<unknown>();
    const common = commonContainer(pod);
    const life = probes(pod);
    for (const [i, container] of list.entries()) {
      at.into(i, container, () => {
        common(container, at);
        if (names.has(wordOf(container.name))) at.duplicate('name', wordOf(container.name));
        names.add(wordOf(container.name));
        life(container, at);
      });
    }
    hostPorts(list, at);
  };
}

export function initContainers(pod: PodContext, regular: unknown): FieldCheck {
  return (value, at) => {
    const names = new Set(recordsOf(regular).map(({ name }) => wordOf(name)));
    const common = commonContainer(pod);
    for (const [i, container] of recordsOf(value).entries()) {
      at.into(i, container, () => {
        common(container, at);
        const name = wordOf(container.name);
        if (names.has(name)) at.duplicate('name', name);
        if (name) names.add(name);
      });
      hostPorts([container], at);
      at.into(i, container, container.restartPolicy === 'Always' ? probes(pod) : withoutProbes);
    }
  };
}

const withoutProbes: FieldCheck = (value, at) => {
  for (const name of ['lifecycle', ...probeNames]) {
    if (!isPresent(recordOf(value)[name])) continue;
    at.forbidden(name, 'may not be set for init containers without restartPolicy=Always');
  }
};

/** Fields that an ephemeral container may not have. */
const onlyForOthers = [
  'ports',
  'resources',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
  'resizePolicy',
];

export function ephemeralContainers(pod: PodContext, others: readonly ReadValues[]): FieldCheck {
  return (value, at) => {
    const otherNames = new Set(others.map(({ name }) => wordOf(name)));
    const names = new Set(otherNames);
    for (const [i, container] of recordsOf(value).entries()) {
      at.into(i, container, () => {
        commonContainer(pod)(container, at);
        if (names.has(wordOf(container.name))) at.duplicate('name', wordOf(container.name));
        names.add(wordOf(container.name));
        const { targetContainerName: target } = container;
        if (target && !otherNames.has(wordOf(target))) at.notFound('targetContainerName', target);
        for (const name of onlyForOthers) {
          const given = container[name];
          const isSet = isPresent(given) && (name !== 'resources' || Object.keys(recordOf(given)).length > 0);
          if (isSet) at.forbidden(name, 'cannot be set for an Ephemeral Container');
        }
      });
    }
  };
}
