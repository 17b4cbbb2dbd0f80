import { describe, expect, it } from 'vitest';
import { prepareServiceUpdate } from '../../../../../core/apiserver/verbs/service-type.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';

const service = (spec: object): KubeObject => ({ apiVersion: 'v1', kind: 'Service', metadata: { name: 's' }, spec });
const ports = [{ name: 'http', port: 80, protocol: 'TCP', nodePort: 31_000 }];
const balanced = {
  type: 'LoadBalancer',
  clusterIP: '10.0.0.1',
  clusterIPs: ['10.0.0.1'],
  ports,
  externalTrafficPolicy: 'Local',
  healthCheckNodePort: 32_000,
  loadBalancerClass: 'a.example/b',
  allocateLoadBalancerNodePorts: true,
};

function updated(spec: object, before: object = balanced): unknown {
  const next = structuredClone(service(spec));
  prepareServiceUpdate(next, service(before));
  return next.spec;
}

describe('an update of a Service', () => {
  it('drops what only the type before has', () => {
    expect(updated({ ...balanced, type: 'ClusterIP' })).toEqual({
      type: 'ClusterIP',
      clusterIP: '10.0.0.1',
      clusterIPs: ['10.0.0.1'],
      ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
    });
    expect(updated({ type: 'ExternalName', clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'] })).toEqual({
      type: 'ExternalName',
    });
  });

  it('keeps what the user has changed: validation says that the type has no such field', () => {
    expect(updated({ ...balanced, type: 'ClusterIP', loadBalancerClass: 'a.example/c' })).toHaveProperty(
      'loadBalancerClass',
    );
    const other = [{ ...ports[0], nodePort: 31_001 }];
    expect(updated({ ...balanced, type: 'ClusterIP', ports: other })).toHaveProperty('ports', other);
  });

  it('keeps everything while the type stays, and the addresses that it leaves out', () => {
    expect(updated(balanced)).toEqual(balanced);
    const { clusterIP: _ip, clusterIPs: _ips, ...without } = balanced;
    expect(updated(without)).toEqual(balanced);
    expect(updated({ ...without, clusterIP: '10.0.0.2' })).not.toHaveProperty('clusterIPs');
  });
});
