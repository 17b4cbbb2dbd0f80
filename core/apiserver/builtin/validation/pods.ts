/** Pods and the templates of pods. */
import { address } from './addresses.ts';
import { claimSpec } from './claims.ts';
import { containers, ephemeralContainers, initContainers, type PodContext } from './containers.ts';
import { dnsLabel, dnsSubdomain, dnsSubdomainOrUnderscore, qualifiedName } from './formats.ts';
import { annotationUpdates, mirror, podUpdate, profileAnnotation } from './pod-updates.ts';
import { claimNamesOf, containerResource, podLevelResource, requirements } from './resources.ts';
import { fieldsOfSystem, hostProcesses, podSecurity } from './security.ts';
import { affinity, annotations, comparedKeys, labelName, labels, selectorRule, tolerations } from './selectors.ts';
import {
  all,
  between,
  each,
  type FieldCheck,
  fields,
  ifFilled,
  ifGiven,
  isPresent,
  listOf,
  numberOf,
  oneOf,
  positiveNumber,
  type ReadValues,
  recordOf,
  recordsOf,
  requiredOneOf,
  requiredThen,
  textOfForm,
  textsOf,
  type Visit,
  valueAtPath,
  wordOf,
} from './visit.ts';
import { oneSource, podVolumeSources } from './volumes.ts';

const int32Max = 2_147_483_647;

/** Labels and annotations of a template, which has no other metadata. */
const templateMeta: FieldCheck = (value, at) => {
  fields({ annotations, labels })(value, at);
  for (const name of Object.keys(recordOf(value))) {
    if (name !== 'labels' && name !== 'annotations') at.forbidden(name, 'cannot be set');
  }
};

const volumeSource = oneSource(podVolumeSources(fields({ metadata: templateMeta, spec: claimSpec })));

/** Checks the volumes. Returns those without a mistake: only these may be mounted. */
function checkVolumes(value: unknown, podName: string | undefined, at: Visit): Map<string, ReadValues> {
  const volumes = new Map<string, ReadValues>();
  const made = recordsOf(value).filter(({ ephemeral }) => podName && isPresent(ephemeral));
  const madeClaims = new Set(made.map(({ name }) => `${podName}-${wordOf(name)}`));
  each((item, here) => {
    const volume = recordOf(item);
    const name = wordOf(volume.name);
    const before = at.causes.length;
    volumeSource(volume, here);
    portalLength(volume, here);
    fields({ name: requiredThen(textOfForm(dnsLabel)) })(volume, here);
    if (volumes.has(name)) here.duplicate('name', name);
    if (at.causes.length === before) volumes.set(name, volume);
    const { claimName } = recordOf(volume.persistentVolumeClaim);
    if (madeClaims.has(wordOf(claimName))) {
      const why = 'must not reference a PVC that gets created for an ephemeral volume';
      here.invalid('persistentVolumeClaim.claimName', claimName, why);
    }
  })(value, at);
  return volumes;
}

function portalLength({ name, iscsi }: ReadValues, at: Visit): void {
  const { initiatorName, targetPortal } = recordOf(iscsi);
  if (!isPresent(initiatorName) || `${wordOf(name)}:${wordOf(targetPortal)}`.length <= 64) return;
  const why =
    'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.';
  at.invalid('name', name, why);
}

const resourceClaims: FieldCheck = (value, at) => {
  const names = new Set<unknown>();
  each((item, here) => {
    const claim = recordOf(item);
    const { name, resourceClaimName: own, resourceClaimTemplateName: template } = claim;
    if (!name) here.required('name');
    else if (names.has(name)) here.duplicate('name', name);
    else here.into('name', name, textOfForm(dnsLabel));
    names.add(name);
    if (isPresent(own) && isPresent(template)) {
      here.invalid('', claim, 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified');
    }
    if (!isPresent(own) && !isPresent(template)) {
      here.invalid('', claim, 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`');
    }
    fields({
      resourceClaimName: ifGiven(textOfForm(dnsSubdomain)),
      resourceClaimTemplateName: ifGiven(textOfForm(dnsSubdomain)),
    })(claim, here);
  })(value, at);
};

const hostPortsOfNode =
  (isPod: boolean): FieldCheck =>
  (value, at) => {
    const spec = recordOf(value);
    if (spec.hostNetwork !== true) return;
    for (const [i, container] of recordsOf(spec.containers).entries()) {
      for (const [j, port] of recordsOf(container.ports).entries()) {
        const host = numberOf(port.hostPort);
        if ((isPod || host !== 0) && host !== numberOf(port.containerPort)) {
          const why = 'must match `containerPort` when `hostNetwork` is true';
          at.invalid(`containers[${i}].ports[${j}].hostPort`, host, why);
        }
      }
    }
  };

const dnsConfig: FieldCheck = (value, at) => {
  const { dnsConfig: config, dnsPolicy } = recordOf(value);
  const { nameservers, searches, options } = recordOf(config);
  if (dnsPolicy === 'None' && !isPresent(config)) {
    at.required('dnsConfig', 'must provide `dnsConfig` when `dnsPolicy` is None');
    return;
  }
  if (dnsPolicy === 'None' && listOf(nameservers).length === 0) {
    const why = 'must provide at least one DNS nameserver when `dnsPolicy` is None';
    at.required('dnsConfig.nameservers', why);
    return;
  }
  at.into('dnsConfig', config, () => {
    if (listOf(nameservers).length > 3) at.invalid('nameservers', nameservers, 'must not have more than 3 nameservers');
    at.into('nameservers', nameservers, each(textOfForm(address)));
    const paths = textsOf(searches);
    if (paths.length > 32) at.invalid('searches', paths, 'must not have more than 32 search paths');
    if (paths.join(' ').length > 2048) {
      at.invalid('searches', paths, 'must not have more than 2048 characters (including spaces) in the search list');
    }
    for (const [i, path] of paths.entries()) {
      const name = path.replace(/\.$/, '');
      if (path !== '.') at.into('searches', name, () => at.into(i, name, textOfForm(dnsSubdomainOrUnderscore)));
    }
    for (const [i, { name }] of recordsOf(options).entries()) {
      if (!name) at.required(`options[${i}]`, 'must not be empty');
    }
  });
};

const spreadConstraints: FieldCheck = (value, at) => {
  const list = recordsOf(value);
  for (const [i, constraint] of list.entries()) {
    const { topologyKey, whenUnsatisfiable, minDomains } = constraint;
    at.into(i, constraint, () => {
      fields({ maxSkew: positiveNumber })(constraint, at);
      if (!topologyKey) at.required('topologyKey', 'can not be empty');
      at.into('whenUnsatisfiable', whenUnsatisfiable, oneOf('DoNotSchedule', 'ScheduleAnyway'));
      const isRepeated = list
        .slice(i + 1)
        .some((other) => other.topologyKey === topologyKey && other.whenUnsatisfiable === whenUnsatisfiable);
      if (isRepeated) {
        const both = `{${wordOf(topologyKey)}, ${wordOf(whenUnsatisfiable)}}`;
        at.duplicate('{topologyKey, whenUnsatisfiable}', both);
      }
      at.into('minDomains', minDomains, ifGiven(positiveNumber));
      if (isPresent(minDomains) && whenUnsatisfiable !== 'DoNotSchedule') {
        const why = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${wordOf(whenUnsatisfiable)}`;
        at.invalid('minDomains', minDomains, why);
      }
      fields({ nodeAffinityPolicy: inclusion, nodeTaintsPolicy: inclusion })(constraint, at);
      comparedKeys(constraint, at);
      fields({ labelSelector: selectorRule })(constraint, at);
    });
  }
};

const inclusion: FieldCheck = ifGiven(oneOf('Honor', 'Ignore'));

const ownUsers: FieldCheck = (value, at) => {
  const spec = recordOf(value);
  if (spec.hostUsers !== false) return;
  const why = 'when `hostUsers` is false';
  if (spec.hostNetwork === true) at.forbidden('hostNetwork', why);
  if (spec.hostPID === true) at.forbidden('HostPID', why);
  if (spec.hostIPC === true) at.forbidden('HostIPC', why);
  for (const list of ['initContainers', 'containers', 'ephemeralContainers']) {
    for (const [i, { volumeDevices }] of recordsOf(spec[list]).entries()) {
      if (listOf(volumeDevices).length > 0) at.forbidden(`${list}[${i}].volumeDevices`, why);
    }
  }
};

const resourcesOfPod: FieldCheck = (value, at) => {
  const { resources, os, resourceClaims: claims } = recordOf(value);
  if (!isPresent(resources)) return;
  at.into('resources', resources, () => {
    if (recordOf(os).name === 'windows') {
      at.forbidden('', 'may not be set for a windows pod');
      return;
    }
    if (isPresent(recordOf(resources).claims)) {
      at.forbidden('claims', 'claims may not be set for Resources at pod-level');
    }
    requirements(podLevelResource, claimNamesOf(claims))(resources, at);
  });
};

const system: FieldCheck = (value, at) => {
  const { os } = recordOf(value);
  if (!isPresent(os)) return;
  const { name } = recordOf(os);
  if (!name) at.required('os.name');
  else if (name !== 'linux' && name !== 'windows') at.unsupported('os', name, ['linux', 'windows']);
  else fieldsOfSystem(value, at);
};

const preemptionPolicy: FieldCheck = ifGiven(requiredOneOf('PreemptLowerPriority', 'Never'));
const gates: FieldCheck = (value, at) => {
  const seen = new Set<unknown>();
  for (const [i, { name }] of recordsOf(value).entries()) {
    at.into(i, name, labelName);
    if (seen.has(name)) at.duplicate(`[${i}]`, name);
    seen.add(name);
  }
};

const named: FieldCheck = ifFilled(textOfForm(dnsSubdomain));
const oneLabel: FieldCheck = ifFilled(textOfForm(dnsLabel));

export function podSpec(isPod: boolean): FieldCheck {
  const portsOfNode = hostPortsOfNode(isPod);
  return (value, at) => {
    const spec = recordOf(value);
    let volumes = new Map<string, ReadValues>();
    at.into('volumes', spec.volumes, (list) => {
      volumes = checkVolumes(list, isPod ? at.object.metadata.name : undefined, at);
    });
    const pod: PodContext = {
      volumes,
      claims: claimNamesOf(spec.resourceClaims),
      restartPolicy: spec.restartPolicy,
      gracePeriodSeconds: numberOf(spec.terminationGracePeriodSeconds),
      hasHostUsers: spec.hostUsers !== false,
    };
    const regular = recordsOf(spec.containers);
    fields({
      resourceClaims,
      containers: containers(pod),
      initContainers: initContainers(pod, regular),
      ephemeralContainers: ephemeralContainers(pod, [...regular, ...recordsOf(spec.initContainers)]),
    })(spec, at);
    resourcesOfPod(spec, at);
    portsOfNode(spec, at);
    podSpecFields(spec, at);
    at.into('securityContext', spec.securityContext, podSecurity(spec));
    laterPodSpecFields(spec, at);
  };
}

const podSpecFields: FieldCheck = fields({
  restartPolicy: requiredOneOf('Always', 'OnFailure', 'Never'),
  dnsPolicy: requiredOneOf('ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'),
  nodeSelector: labels,
});

const laterPodSpecFields: FieldCheck = all(
  fields({ affinity }),
  dnsConfig,
  fields({
    readinessGates: each(fields({ conditionType: textOfForm(qualifiedName) })),
    schedulingGates: gates,
    topologySpreadConstraints: spreadConstraints,
  }),
  hostProcesses,
  ownUsers,
  fields({
    serviceAccountName: named,
    nodeName: named,
    activeDeadlineSeconds: ifGiven(between(1, int32Max)),
    hostname: oneLabel,
    subdomain: oneLabel,
    tolerations,
    hostAliases: each(fields({ ip: textOfForm(address), hostnames: each(textOfForm(dnsSubdomain)) })),
    priorityClassName: named,
    runtimeClassName: ifGiven(textOfForm(dnsSubdomain)),
    preemptionPolicy,
    overhead: ifGiven((limits, at) => requirements(containerResource, new Set())({ limits }, at)),
  }),
  system,
);

const seccompAnnotation = 'seccomp.security.alpha.kubernetes.io/pod';
const deletionCost = 'controller.kubernetes.io/pod-deletion-cost';

/** Annotations that have a meaning for a pod. */
function podAnnotations(spec: unknown): FieldCheck {
  return (value, at) => {
    const given = recordOf(value);
    const { nodeName } = recordOf(spec);
    if (isPresent(given[mirror]) && !nodeName) {
      at.invalid(`[${mirror}]`, given[mirror], 'must set spec.nodeName if mirror pod annotation is set');
    }
    const cost = given[deletionCost];
    if (isPresent(cost) && (!/^(0|-?[1-9]\d*)$/.test(wordOf(cost)) || Math.abs(Number(cost)) > int32Max)) {
      at.invalid(`[${deletionCost}]`, cost, 'must be a 32bit integer');
    }
    const seccomp = given[seccompAnnotation];
    if (isPresent(seccomp) && !/^(runtime\/default|docker\/default|unconfined|localhost\/)/.test(wordOf(seccomp))) {
      at.invalid(seccompAnnotation, seccomp, 'must be a valid seccomp profile');
    }
    const names = ['initContainers', 'containers', 'ephemeralContainers'].flatMap((list) =>
      recordsOf(recordOf(spec)[list]).map(({ name }) => name),
    );
    for (const [key, profile] of Object.entries(given)) {
      if (!key.startsWith(profileAnnotation)) continue;
      const container = key.slice(profileAnnotation.length);
      if (!names.includes(container)) at.invalid(`[${key}]`, container, 'container not found');
      if (!/^($|runtime\/default$|unconfined$|localhost\/)/.test(wordOf(profile))) {
        at.invalid(`[${key}]`, profile, `invalid AppArmor profile name: ${JSON.stringify(profile)}`);
      }
    }
  };
}

const templateSpec = podSpec(false);

/** As in Kubernetes, the paths of these causes have no part `metadata`. */
export const labelsOfTemplate: FieldCheck = (value, at) => {
  const { metadata, spec } = recordOf(value);
  const { labels: ownLabels, annotations: ownAnnotations } = recordOf(metadata);
  at.into('labels', ownLabels, labels);
  at.into('annotations', ownAnnotations, all(annotations, podAnnotations(spec)));
};

export const podTemplate: FieldCheck = (value, at) => {
  const { spec } = recordOf(value);
  labelsOfTemplate(value, at);
  at.into('spec', spec, templateSpec);
  if (listOf(recordOf(spec).ephemeralContainers).length > 0) {
    at.forbidden('spec.ephemeralContainers', 'ephemeral containers not allowed in pod template');
  }
};

const ownSpec = podSpec(true);
const paddedImages: FieldCheck = each((container, at) => {
  const { image } = recordOf(container);
  if (wordOf(image) !== wordOf(image).trim()) {
    at.invalid('image', image, 'must not have leading or trailing whitespace');
  }
});

export const pod: FieldCheck = (value, at) => {
  const { metadata, spec } = recordOf(value);
  at.into('metadata', metadata, fields({ annotations: podAnnotations(spec) }));
  at.into('spec', spec, all(ownSpec, fields({ containers: paddedImages, initContainers: paddedImages })));
  const { ephemeralContainers: debuggers, nodeName, schedulingGates } = recordOf(spec);
  if (at.old) {
    at.into('metadata', metadata, annotationUpdates(at.old, podAnnotations(spec)));
    podUpdate(recordOf(spec), recordOf(at.old.spec), at);
  } else {
    if (listOf(debuggers).length > 0) at.forbidden('spec.ephemeralContainers', 'cannot be set on create');
    if (nodeName && listOf(schedulingGates).length > 0) {
      at.forbidden('spec.nodeName', 'cannot be set until all schedulingGates have been cleared');
    }
  }
};

/** The values that a pod of a template has, for kinds that restart their pods. */
export function onlyRestarted(kind: string): FieldCheck {
  return (value, at) => {
    const restartPolicy = valueAtPath(value, 'spec.restartPolicy');
    if (restartPolicy !== 'Always') at.unsupported('spec.restartPolicy', wordOf(restartPolicy), ['Always']);
    if (isPresent(valueAtPath(value, 'spec.activeDeadlineSeconds'))) {
      at.forbidden('spec.activeDeadlineSeconds', `activeDeadlineSeconds in ${kind} is not Supported`);
    }
  };
}
