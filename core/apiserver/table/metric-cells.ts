/** The targets of a HorizontalPodAutoscaler with what is measured: `cpu: 40%/50%`. */
import type { KubeObject } from '../../object/meta.ts';
import { get, listAt, textAt } from './cells.ts';

const metricsMax = 2;
/** The field of a metric by its type. */
const fieldOf = new Map([
  ['External', 'external'],
  ['Pods', 'pods'],
  ['Object', 'object'],
  ['Resource', 'resource'],
  ['ContainerResource', 'containerResource'],
]);

/** `autoscaler`: in the version v2. */
export function metricsText(autoscaler: KubeObject): string {
  const metrics = listAt(autoscaler, 'spec.metrics');
  const statuses = listAt(autoscaler, 'status.currentMetrics');
  const texts = metrics.map((metric, at) => {
    const name = fieldOf.get(String(metric.type));
    return name === undefined ? '<unknown type>' : metricText(metric[name], statuses[at]?.[name], name);
  });
  if (texts.length === 0) return '<none>';
  const shown = texts.slice(0, metricsMax).join(', ');
  return texts.length > metricsMax ? `${shown} + ${texts.length - metricsMax} more...` : shown;
}

function metricText(metric: unknown, status: unknown, name: string): string {
  const isResource = name === 'resource' || name === 'containerResource';
  const average = get(metric, 'target.averageValue');
  const current = (field: string) => textAt(status, `current.${field}`, '<unknown>');
  if (isResource) {
    const label = textAt(metric, 'name');
    if (average !== undefined) return `${label}: ${current('averageValue')}/${average}`;
    const percent = (value: unknown, otherwise: string) => (value === undefined ? otherwise : `${value}%`);
    const measured = percent(get(status, 'current.averageUtilization'), '<unknown>');
    return `${label}: ${measured}/${percent(get(metric, 'target.averageUtilization'), '<auto>')}`;
  }
  if (average === undefined) return `${current('value')}/${textAt(metric, 'target.value')}`;
  return `${current('averageValue')}/${average}${name === 'pods' ? '' : ' (avg)'}`;
}
