/** Kinds of a cluster as a whole: Namespaces, Nodes, classes, Leases, Events, APIServices. */
import { addressRange, familyOf, parseRange } from './addresses.ts';
import { dns1035Label, dnsLabel, dnsSubdomain, labelValue, qualifiedName } from './formats.ts';
import { containerResource, requirements, resourceAmount } from './resources.ts';
import { labelName, labels, taintEffect, tolerations } from './selectors.ts';
import { fixed, fixedWith, isSameValue } from './updates.ts';
import {
  all,
  atLeast,
  between,
  each,
  type FieldCheck,
  fields,
  filled,
  ifFilled,
  ifGiven,
  isPresent,
  numberOf,
  type ReadValues,
  recordOf,
  recordsOf,
  requiredOneOf,
  textOfForm,
  textsOf,
  type Visit,
  valueAtPath,
  wordOf,
} from './visit.ts';

const standardFinalizers = ['kubernetes', 'orphan', 'foregroundDeletion'];
export const unqualifiedFinalizer = 'name is neither a standard finalizer name nor is it fully qualified';

/** True for the name of a finalizer that Kubernetes does not know, and that names no owner. */
export function isUnqualifiedFinalizer(name: string): boolean {
  return !name.includes('/') && !standardFinalizers.includes(name);
}

export const namespaceKind: FieldCheck = (value, at) => {
  for (const name of textsOf(recordOf(recordOf(value).spec).finalizers)) {
    for (const mistake of qualifiedName(name)) at.invalid('spec.finalizers', name, mistake);
    if (isUnqualifiedFinalizer(name)) at.invalid('spec.finalizers', name, unqualifiedFinalizer);
  }
};

const taints: FieldCheck = (value, at) => {
  const seen = new Set<string>();
  for (const [i, taint] of recordsOf(value).entries()) {
    const { key, value: given, effect } = taint;
    at.into(i, taint, () => {
      at.into('key', key, labelName);
      const mistakes = labelValue(wordOf(given));
      if (mistakes.length > 0) at.invalid('value', given, mistakes.join(';'));
      if (effect) at.into('effect', effect, taintEffect);
      else at.required('effect');
    });
    const id = `${wordOf(effect)} ${wordOf(key)}`;
    if (seen.has(id)) at.duplicate(`[${i}]`, taint, 'taints must be unique by key and effect pair');
    seen.add(id);
  }
};

const podRanges: FieldCheck = (value, at) => {
  const ranges = textsOf(value);
  each(textOfForm(addressRange))(value, at);
  const parsed = ranges.map((range) => familyOf(parseRange(range)?.address));
  const wrong = ranges.findIndex((_, i) => parsed[i] === undefined);
  if (ranges.length > 1 && wrong >= 0) {
    const why = `invalid CIDR[${wrong}]: <nil> (invalid CIDR address: ${ranges[wrong]})`;
    at.internal('', `invalid PodCIDRs. failed to check with dual stack with error:${why}`);
  }
  const isDual = new Set(parsed.filter((family) => family !== undefined)).size === 2 && wrong < 0;
  if (ranges.length > 1 && (ranges.length > 2 || !isDual)) {
    at.invalid('', ranges, 'may specify no more than one CIDR for each IP family');
  }
};

/** A Node may have its first range in a field of its own. */
function podRangesOf({ podCIDR, podCIDRs }: ReadValues): readonly string[] {
  const given = textsOf(podCIDRs);
  return podCIDR && podCIDR !== given[0] ? [wordOf(podCIDR)] : given;
}

const nodeAmounts: FieldCheck = (value, at) => {
  for (const [name, amount] of Object.entries(recordOf(value))) at.into(name, amount, resourceAmount(name));
};

// As in Kubernetes, the path of the taints begins with the metadata.
const nodeTaints: FieldCheck = (value, at) => at.into('metadata', recordOf(value).spec, fields({ taints }));
const nodeStatus: FieldCheck = fields({ status: fields({ capacity: nodeAmounts, allocatable: nodeAmounts }) });
const ownPodRanges: FieldCheck = (value, at) => {
  at.into('spec', { podCIDRs: podRangesOf(recordOf(recordOf(value).spec)) }, fields({ podCIDRs: podRanges }));
};

const nodeAddresses: FieldCheck = (value, at) => {
  const seen = new Set<string>();
  for (const [i, given] of recordsOf(valueAtPath(value, 'status.addresses')).entries()) {
    const id = `${wordOf(given.type)} ${wordOf(given.address)}`;
    if (seen.has(id)) at.duplicate(`status.addresses[${i}]`, given);
    seen.add(id);
  }
};

const nodeUpdate: FieldCheck = (value, at) => {
  const now = recordOf(recordOf(value).spec);
  const before = recordOf(at.old?.spec);
  const [ranges, oldRanges] = [podRangesOf(now), podRangesOf(before)];
  const isOther = ranges.length !== oldRanges.length;
  for (const range of isOther ? oldRanges.slice(0, 1) : oldRanges.filter((one, i) => one !== ranges[i])) {
    if (range) at.forbidden('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid');
  }
  if (before.providerID && before.providerID !== now.providerID) {
    at.forbidden('spec.providerID', 'node updates may not change providerID except from "" to valid');
  }
  nodeTaints(value, at);
  if (wordOf(now.externalID) !== wordOf(before.externalID)) at.forbidden('spec.externalID', 'may not be updated');
};

const newNode = all(nodeTaints, nodeStatus, ownPodRanges);
const changedNode = all(nodeStatus, nodeAddresses, nodeUpdate);

export const nodeKind: FieldCheck = (value, at) => {
  if (at.subresource === undefined) newNode(value, at);
  if (at.old) changedNode(value, at);
};

const systemPriorities: ReadonlyMap<string, number> = new Map([
  ['system-node-critical', 2_000_001_000],
  ['system-cluster-critical', 2_000_000_000],
]);
const priorityMax = 1_000_000_000;

export const priorityClass: FieldCheck = (value, at) => {
  const { name = '' } = at.object.metadata;
  const { value: priority, globalDefault, preemptionPolicy } = recordOf(value);
  if (at.old) {
    if (priority !== at.old.value) at.forbidden('value', 'may not be changed in an update.');
    fixedWith('preemptionPolicy', preemptionPolicy, at.old.preemptionPolicy, at);
    return;
  }
  if (name.startsWith('system-')) {
    const known = systemPriorities.get(name);
    const error =
      known === undefined
        ? `${name} is not a known system priority class`
        : known !== numberOf(priority)
          ? `value of ${name} PriorityClass must be ${known}`
          : globalDefault === true
            ? `globalDefault of ${name} PriorityClass must be false`
            : undefined;
    const reserved = "priority class names with 'system-' prefix are reserved for system use only";
    if (error !== undefined) at.forbidden('metadata.name', `${reserved}. error: ${error}`);
  } else if (numberOf(priority) > priorityMax) {
    at.forbidden('value', `maximum allowed value of a user defined priority is ${priorityMax}`);
  }
  at.into('preemptionPolicy', preemptionPolicy, ifGiven(requiredOneOf('PreemptLowerPriority', 'Never')));
};

export const runtimeClass: FieldCheck = (value, at) => {
  const { handler, overhead, scheduling } = recordOf(value);
  at.into('handler', handler, textOfForm(dnsLabel));
  if (isPresent(overhead)) {
    at.into('overhead', { limits: recordOf(overhead).podFixed }, requirements(containerResource, new Set()));
  }
  at.into('scheduling', scheduling, ifGiven(fields({ nodeSelector: labels, tolerations: runtimeTolerations })));
  fixed('handler')(value, at);
};

const runtimeTolerations: FieldCheck = (value, at) => {
  at.into('tolerations', value, tolerations);
  const seen = new Set<string>();
  for (const [i, toleration] of recordsOf(value).entries()) {
    const key = JSON.stringify(['key', 'operator', 'value', 'effect'].map((name) => wordOf(toleration[name])));
    if (seen.has(key)) at.duplicate(`[${i}]`, toleration);
    seen.add(key);
  }
};

export const lease: FieldCheck = fields({
  spec: fields({
    leaseDurationSeconds: ifGiven(atLeast(1, 'must be greater than 0')),
    leaseTransitions: ifGiven(atLeast(0, 'must be greater than or equal to 0')),
  }),
});

/** [field, whether it is required, maximal characters] of an Event with a time of its own. */
const eventTexts: readonly (readonly [string, boolean, number])[] = [
  ['reportingInstance', true, 128],
  ['action', true, 128],
  ['reason', true, 128],
  ['message', false, 1024],
];
/** Kubernetes checks the reason twice. */
const fixedEventFields = [
  'involvedObject',
  'reason',
  'message',
  'source',
  'firstTimestamp',
  'lastTimestamp',
  'count',
  'reason',
  'type',
  'eventTime',
  'action',
  'related',
  'reportingComponent',
  'reportingInstance',
];

/** Events of both API groups have the form of `v1` here. `component` is the name of a field in the group of the request. */
function anyEvent(component: string): FieldCheck {
  return (value, at) => {
    const own = recordOf(value);
    const { namespace: where = '' } = at.object.metadata;
    const of = wordOf(recordOf(own.involvedObject).namespace);
    const isTimed = isPresent(own.eventTime);
    const isHere = isTimed
      ? of !== '' || where === 'default' || where === 'kube-system'
      : of === where || (of === '' && where === 'default');
    if (!isHere) at.invalid('involvedObject.namespace', of, 'does not match event.namespace');
    if (!isTimed) return;
    if (!own.reportingComponent) at.required(component);
    at.into(component, own.reportingComponent, textOfForm(qualifiedName));
    for (const [field, isRequired, max] of eventTexts) {
      const given = wordOf(own[field]);
      if (given === '' && isRequired) at.required(field);
      if (given.length > max) at.invalid(field, '', `can have at most ${max} characters`);
    }
  };
}

export const coreEvent: FieldCheck = anyEvent('reportingComponent');

const ownedFinalizers: FieldCheck = (_value, at) => {
  for (const [i, name] of (at.object.metadata.finalizers ?? []).entries()) {
    if (isUnqualifiedFinalizer(name)) at.invalid(`metadata.finalizers[${i}]`, name, unqualifiedFinalizer);
  }
};

export const newerEvent: FieldCheck = all(anyEvent('reportingController'), ownedFinalizers, (value, at) => {
  if (!at.old) createdEvent(value, at);
  else {
    const { series } = recordOf(value);
    if (!isSameValue(series, at.old.series, at.fieldAt('series'))) eventSeries(series, at);
    for (const field of fixedEventFields) {
      const now = recordOf(value)[field];
      const before = at.old[field];
      const shownAs = field === 'reportingComponent' ? 'reportingController' : field;
      const isSame = /time/i.test(field) && isSameTime(now, before);
      if ((now || before) && !isSame) fixedWith(shownAs, now, before, at);
    }
  }
});

/** A time may have several texts. */
function isSameTime(now: unknown, before: unknown): boolean {
  return typeof now === 'string' && typeof before === 'string' && Date.parse(now) === Date.parse(before);
}

function eventSeries(series: unknown, at: Visit): void {
  if (!isPresent(series)) return;
  const { count, lastObservedTime } = recordOf(series);
  if (numberOf(count) < 2) at.invalid('series.count', '', 'should be at least 2');
  if (!isPresent(lastObservedTime)) at.required('series.lastObservedTime');
}

const createdEvent: FieldCheck = (value, at) => {
  const { series, eventTime, type, ...own } = recordOf(value);
  eventSeries(series, at);
  if (!isPresent(eventTime)) at.required('eventTime');
  if (type !== 'Normal' && type !== 'Warning') at.invalid('type', '', `has invalid value: ${wordOf(type)}`);
  for (const field of ['firstTimestamp', 'lastTimestamp', 'count']) {
    if (isPresent(own[field]) && own[field] !== 0) at.invalid(field, '', 'needs to be unset');
  }
  const { component, host } = recordOf(own.source);
  if (component || host) at.invalid('source', '', 'needs to be unset');
};

export const apiService: FieldCheck = (value, at) => {
  const { group, version, service, caBundle, insecureSkipTLSVerify: isInsecure } = recordOf(recordOf(value).spec);
  const wanted = `${wordOf(version)}.${wordOf(group)}`;
  const { name = '' } = at.object.metadata;
  if (name !== wanted) at.invalid('metadata.name', name, `must be \`spec.version+"."+spec.group\`: "${wanted}"`);
  if (!group && version !== 'v1') {
    at.required('spec.group', 'only v1 may have an empty group and it better be legacy kube');
  }
  fields({
    spec: fields({
      group: ifFilled(textOfForm(dnsSubdomain)),
      version: textOfForm(dns1035Label),
      groupPriorityMinimum: between(1, 20_000, 'must be positive and less than 20000'),
      versionPriority: between(1, 1000, 'must be positive and less than 1000'),
    }),
  })(value, at);
  if (!isPresent(service)) {
    const bytes = Buffer.from(wordOf(caBundle), 'base64').length;
    if (bytes > 0) at.invalid('spec.caBundle', `${bytes} bytes`, 'local APIServices may not have a caBundle');
    if (isInsecure === true) {
      at.invalid('spec.insecureSkipTLSVerify', true, 'local APIServices may not have insecureSkipTLSVerify');
    }
    return;
  }
  at.into('spec.service', service, all(fields({ namespace: filled, name: filled }), servicePort));
  if (isInsecure === true && caBundle) {
    at.invalid('spec.insecureSkipTLSVerify', true, 'may not be true if caBundle is present');
  }
};

export const servicePort: FieldCheck = (value, at) => {
  const { port } = recordOf(value);
  if (numberOf(port) >= 1 && numberOf(port) <= 65_535) return;
  at.invalid('port', numberOf(port), 'port is not valid: must be between 1 and 65535, inclusive');
};
