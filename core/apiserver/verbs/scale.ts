/** The scale subresource. An autoscaling/v1 Scale shows three fields of an object. */

import { invalidField } from '../../object/field-error.ts';
import { cloneJson, ownField, setField } from '../../object/json-value.ts';
import { formatGroupResource } from '../../object/key.ts';
import { type KubeObject, type ObjectMeta, parseApiVersion } from '../../object/meta.ts';
import type { LabelRequirement, LabelSelector } from '../../object/selector.ts';
import { isRecord } from '../../runtime/is-record.ts';
import { checkTypes } from '../builtin/type-check.ts';
import { builtinType } from '../builtin/types-table.ts';
import type { Kind, ScalePaths } from '../space.ts';
import { badRequest, invalidObject, methodNotAllowed } from '../status-errors.ts';

export interface Scale extends KubeObject {
  spec: { replicas?: number };
  status: { replicas: number; selector?: string };
}

function scalePathsOf(kind: Kind, { apiVersion }: KubeObject): ScalePaths {
  const paths = kind.scalePaths ? kind.scalePaths(parseApiVersion(apiVersion).version) : kind.subresources.scale;
  if (!paths) throw methodNotAllowed(kind, 'the scale subresource');
  return paths;
}

export function scaleOf(kind: Kind, object: KubeObject): Scale {
  const paths = scalePathsOf(kind, object);
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const metadata: ObjectMeta = cloneJson({ name, namespace, uid, resourceVersion, creationTimestamp }) as ObjectMeta;
  // The default of every built-in kind with a scale. An object from above has travelled without defaults.
  const replicas = fieldAt(object, paths.specReplicasPath) ?? (kind.custom ? undefined : 1);
  const observed = fieldAt(object, paths.statusReplicasPath);
  const selector = selectorText(selectorOf(kind, object, paths));
  return {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata,
    spec: typeof replicas === 'number' ? { replicas } : {},
    status: { replicas: typeof observed === 'number' ? observed : 0, ...(selector ? { selector } : {}) },
  };
}

/** Returns the unknown fields. Throws BadRequest if a field has a value of another type. */
export function checkScaleTypes(scale: KubeObject): string[] {
  return checkTypes(scale, builtinType('io.k8s.api.autoscaling.v1.Scale'), { kind: 'Scale', version: 'v1' });
}

/** `object` with the replicas of `scale`. Also takes the uid and the resourceVersion of `scale`, so that the update checks them. */
export function withScale(kind: Kind, object: KubeObject, scale: KubeObject): KubeObject {
  const paths = scalePathsOf(kind, object);
  if (scale.kind !== 'Scale') throw badRequest(`a ${scale.kind} was sent to the scale of ${formatGroupResource(kind)}`);
  const replicas = isRecord(scale.spec) ? (ownField(scale.spec, 'replicas') ?? 0) : 0;
  if (typeof replicas !== 'number' || !Number.isInteger(replicas) || replicas < 0) {
    const cause = invalidField('spec.replicas', replicas, 'must be greater than or equal to 0');
    throw invalidObject({ group: 'autoscaling', kind: 'Scale' }, object.metadata.name ?? '', [cause]);
  }
  const next = cloneJson(object);
  setAt(next, paths.specReplicasPath, replicas);
  const { uid, resourceVersion } = scale.metadata ?? {};
  if (uid !== undefined) next.metadata.uid = uid;
  if (resourceVersion) next.metadata.resourceVersion = resourceVersion;
  else delete next.metadata.resourceVersion;
  return next;
}

/** The parts of a path. A path consists of names and dots, for example `.spec.replicas`. CustomResourceDefinitions may use only such paths. */
function partsOf(path: string): string[] {
  return path.split('.').filter((part) => part !== '');
}

function fieldAt(object: KubeObject, path: string): unknown {
  let value: unknown = object;
  for (const part of partsOf(path)) value = isRecord(value) ? ownField(value, part) : undefined;
  return value;
}

function setAt(object: KubeObject, path: string, value: unknown): void {
  const parts = partsOf(path);
  let target: Record<string, unknown> = object;
  for (const part of parts.slice(0, -1)) {
    const below = ownField(target, part);
    if (isRecord(below)) target = below;
    else {
      const made: Record<string, unknown> = {};
      setField(target, part, made);
      target = made;
    }
  }
  setField(target, parts.at(-1)!, value);
}

function selectorOf(kind: Kind, object: KubeObject, paths: ScalePaths): unknown {
  const selector = paths.labelSelectorPath ? fieldAt(object, paths.labelSelectorPath) : undefined;
  return selector ?? (kind.custom ? undefined : fieldAt(object, '.spec.selector'));
}

/** The selector as a text. A custom kind stores the text itself. A built-in kind stores a label selector, or a map of labels (ReplicationController). */
function selectorText(selector: unknown): string | undefined {
  if (typeof selector === 'string') return selector;
  if (!isRecord(selector)) return undefined;
  const isSelector = 'matchLabels' in selector || 'matchExpressions' in selector;
  if (!isSelector)
    return Object.entries(selector)
      .map(([key, value]) => `${key}=${value}`)
      .sort()
      .join(',');
  const { matchLabels, matchExpressions } = selector as LabelSelector;
  const equalities = Object.entries(matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  const others = (matchExpressions ?? []).map(requirementText);
  return [...equalities.sort(), ...others.sort()].join(',');
}

function requirementText({ key, operator, values = [] }: LabelRequirement): string {
  switch (operator) {
    case 'Exists':
      return key;
    case 'DoesNotExist':
      return `!${key}`;
    case 'In':
      return `${key} in (${[...values].sort().join(',')})`;
    case 'NotIn':
      return `${key} notin (${[...values].sort().join(',')})`;
    case 'Gt':
      return `${key}>${values[0]}`;
    case 'Lt':
      return `${key}<${values[0]}`;
  }
}
