/** Server-side apply of one object in two versions whose fields have different names, as kube-apiserver 1.34 answers them. */
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { ownSpace } from '../../../../support/differential/answers.ts';

const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'till' };
const percent = (averageUtilization: number) => ({
  metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } } }],
});
/** What the space fills in if nobody sets a metric. */
const filledIn = percent(80).metrics;

function autoscalers() {
  const space = ownSpace();
  space.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
  return (fieldManager: string, version: 'v1' | 'v2', spec: object = {}) => {
    const metadata = { name: 'till', namespace: 'shop' };
    const apiVersion = `autoscaling/${version}`;
    const object = {
      apiVersion,
      kind: 'HorizontalPodAutoscaler',
      metadata,
      spec: { scaleTargetRef, maxReplicas: 3, ...spec },
    };
    space.apply(object, { fieldManager });
    return space.get(space.keyOf(object)) as KubeObject & { spec: { metrics?: object[] } };
  };
}

describe('a field with another name in another version', () => {
  it('stays when its manager applies without it in the other version, and goes in the same version', () => {
    const apply = autoscalers();
    expect(apply('team', 'v2', { ...percent(60), minReplicas: 2 }).spec.metrics).toEqual(percent(60).metrics);
    expect(apply('team', 'v1').spec).toMatchObject({ ...percent(60), minReplicas: 1 });
    expect(apply('team', 'v1', { targetCPUUtilizationPercentage: 70 }).spec.metrics).toEqual(percent(70).metrics);
    expect(apply('team', 'v2').spec.metrics).toEqual(percent(70).metrics);
    apply('team', 'v2', percent(60));
    expect(apply('team', 'v2').spec.metrics).toEqual(filledIn);
  });

  it('stays while another manager has set it in the other version', () => {
    const apply = autoscalers();
    apply('team', 'v1', { targetCPUUtilizationPercentage: 60 });
    apply('other', 'v2', percent(60));
    expect(apply('team', 'v1').spec.metrics).toEqual(percent(60).metrics);
  });
});
