import { describe, expect, it } from 'vitest';
import { autoscalerInForm } from '../../../../../core/apiserver/builtin/autoscaler-forms.ts';
import { builtinKinds } from '../../../../../core/apiserver/builtin/builtin-kinds.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';

const older = 'autoscaling/v1';
const newer = 'autoscaling/v2';
const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
const main = { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', name: 'main' };
const cpu = (averageUtilization: number) => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
});
const others = [
  { type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '100Mi' } } },
  {
    type: 'Pods',
    pods: {
      metric: { name: 'rps', selector: { matchLabels: { a: 'b' } } },
      target: { type: 'AverageValue', averageValue: '10' },
    },
  },
  {
    type: 'Object',
    object: { metric: { name: 'hits' }, describedObject: main, target: { type: 'Value', value: '2k' } },
  },
  {
    type: 'Object',
    object: { metric: { name: 'mean' }, describedObject: main, target: { type: 'AverageValue', averageValue: '2' } },
  },
  {
    type: 'External',
    external: {
      metric: { name: 'queue', selector: { matchLabels: { q: 'x' } } },
      target: { type: 'AverageValue', averageValue: '30' },
    },
  },
  {
    type: 'ContainerResource',
    containerResource: { name: 'cpu', container: 'app', target: { type: 'Utilization', averageUtilization: 60 } },
  },
];
const behavior = { scaleDown: { policies: [{ type: 'Pods', value: 4, periodSeconds: 60 }], selectPolicy: 'Max' } };
const autoscaler = (apiVersion: string, spec: object, more: object = {}): KubeObject => ({
  apiVersion,
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'web', annotations: { keep: 'me' } },
  spec: { maxReplicas: 3, scaleTargetRef, ...spec },
  ...more,
});

describe('a HorizontalPodAutoscaler', () => {
  it('of the older form has a metric for the utilization of the processor', () => {
    const old = autoscaler(older, { targetCPUUtilizationPercentage: 60 });
    const now = autoscaler(newer, { metrics: [cpu(60)] });
    expect(autoscalerInForm(old, newer)).toEqual(now);
    expect(autoscalerInForm(now, older)).toEqual(old);
  });

  it('keeps everything else in annotations, as Kubernetes writes them', () => {
    const conditions = [{ type: 'AbleToScale', status: 'True' }];
    const currentMetrics = [
      { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 9, averageValue: '1' } } },
    ];
    const now = autoscaler(
      newer,
      { metrics: [...others, cpu(50)], behavior },
      { status: { currentReplicas: 1, conditions, currentMetrics } },
    );
    const old = autoscalerInForm(now, older);
    expect(old.spec).toEqual({ maxReplicas: 3, scaleTargetRef, targetCPUUtilizationPercentage: 50 });
    expect(old.status).toEqual({ currentReplicas: 1, currentCPUUtilizationPercentage: 9 });
    const { annotations = {} } = old.metadata;
    expect(JSON.parse(annotations['autoscaling.alpha.kubernetes.io/metrics']!)).toEqual([
      { type: 'Resource', resource: { name: 'memory', targetAverageValue: '100Mi' } },
      { type: 'Pods', pods: { metricName: 'rps', selector: { matchLabels: { a: 'b' } }, targetAverageValue: '10' } },
      { type: 'Object', object: { metricName: 'hits', target: main, targetValue: '2k' } },
      { type: 'Object', object: { metricName: 'mean', target: main, averageValue: '2' } },
      {
        type: 'External',
        external: { metricName: 'queue', metricSelector: { matchLabels: { q: 'x' } }, targetAverageValue: '30' },
      },
      { type: 'ContainerResource', containerResource: { name: 'cpu', container: 'app', targetAverageUtilization: 60 } },
    ]);
    expect(annotations['autoscaling.alpha.kubernetes.io/behavior']).toContain(
      '"ScaleDown":{"Policies":[{"Type":"Pods"',
    );
    expect(autoscalerInForm(old, newer)).toEqual(now);
  });

  it('takes what Kubernetes writes, and ignores an annotation that is no JSON', () => {
    const metrics = [
      { type: 'Object', object: { metricName: 'mean', target: main, targetValue: '0', averageValue: '2' } },
    ];
    const annotations = {
      'autoscaling.alpha.kubernetes.io/metrics': JSON.stringify(metrics),
      'autoscaling.alpha.kubernetes.io/behavior': '{',
    };
    const old = { ...autoscaler(older, {}), metadata: { name: 'web', annotations } };
    const now = autoscalerInForm(old, newer);
    expect(now.spec).toEqual({ maxReplicas: 3, scaleTargetRef, metrics: [others[3]] });
    expect(now.metadata).toEqual({ name: 'web' });
  });

  it('is one kind with two versions, of which v2 is preferred and stored', () => {
    const kinds = builtinKinds().filter(({ kind }) => kind === 'HorizontalPodAutoscaler');
    expect(kinds).toHaveLength(1);
    expect(kinds[0]).toMatchObject({ versions: ['v2', 'v1'], storageVersion: 'v2' });
    expect(kinds[0]!.schema('v1').field('spec')?.type).toMatchObject({
      name: 'io.k8s.api.autoscaling.v1.HorizontalPodAutoscalerSpec',
    });
  });
});
