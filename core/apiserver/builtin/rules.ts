/**
 * Checks that types can't express, for the kinds that people deploy. Without these checks, the mistake would show only when an edge cluster refuses the
 * object. Each rule is small. Its messages are those of Kubernetes' field errors.
 */

import { invalidField, required } from '../../object/field-error.ts';
import { equalJson } from '../../object/json-value.ts';
import type { KubeObject } from '../../object/meta.ts';
import { type LabelSelector, matchesSelector } from '../../object/selector.ts';
import type { Cause } from '../../runtime/errors.ts';
import { configMapRule, immutableDataRule, secretRule } from './data-rules.ts';
import { checkListItems } from './list-item-rules.ts';

type ObjectRule = (object: KubeObject, old?: KubeObject) => Cause[];
type Values = Record<string, unknown>;

export function checkRules(kind: string, object: KubeObject, old?: KubeObject): Cause[] {
  return [...(rules[kind] ?? []).flatMap((rule) => rule(object, old)), ...checkListItems(kind, object)];
}

const rules: Readonly<Record<string, readonly ObjectRule[]>> = {
  Deployment: [selectorRule, podTemplateRule, notNegative('spec.replicas'), immutable('spec.selector')],
  ReplicaSet: [selectorRule, podTemplateRule, notNegative('spec.replicas'), immutable('spec.selector')],
  StatefulSet: [
    selectorRule,
    podTemplateRule,
    notNegative('spec.replicas'),
    immutable('spec.selector'),
    immutable('spec.serviceName'),
  ],
  DaemonSet: [selectorRule, podTemplateRule, immutable('spec.selector')],
  Job: [podTemplateRule, jobRestartRule, immutable('spec.template')],
  Pod: [(object) => podRule(at(object, 'spec'), 'spec')],
  Service: [servicePortsRule],
  ConfigMap: [configMapRule, immutableDataRule],
  Secret: [secretRule, immutableDataRule, immutable('type')],
  PersistentVolumeClaim: [immutable('spec.accessModes')],
  PriorityClass: [immutable('value')],
  ClusterRoleBinding: [immutable('roleRef')],
  RoleBinding: [immutable('roleRef')],
};

function selectorRule(object: KubeObject): Cause[] {
  const selector = at(object, 'spec.selector') as LabelSelector | undefined;
  if (!selector) return [required('spec.selector')];
  if (Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions ?? []).length === 0) {
    return [invalidField('spec.selector', selector, 'empty selector is invalid for this kind')];
  }
  const labels = (at(object, 'spec.template.metadata.labels') ?? {}) as Record<string, string>;
  if (matchesSelector(selector, labels)) return [];
  return [invalidField('spec.template.metadata.labels', labels, '`selector` does not match template `labels`')];
}

function podTemplateRule(object: KubeObject): Cause[] {
  return podRule(at(object, 'spec.template.spec'), 'spec.template.spec');
}

function podRule(spec: unknown, path: string): Cause[] {
  const containers = ((spec as Values | undefined)?.containers ?? []) as Values[];
  if (containers.length === 0) return [required(`${path}.containers`)];
  const causes: Cause[] = [];
  const names = new Set<unknown>();
  for (const [i, { name, image }] of containers.entries()) {
    const field = `${path}.containers[${i}]`;
    if (!name) causes.push(required(`${field}.name`));
    else if (names.has(name))
      causes.push({
        reason: 'FieldValueDuplicate',
        field: `${field}.name`,
        message: `Duplicate value: ${JSON.stringify(name)}`,
      });
    if (!image && path !== 'spec.template.spec') causes.push(required(`${field}.image`));
    names.add(name);
  }
  return causes;
}

function jobRestartRule(object: KubeObject): Cause[] {
  const policy = at(object, 'spec.template.spec.restartPolicy');
  if (policy === 'Never' || policy === 'OnFailure') return [];
  return [required('spec.template.spec.restartPolicy', 'valid values: "OnFailure", "Never"')];
}

function servicePortsRule(object: KubeObject): Cause[] {
  const ports = (at(object, 'spec.ports') ?? []) as Values[];
  return ports.flatMap(({ port, name }, i) => {
    const field = `spec.ports[${i}]`;
    const wrong: Cause[] = [];
    if (ports.length > 1 && !name) wrong.push(required(`${field}.name`));
    if (typeof port === 'number' && (port < 1 || port > 65_535)) {
      wrong.push(invalidField(`${field}.port`, port, 'must be between 1 and 65535, inclusive'));
    }
    return wrong;
  });
}

function notNegative(path: string): ObjectRule {
  return (object) => {
    const value = at(object, path);
    return typeof value === 'number' && value < 0
      ? [invalidField(path, value, 'must be greater than or equal to 0')]
      : [];
  };
}

function immutable(path: string): ObjectRule {
  return (object, old) => {
    if (!old) return [];
    const value = at(object, path);
    return equalJson(value, at(old, path)) ? [] : [invalidField(path, value, 'field is immutable')];
  };
}

function at(object: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => (value as Values | undefined)?.[name], object);
}
