/**
 * The two forms of a HorizontalPodAutoscaler: `autoscaling/v2`, in which the objects are stored, and `autoscaling/v1`. The older form has a field for the
 * utilization of the processor only. As in Kubernetes (pkg/apis/autoscaling/v1/conversion.go), everything else is in annotations.
 */

import { jsonText, parseJson } from '../../object/json.ts';
import { ownField } from '../../object/json-value.ts';
import type { KubeObject } from '../../object/meta.ts';
import { isRecord } from '../../runtime/is-record.ts';

type Values = Record<string, unknown>;

const older = 'autoscaling/v1';
const annotation = (name: string) => `autoscaling.alpha.kubernetes.io/${name}`;
const metrics = annotation('metrics');
const currentMetrics = annotation('current-metrics');
const conditions = annotation('conditions');
const behavior = annotation('behavior');
const ours: readonly string[] = [metrics, currentMetrics, conditions, behavior];

export function autoscalerInForm(object: KubeObject, apiVersion: string): KubeObject {
  if (object.apiVersion === apiVersion) return object;
  return apiVersion === older ? toOlder(object) : toNewer(object, apiVersion);
}

function toOlder(object: KubeObject): KubeObject {
  const { metrics: all, behavior: rules, ...spec } = recordOf(object.spec);
  const { currentMetrics: current, conditions: states, ...status } = recordOf(object.status);
  const list = recordsOf(all);
  const processor = list.find(isProcessorUtilization);
  const others = list.filter((metric) => !isProcessorUtilization(metric)).map((metric) => metricToOlder(metric));
  const added = {
    ...(others.length > 0 ? { [metrics]: jsonText(others) } : {}),
    ...(recordsOf(current).length > 0
      ? { [currentMetrics]: jsonText(recordsOf(current).map((metric) => metricToOlder(metric))) }
      : {}),
    ...(recordsOf(states).length > 0 ? { [conditions]: jsonText(states) } : {}),
    ...(rules === undefined ? {} : { [behavior]: jsonText(renamed(rules, upperFirst)) }),
  };
  const target = processor && recordOf(recordOf(processor.resource).target).averageUtilization;
  const measured = recordsOf(current).find(isProcessorUtilization);
  const utilization = measured && recordOf(recordOf(measured.resource).current).averageUtilization;
  return {
    ...object,
    apiVersion: older,
    metadata: withAnnotations(object.metadata, added),
    ...(object.spec === undefined
      ? {}
      : { spec: { ...spec, ...(target === undefined ? {} : { targetCPUUtilizationPercentage: target }) } }),
    ...(object.status === undefined
      ? {}
      : {
          status: { ...status, ...(utilization === undefined ? {} : { currentCPUUtilizationPercentage: utilization }) },
        }),
  };
}

function toNewer(object: KubeObject, apiVersion: string): KubeObject {
  const { annotations = {} } = object.metadata;
  const { targetCPUUtilizationPercentage: target, ...spec } = recordOf(object.spec);
  const { currentCPUUtilizationPercentage: measured, ...status } = recordOf(object.status);
  const others = recordsOf(read(annotations[metrics])).map(metricToNewer);
  const all = [
    ...others,
    ...(target === undefined ? [] : [processorMetric('target', { type: 'Utilization', averageUtilization: target })]),
  ];
  const rules = renamed(read(annotations[behavior]), lowerFirst);
  const states = recordsOf(read(annotations[conditions]));
  const detailed = recordsOf(read(annotations[currentMetrics])).map(metricToNewer);
  const simple = measured === undefined ? [] : [processorMetric('current', { averageUtilization: measured })];
  const current = detailed.length > 0 ? detailed : simple;
  return {
    ...object,
    apiVersion,
    metadata: withAnnotations(object.metadata, {}),
    ...(object.spec === undefined
      ? {}
      : {
          spec: {
            ...spec,
            ...withTarget(spec),
            ...(all.length > 0 ? { metrics: all } : {}),
            ...(isRecord(rules) ? { behavior: rules } : {}),
          },
        }),
    ...(object.status === undefined
      ? {}
      : {
          status: {
            ...status,
            ...(current.length > 0 ? { currentMetrics: current } : {}),
            ...(states.length > 0 ? { conditions: states } : {}),
          },
        }),
  };
}

/** Go writes these fields of the target even if they are empty, so they have owners. */
function withTarget({ scaleTargetRef }: Values): Values {
  return scaleTargetRef === undefined ? {} : { scaleTargetRef: { kind: '', name: '', ...recordOf(scaleTargetRef) } };
}

function isProcessorUtilization({ type, resource }: Values): boolean {
  const { name, target, current } = recordOf(resource);
  return type === 'Resource' && name === 'cpu' && recordOf(target ?? current).averageUtilization !== undefined;
}

function processorMetric(part: 'target' | 'current', value: Values): Values {
  return { type: 'Resource', resource: { name: 'cpu', [part]: value } };
}

/** The field of a metric or of a measured value, by its type. */
const fieldOf: Readonly<Record<string, string>> = {
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
  ContainerResource: 'containerResource',
  External: 'external',
};

/** [the field of the older form, the field of the newer form] of a target, and of a measured value. */
const targets: readonly (readonly [string, string])[] = [
  ['targetValue', 'value'],
  ['targetAverageValue', 'averageValue'],
  ['targetAverageUtilization', 'averageUtilization'],
];
const measures: readonly (readonly [string, string])[] = [
  ['currentValue', 'value'],
  ['currentAverageValue', 'averageValue'],
  ['currentAverageUtilization', 'averageUtilization'],
];

function metricToOlder(metric: Values): Values {
  const field = ownField(fieldOf, String(metric.type));
  if (field === undefined) return metric;
  const { target, current, metric: identifier, describedObject, ...rest } = recordOf(metric[field]);
  const { name, selector } = recordOf(identifier);
  const pairs = target === undefined ? measures : targets;
  const values = recordOf(target ?? current);
  // The older form has other names for an Object metric than for the rest.
  const numbers = pairs.map(([old, now]) => [
    field === 'object' && now === 'averageValue' ? 'averageValue' : old,
    values[now],
  ]);
  const entries = [
    ...Object.entries(rest),
    ...(name === undefined ? [] : [['metricName', name]]),
    ...(selector === undefined ? [] : [[field === 'external' ? 'metricSelector' : 'selector', selector]]),
    ...(describedObject === undefined ? [] : [['target', describedObject]]),
    ...numbers.filter(([, value]) => value !== undefined),
  ];
  return { type: metric.type, [field]: Object.fromEntries(entries) };
}

function metricToNewer(metric: Values): Values {
  const field = ownField(fieldOf, String(metric.type));
  if (field === undefined) return metric;
  const {
    metricName,
    metricSelector,
    selector = metricSelector,
    target,
    averageValue,
    ...rest
  } = recordOf(metric[field]);
  const isMeasure = measures.some(([old]) => rest[old] !== undefined);
  const values: Values = averageValue === undefined ? {} : { averageValue };
  for (const [old, now] of isMeasure ? measures : targets) {
    // Kubernetes writes a value 0 beside the average of an Object metric.
    if (rest[old] !== undefined && !(now === 'value' && averageValue !== undefined)) values[now] = rest[old];
    delete rest[old];
  }
  const type =
    values.averageUtilization === undefined
      ? values.averageValue === undefined
        ? 'Value'
        : 'AverageValue'
      : 'Utilization';
  return {
    type: metric.type,
    [field]: {
      ...rest,
      ...(metricName === undefined
        ? {}
        : { metric: { name: metricName, ...(selector === undefined ? {} : { selector }) } }),
      ...(target === undefined ? {} : { describedObject: target }),
      ...(isMeasure ? { current: values } : { target: { type, ...values } }),
    },
  };
}

/** Annotations of an earlier conversion go: each conversion makes them anew. */
function withAnnotations(
  metadata: KubeObject['metadata'],
  added: Readonly<Record<string, string>>,
): KubeObject['metadata'] {
  const { annotations: before = {}, ...rest } = metadata;
  const kept = Object.entries(before).filter(([name]) => !ours.includes(name));
  const annotations = { ...Object.fromEntries(kept), ...added };
  return Object.keys(annotations).length > 0 ? { ...rest, annotations } : rest;
}

/** Kubernetes writes the fields of the behavior as its Go type names them: `ScaleDown`. */
function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, rename));
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== null);
  return Object.fromEntries(entries.map(([name, item]) => [rename(name), renamed(item, rename)]));
}

function upperFirst(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

function lowerFirst(name: string): string {
  return name.slice(0, 1).toLowerCase() + name.slice(1);
}

function read(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : parseJson(text);
  } catch {
    // As in Kubernetes, an annotation that is no JSON has no effect.
    return undefined;
  }
}

function recordOf(value: unknown): Values {
  return isRecord(value) ? value : {};
}

function recordsOf(value: unknown): Values[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
