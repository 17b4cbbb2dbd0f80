/** PersistentVolumeClaims, PersistentVolumes and the other kinds of storage. */
import { equalJson } from '../../../object/json-value.ts';
import { dnsLabel, dnsSubdomain, qualifiedName } from './formats.ts';
import { withNewerLabels } from './renamed-labels.ts';
import { amountText, nanosOf, quantityNotNegative, quantityPositive } from './resources.ts';
import { labelName, nodeSelector, selectorRule } from './selectors.ts';
import { fixed, fixedWith, isSameValue } from './updates.ts';
import {
  all,
  each,
  type FieldCheck,
  fields,
  filled,
  ifFilled,
  ifGiven,
  isPresent,
  listOf,
  needed,
  notNegative,
  oneOf,
  type ReadValues,
  recordOf,
  recordsOf,
  requiredThen,
  textOfForm,
  textsOf,
  type Visit,
  wordOf,
} from './visit.ts';
import { driverName, oneSource, persistentVolumeSources, tokenSeconds, type VolumeSource } from './volumes.ts';

const modes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
const onePod = 'ReadWriteOncePod';
const volumeMode: FieldCheck = ifGiven(oneOf('Block', 'Filesystem'));
const className: FieldCheck = ifFilled(textOfForm(dnsSubdomain));

/** As in Kubernetes, the paths of these causes have no index. */
const accessModes: FieldCheck = (value, at) => {
  const given = textsOf(value);
  for (const mode of given) if (!modes.includes(mode)) at.unsupported('', mode, modes);
  if (given.includes(onePod) && given.some((mode) => mode !== onePod && modes.includes(mode))) {
    at.forbidden('', 'may not use ReadWriteOncePod with other access modes');
  }
};

const dataSource: FieldCheck = (value, at) => {
  const { kind, apiGroup } = recordOf(value);
  fields({ name: filled, kind: filled })(value, at);
  if (!apiGroup && kind !== 'PersistentVolumeClaim') {
    const why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
    at.invalid('', wordOf(kind), why);
  }
  at.into('apiGroup', apiGroup, ifFilled(textOfForm(dnsSubdomain)));
};

const sameSources: FieldCheck = (value, at) => {
  const { dataSource: a, dataSourceRef: b } = recordOf(value);
  if (!isPresent(a) || !isPresent(b)) return;
  const { apiGroup, kind, name, namespace } = recordOf(b);
  if (namespace) {
    at.invalid('', {}, 'may not be specified when dataSourceRef.namespace is specified');
    return;
  }
  const source = recordOf(a);
  if (source.apiGroup !== apiGroup || source.kind !== kind || source.name !== name) {
    at.invalid('', {}, 'must match dataSourceRef');
  }
};

export const claimSpec: FieldCheck = all(
  fields({
    accessModes: needed('at least 1 access mode is required'),
    selector: selectorRule,
  }),
  fields({ accessModes }),
  (value, at) => {
    const { requests } = recordOf(recordOf(value).resources);
    const { storage } = recordOf(requests);
    at.into('resources', storage, () =>
      at.into('[storage]', storage, (amount) => (isPresent(amount) ? quantityPositive(amount, at) : at.required())),
    );
  },
  fields({
    storageClassName: className,
    volumeMode,
    dataSource: ifGiven(dataSource),
    dataSourceRef: ifGiven(all(dataSource, fields({ namespace: ifFilled(textOfForm(dnsLabel)) }))),
  }),
  sameSources,
  fields({ volumeAttributesClassName: className }),
);

const immutableClaim =
  'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';

export const claim: FieldCheck = all(fields({ spec: claimSpec }), (value, at) => {
  if (!at.old) return;
  const { spec, status } = recordOf(value);
  const isBound = recordOf(status).phase === 'Bound';
  const now = recordOf(spec);
  const before = recordOf(at.old.spec);
  const compared = (of: ReadValues): ReadValues => ({
    ...of,
    ...(isBound ? { resources: withoutStorage(of.resources), volumeAttributesClassName: undefined } : {}),
    ...(before.volumeName ? {} : { volumeName: undefined }),
    ...(isPresent(before.storageClassName) ? {} : { storageClassName: undefined }),
  });
  if (!isSameValue(compared(now), compared(before), at.fieldAt('spec'))) at.forbidden('spec', immutableClaim);
  const capacity = nanosOf(recordOf(recordOf(status).capacity).storage);
  const size = storageOf(now);
  if (size < storageOf(before) && size <= capacity) {
    at.forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity');
  }
  fixedWith('volumeMode', now.volumeMode, before.volumeMode, at);
});

function withoutStorage(resources: unknown): ReadValues {
  const { requests, ...rest } = recordOf(resources);
  return isPresent(requests) ? { ...rest, requests: { ...recordOf(requests), storage: 'any' } } : rest;
}

function storageOf(spec: ReadValues): bigint {
  return nanosOf(recordOf(recordOf(spec.resources).requests).storage);
}

const volumeSize: FieldCheck = (value, at) => {
  if (nanosOf(value) < 0n) at.invalid('', Number(amountText(value)), 'must be a valid resource quantity');
  quantityPositive(value, at);
};

const capacity: FieldCheck = (value, at) => {
  const amounts = recordOf(value);
  const names = Object.keys(amounts);
  if (names.length === 0) at.required();
  if (!names.includes('storage') || names.length > 1) at.unsupported('', amounts, ['storage']);
  for (const [name, amount] of Object.entries(amounts)) at.into(`[${name}]`, amount, volumeSize);
};

const volumeSource = oneSource(persistentVolumeSources, {
  anyway: 'flexVolume',
  beside(source, { nodeAffinity }, at) {
    if (source === 'local' && !isPresent(nodeAffinity)) {
      at.required('nodeAffinity', 'Local volume requires node affinity');
    }
  },
});

function sourceConditions(value: unknown, at: Visit): void {
  const { hostPath, persistentVolumeReclaimPolicy: policy } = recordOf(value);
  if (policy === 'Recycle' && /^\/+$/.test(wordOf(recordOf(hostPath).path))) {
    at.forbidden('persistentVolumeReclaimPolicy', "may not be 'recycle' for a hostPath mount of '/'");
  }
}

const nameOfAttributes = fields({
  volumeAttributesClassName: ifGiven(requiredThen(textOfForm(dnsSubdomain), 'an empty string is disallowed')),
});

function attributesClass(value: unknown, at: Visit): void {
  const { volumeAttributesClassName, csi } = recordOf(value);
  nameOfAttributes(value, at);
  if (isPresent(volumeAttributesClassName) && !isPresent(csi)) {
    at.required('csi', 'has to be specified when using volumeAttributesClassName');
  }
}

export const persistentVolumeSpec: FieldCheck = all(
  fields({
    accessModes: [filled, accessModes],
    capacity,
    persistentVolumeReclaimPolicy: ifFilled(oneOf('Delete', 'Recycle', 'Retain')),
    nodeAffinity: ifGiven(
      fields({
        required: (value, at) =>
          isPresent(value) ? nodeSelector(value, at) : at.required('', 'must specify required node constraints'),
      }),
    ),
  }),
  volumeSource,
  sourceConditions,
  fields({ storageClassName: className, volumeMode }),
  attributesClass,
);

export const persistentVolume: FieldCheck = all(fields({ spec: persistentVolumeSpec }), (value, at) => {
  if (!at.old) return;
  const now = recordOf(recordOf(value).spec);
  const before = recordOf(at.old.spec);
  const mayAddSecret = isPresent(before.csi) && !isPresent(recordOf(before.csi).controllerExpandSecretRef);
  const sources = (spec: ReadValues): ReadValues =>
    mayAddSecret && isPresent(spec.csi)
      ? { ...spec, csi: { ...recordOf(spec.csi), controllerExpandSecretRef: undefined } }
      : spec;
  const isSameSource = ([field]: VolumeSource) =>
    isSameValue(sources(now)[field], sources(before)[field], at.fieldAt(`spec.${field}`));
  if (!persistentVolumeSources.every(isSameSource)) {
    at.forbidden('spec.persistentvolumesource', 'spec.persistentvolumesource is immutable after creation');
  }
  fixedWith('volumeMode', now.volumeMode, before.volumeMode, at);
  if (!isPresent(before.nodeAffinity)) return;
  const affinityBefore = withNewerLabels(before.nodeAffinity, now.nodeAffinity);
  if (!isSameValue(now.nodeAffinity, affinityBefore, at.fieldAt('spec.nodeAffinity'))) {
    const why = 'field is immutable, except for updating from beta label to GA';
    at.invalid('nodeAffinity', now.nodeAffinity ?? null, why);
  }
});

const parameterBytesMax = 256 * 1024;
const parametersMax = 512;

function parameters(mayBeEmpty: boolean): FieldCheck {
  return (value, at) => {
    const entries = Object.entries(recordOf(value));
    if (entries.length > parametersMax) at.tooLong('', parametersMax);
    for (const [key] of entries) if (key === '') at.invalid('', key, 'field can not be empty.');
    const bytes = entries.reduce(
      (sum, [key, item]) => sum + Buffer.byteLength(key) + Buffer.byteLength(wordOf(item)),
      0,
    );
    if (bytes > parameterBytesMax) at.tooLong('', parameterBytesMax);
    if (!mayBeEmpty && entries.length === 0) at.required('', 'must contain at least one key/value pair');
  };
}

const provisioner: FieldCheck = requiredThen(textOfForm((name) => qualifiedName(name.toLowerCase())));

/** The keys of a term, each with its values. Kubernetes compares a term with those before it, and with an empty one for each term of the list. */
function comparedTerm(term: unknown): ReadValues {
  const requirements = recordsOf(recordOf(term).matchLabelExpressions);
  return Object.fromEntries(requirements.map(({ key, values }) => [wordOf(key), [...new Set(textsOf(values))].sort()]));
}

const topologies: FieldCheck = (value, at) => {
  const terms = listOf(value);
  const others: ReadValues[] = terms.map(() => ({}));
  each((term) => {
    topology(term, at);
    const own = comparedTerm(term);
    for (const other of others) if (isSameTerm(own, other)) at.duplicate('matchLabelExpressions', '');
    others.push(own);
  })(value, at);
};

function isSameTerm(a: ReadValues, b: ReadValues): boolean {
  return Object.keys(a).length === Object.keys(b).length && equalJson(a, b);
}

const topology: FieldCheck = (term, at) => {
  const keys = new Set<string>();
  for (const [i, { key: given, values }] of recordsOf(recordOf(term).matchLabelExpressions).entries()) {
    const key = wordOf(given);
    const field = `matchLabelExpressions[${i}]`;
    const seen = new Set<unknown>();
    if (listOf(values).length === 0) at.required(`${field}.values`);
    for (const [j, one] of listOf(values).entries()) {
      if (seen.has(one)) at.duplicate(`${field}.values[${j}]`, one);
      seen.add(one);
    }
    at.into(`matchLabelExpressions[${i}]`, key, () => at.into('key', key, labelName));
    if (keys.has(key)) at.duplicate(`${field}.key`, key);
    keys.add(key);
  }
};

export const storageClass: FieldCheck = all(
  fields({
    provisioner,
    parameters: parameters(true),
    reclaimPolicy: ifFilled(oneOf('Delete', 'Retain')),
    volumeBindingMode: (value, at) =>
      isPresent(value) ? oneOf('Immediate', 'WaitForFirstConsumer')(value, at) : at.required(),
    allowedTopologies: topologies,
  }),
  fixed('parameters', (at) => at.forbidden('parameters', 'updates to parameters are forbidden.')),
  fixed('provisioner', (at) => at.forbidden('provisioner', 'updates to provisioner are forbidden.')),
  fixed('reclaimPolicy', (at) => at.forbidden('reclaimPolicy', 'updates to reclaimPolicy are forbidden.')),
  fixed('volumeBindingMode'),
);

export const volumeAttributesClass: FieldCheck = all(
  fixed('driverName', (at) => at.forbidden('driverName', 'updates to driverName are forbidden.')),
  fixed('parameters', (at) => at.forbidden('parameters', 'updates to parameters are forbidden.')),
  fields({ driverName: provisioner, parameters: parameters(false) }),
);

const inlineOnly: FieldCheck = (value, at) => {
  const spec = recordOf(value);
  const context = 'may not be specified in the context of inline volumes';
  if (isPresent(spec.claimRef)) at.forbidden('claimRef', context);
  if (Object.keys(recordOf(spec.capacity)).length > 0) at.forbidden('capacity', context);
  if (!isPresent(spec.csi)) at.required('csi', 'has to be specified in the context of inline volumes');
  fields({ accessModes: [filled, accessModes] })(spec, at);
  const { persistentVolumeReclaimPolicy: policy, volumeMode: mode } = spec;
  if (policy && policy !== 'Retain') {
    at.forbidden('persistentVolumeReclaimPolicy', 'may only be Retain in the context of inline volumes');
  }
  if (isPresent(spec.nodeAffinity)) at.forbidden('nodeAffinity', context);
  volumeSource(spec, at);
  sourceConditions(spec, at);
  if (spec.storageClassName) at.forbidden('storageClassName', context);
  if (isPresent(mode) && mode !== 'Filesystem') {
    at.forbidden('volumeMode', 'may not specify volumeMode other than Filesystem in the context of inline volumes');
  }
};

const attachedSource: FieldCheck = (value, at) => {
  const { inlineVolumeSpec, persistentVolumeName: name } = recordOf(value);
  const one = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';
  if (isPresent(inlineVolumeSpec) && isPresent(name)) at.forbidden('', one);
  else if (isPresent(name)) {
    if (name === '') at.required('persistentVolumeName', 'must specify non empty persistentVolumeName');
  } else if (isPresent(inlineVolumeSpec)) at.into('inlineVolumeSpec', inlineVolumeSpec, inlineOnly);
  else at.required('', one);
};

export const volumeAttachment: FieldCheck = all(
  fields({ spec: fields({ attacher: filled, source: attachedSource, nodeName: textOfForm(dnsSubdomain) }) }),
  (value, at) => {
    const { attacher, source } = recordOf(recordOf(value).spec);
    // These paths are texts with dots in Kubernetes, too.
    if (at.isNew) {
      at.into('spec.attacher', attacher, driverName);
      at.into(
        'spec.source.persistentVolumeName',
        recordOf(source).persistentVolumeName,
        ifGiven(textOfForm(dnsSubdomain)),
      );
    }
  },
  fixed('spec'),
);

const nodeIdMax = 256;

export const csiNode: FieldCheck = (value, at) => {
  const names = new Set<unknown>();
  at.into('spec', recordOf(value).spec, (spec) =>
    at.into(
      'drivers',
      recordOf(spec).drivers,
      each((item) => {
        const { name, nodeID, topologyKeys, allocatable } = recordOf(item);
        at.into('name', name, driverName);
        if (!nodeID) at.required('nodeID');
        if (wordOf(nodeID).length > nodeIdMax) at.invalid('nodeID', nodeID, `must be ${nodeIdMax} characters or less`);
        at.into('allocatable', allocatable, ifGiven(fields({ count: ifGiven(notNegative) })));
        if (names.has(wordOf(name))) at.duplicate('name', wordOf(name));
        names.add(wordOf(name));
        const keys = new Set<string>();
        for (const key of textsOf(topologyKeys)) {
          if (key === '') at.required();
          if (keys.has(key)) at.duplicate('', key);
          keys.add(key);
          labelName(key, at);
        }
      }),
    ),
  );
  driversKept(value, at);
};

function driversKept(value: unknown, at: Visit): void {
  if (!at.old) return;
  const driversOf = (object: unknown) => recordsOf(recordOf(recordOf(object).spec).drivers);
  for (const before of driversOf(at.old)) {
    for (const now of driversOf(value).filter(({ name }) => name === before.name))
      fixedWith('spec.drivers', now, before, at, at.fieldAt('spec.drivers.*'));
  }
}

const tokenRequests: FieldCheck = (value, at) => {
  const audiences = new Set<string>();
  for (const [i, { audience, expirationSeconds }] of recordsOf(value).entries()) {
    if (audiences.has(wordOf(audience))) {
      at.duplicate(`[${i}].audience`, wordOf(audience));
      continue;
    }
    audiences.add(wordOf(audience));
    at.into(i, expirationSeconds, (seconds) => at.into('expirationSeconds', seconds, ifGiven(tokenSeconds)));
  }
};

export const csiDriver: FieldCheck = all(
  fields({
    spec: fields({
      fsGroupPolicy: ifGiven(oneOf('File', 'None', 'ReadWriteOnceWithFSType')),
      tokenRequests,
      volumeLifecycleModes: (value, at) => {
        for (const mode of textsOf(value)) oneOf('Persistent', 'Ephemeral')(mode, at);
      },
    }),
  }),
  (value, at) => {
    if (!at.old) return;
    const now = recordOf(recordOf(value).spec);
    const before = recordOf(at.old.spec);
    fixedWith('spec.attachedRequired', now.attachRequired, before.attachRequired, at);
    fixedWith('spec.volumeLifecycleModes', now.volumeLifecycleModes, before.volumeLifecycleModes, at);
  },
);

export const csiStorageCapacity: FieldCheck = all(
  fields({
    nodeTopology: selectorRule,
    storageClassName: textOfForm(dnsSubdomain),
    capacity: ifGiven(quantityNotNegative),
  }),
  fixed('nodeTopology'),
  fixed('storageClassName'),
);
