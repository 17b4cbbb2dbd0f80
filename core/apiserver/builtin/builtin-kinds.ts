/** The built-in kinds of every space. */
import { ownField } from '../../object/json-value.ts';
import { formatApiVersion, type KubeObject, parseApiVersion } from '../../object/meta.ts';
import type { Cause } from '../../runtime/errors.ts';
import type { FieldType, KindRules } from '../schema.ts';
import { selectedText } from '../selection/selection.ts';
import type { Kind, PartName } from '../space.ts';
import { autoscalerInForm } from './autoscaler-forms.ts';
import { eventInForm, eventSelectable, eventSource } from './event-forms.ts';
import { checkFirstRules, checkRules } from './rules.ts';
import { checkTypes } from './type-check.ts';
import { type BuiltinType, builtinType, type TableKind, tableKinds } from './types-table.ts';
import { withDefaults } from './validation/defaults.ts';
import { firstRules } from './validation/kind-rules.ts';
import { objectWarnings } from './warnings/kind-warnings.ts';

/** These paths are the same for every built-in kind with a scale subresource. */
const scalePaths = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.status.selector',
};

const selectable: Readonly<Record<string, readonly string[]>> = {
  Pod: [
    '.spec.hostNetwork',
    '.spec.nodeName',
    '.spec.restartPolicy',
    '.spec.schedulerName',
    '.spec.serviceAccountName',
    '.status.nominatedNodeName',
    '.status.phase',
    '.status.podIP',
  ],
  Secret: ['.type'],
  Namespace: ['.status.phase'],
  Node: ['.spec.unschedulable'],
  Job: ['.status.successful'],
  Service: ['.spec.clusterIP', '.spec.type'],
  ReplicationController: ['.status.replicas'],
  CertificateSigningRequest: ['.spec.signerName'],
};

const parts: Readonly<Record<string, readonly PartName[]>> = {
  CertificateSigningRequest: ['approval'],
  Pod: ['ephemeralcontainers', 'resize'],
};

/** The built-in kinds with `metadata.generation`: those whose strategy sets the field (k8s.io/kubernetes v1.34, pkg/registry). */
const withGeneration: ReadonlySet<string> = new Set([
  '/pods',
  '/podtemplates',
  '/replicationcontrollers',
  'admissionregistration.k8s.io/mutatingwebhookconfigurations',
  'admissionregistration.k8s.io/validatingadmissionpolicies',
  'admissionregistration.k8s.io/validatingadmissionpolicybindings',
  'admissionregistration.k8s.io/validatingwebhookconfigurations',
  'apiextensions.k8s.io/customresourcedefinitions',
  'apps/daemonsets',
  'apps/deployments',
  'apps/replicasets',
  'apps/statefulsets',
  'batch/cronjobs',
  'batch/jobs',
  'discovery.k8s.io/endpointslices',
  'flowcontrol.apiserver.k8s.io/flowschemas',
  'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations',
  'networking.k8s.io/ingressclasses',
  'networking.k8s.io/ingresses',
  'networking.k8s.io/networkpolicies',
  'policy/poddisruptionbudgets',
  'scheduling.k8s.io/priorityclasses',
]);

/** As the strategies of the same source: a Deployment's controller looks at its annotations, and the readers of an EndpointSlice at its labels. */
const countedMetadata: Readonly<Record<string, 'annotations' | 'labels'>> = {
  'apps/deployments': 'annotations',
  'discovery.k8s.io/endpointslices': 'labels',
};

let kinds: readonly Kind[] | undefined;

/** The built-in kinds. Every call returns the same objects. */
export function builtinKinds(): readonly Kind[] {
  kinds ??= withOneStorage([...resources().values()].map(builtinKind));
  return kinds;
}

/** The entries of the table by resource. A resource with several entries has several versions, the preferred one first. */
function resources(): Map<string, [TableKind, ...TableKind[]]> {
  const found = new Map<string, [TableKind, ...TableKind[]]>();
  for (const entry of tableKinds) {
    if (entry.r === undefined) continue;
    const id = `${entry.g}/${entry.r}`;
    const others = found.get(id);
    if (others) others.push(entry);
    else found.set(id, [entry]);
  }
  return found;
}

/** Events of both API groups are the same objects. */
function withOneStorage(all: readonly Kind[]): readonly Kind[] {
  const core = all.find((kind) => kind.group === '' && kind.kind === 'Event')!;
  return all.map((kind) => (kind !== core && kind.kind === 'Event' ? { ...kind, storedAs: core } : kind));
}

function builtinKind(entries: readonly [TableKind, ...TableKind[]]): Kind {
  const [entry] = entries;
  const ownParts = ownField(parts, entry.k);
  const counted = ownField(countedMetadata, `${entry.g}/${entry.r}`);
  return {
    group: entry.g,
    resource: entry.r!,
    kind: entry.k,
    listKind: `${entry.k}List`,
    singular: entry.k.toLowerCase(),
    shortNames: entry.s ?? [],
    categories: entry.c ?? [],
    namespaced: entry.n ?? false,
    versions: entries.map(({ v }) => v),
    storageVersion: entry.v,
    storesAsWritten: false,
    hasSeveralVersions: entries.length > 1,
    subresources: {
      status: entry.st ?? false,
      ...(entry.sc ? { scale: scalePaths } : {}),
      ...(ownParts ? { parts: ownParts } : {}),
    },
    custom: false,
    hidesGeneration: !withGeneration.has(`${entry.g}/${entry.r}`),
    ...(counted ? { countedMetadata: counted } : {}),
    schema: (version) => typeOf(entries, version),
    columns: () => [],
    selectableFields: () =>
      (entry.k === 'Event' ? ownField(eventSelectable, entry.g) : ownField(selectable, entry.k)) ?? [],
    selectableText: (object, label, version) => {
      if (entry.k === 'Event' && label === 'source') return eventSource(object);
      const path = label === 'status.successful' ? 'status.succeeded' : label;
      return selectedText(object, path, absentText(typeOf(entries, version), path));
    },
    rules: rulesOf(entries),
  };
}

/** The text of an absent field: the zero value of its Go type. */
function absentText(type: FieldType, path: string): string {
  const [name, ...rest] = path.split('.');
  const inner = type.type === 'object' ? type.field(name!)?.type : undefined;
  if (inner && rest.length > 0) return absentText(inner, rest.join('.'));
  if (inner?.type === 'boolean') return 'false';
  return inner?.type === 'integer' ? '0' : '';
}

function typeOf(entries: readonly [TableKind, ...TableKind[]], version: string): BuiltinType {
  return builtinType((entries.find(({ v }) => v === version) ?? entries[0]).t);
}

function rulesOf(entries: readonly [TableKind, ...TableKind[]]): KindRules {
  const [entry] = entries;
  const convert = (object: KubeObject, toVersion: string): KubeObject => {
    const apiVersion = formatApiVersion(entry.g, toVersion);
    if (entry.k === 'Event') return eventInForm(object, apiVersion);
    if (entry.k === 'HorizontalPodAutoscaler') return autoscalerInForm(object, apiVersion);
    return object.apiVersion === apiVersion ? object : { ...object, apiVersion };
  };
  return {
    prepare: (object, version, old) => checkTypes(object, typeOf(entries, version), { kind: entry.k, version }, old),
    withDefaults: (object, version) => {
      const stored = convert(object, entry.v);
      const filled = withDefaults(stored, typeOf(entries, entry.v), 'store');
      return filled === stored ? object : convert(filled, version);
    },
    validate: (object, _version, old, context): Cause[] => {
      const name = entry.k === 'Event' && entry.g !== '' ? `${entry.k}.${entry.g}` : entry.k;
      const inForm = (one: KubeObject) => (entry.k === 'Event' ? eventInForm(one, 'v1') : convert(one, entry.v));
      const type = entry.k === 'Event' ? builtinType('io.k8s.api.core.v1.Event') : typeOf(entries, entry.v);
      return checkRules(name, type, inForm(object), old && inForm(old), context);
    },
    ...(entry.k in firstRules
      ? { validateFirst: (object, old) => checkFirstRules(entry.k, typeOf(entries, entry.v), object, old) }
      : {}),
    warnings: (object, write) => {
      const { version } = parseApiVersion(object.apiVersion);
      return objectWarnings(entry.k, withDefaults(object, typeOf(entries, version), 'rules'), write);
    },
    convert,
  };
}
