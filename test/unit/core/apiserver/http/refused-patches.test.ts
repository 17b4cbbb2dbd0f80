/** Patches and updates of built-in kinds that Kubernetes refuses, with its words. test/long/kubernetes-validation compares many more with a real API server. */
import { beforeEach, describe, expect, it } from 'vitest';
import { jsonText } from '../../../../../core/object/json.ts';
import { HandlerBench } from './handler-bench.ts';
import { refusalOf } from './handler-errors.ts';

const url = '/apis/apps/v1/namespaces/shop/deployments';
const labels = { app: 'till' };
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'till' },
  spec: {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'till', image: 'till:1' }] } },
  },
};
let bench: HandlerBench;
beforeEach(async () => {
  bench = new HandlerBench();
  await bench.call('POST', url, { body: deployment });
});

const patched = (type: string, body: object) =>
  refusalOf(
    bench.call('PATCH', `${url}/till`, { body, headers: { 'content-type': `application/${type}-patch+json` } }),
  );

describe('a patch whose result can not be read', () => {
  it('is refused with the digits of an integer beyond 2^53', async () => {
    const body = Buffer.from('{"spec":{"replicas":9007199254740993}}');
    const { code, message } = await patched('merge', body);
    expect(code).toBe('Invalid');
    expect(message).toContain('cannot unmarshal number 9007199254740993');
  });

  it.each([
    [{ spec: { replicas: 'a' } }, 'map[spec:map[replicas:a]]', 'unrecognized type: int32'],
    [{ spec: { replicas: 1.5 } }, 'map[spec:map[replicas:1.5]]', 'cannot convert float64 to int32'],
    [{ spec: { template: [] } }, 'map[spec:map[template:[]]]', 'cannot restore struct from: slice'],
    [
      { spec: { template: { spec: { containers: {} } } } },
      'map[spec:map[template:map[spec:map[containers:map[]]]]]',
      'cannot restore slice from map',
    ],
    [
      { spec: { strategy: { rollingUpdate: { maxSurge: [] } } } },
      'map[spec:map[strategy:map[rollingUpdate:map[maxSurge:[]]]]]',
      'json: cannot unmarshal array into Go value of type int32',
    ],
  ])('is refused as the mistake of a strategic merge patch: %j', async (body, shown, why) => {
    const { code, message } = await patched('strategic-merge', body);
    expect([code, message]).toEqual([
      'Invalid',
      ` "" is invalid: patch: Invalid value: ${JSON.stringify(shown)}: ${why}`,
    ]);
  });

  it('is refused with the words of the JSON decoder for other patches', async () => {
    const { code, message, details } = await patched('merge', { spec: { replicas: 'a' } });
    expect(code).toBe('Invalid');
    expect(message).toMatch(
      /: json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32$/,
    );
    expect(details.causes?.map(({ field }) => field)).toEqual(['patch']);
  });

  it('is refused for an integer of 64 bits in a field of 32 bits', async () => {
    const { message } = await patched('strategic-merge', Buffer.from('{"spec":{"replicas":9007199254740993}}'));
    expect(message).toMatch(/: cannot convert int64 to int32$/);
  });

  it.each(['merge', 'strategic-merge'])('is refused with integers of 64 bits beside the mistake: %s', async (type) => {
    const spec = { terminationGracePeriodSeconds: 9_007_199_254_740_993n };
    const body = { spec: { replicas: 'a', template: { spec } } };
    const { code, message } = await patched(type, Buffer.from(jsonText(body)));
    expect(code).toBe('Invalid');
    expect(message).toMatch(/int32$/);
  });
});

describe('a refusal', () => {
  it('takes along the warnings before it', async () => {
    const body = { ...deployment, metadata: { name: 'other' }, spec: { ...deployment.spec, replicas: -1, nope: 1 } };
    const { details } = await refusalOf(bench.call('POST', `${url}?fieldValidation=Warn`, { body }));
    expect(details.warnings).toEqual(['unknown field "spec.nope"']);
  });

  it('names the causes of some kinds twice in an update, as Kubernetes does', async () => {
    const roles = '/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles';
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name: 'r' } };
    const rules = [{ apiGroups: [''], resources: ['pods'] }];
    await bench.call('POST', roles, { body: { ...role, rules: [{ ...rules[0], verbs: ['get'] }] } });
    const { details } = await refusalOf(bench.call('PUT', `${roles}/r`, { body: { ...role, rules } }));
    expect(details.causes?.map(({ field }) => field)).toEqual(['rules[0].verbs', 'rules[0].verbs']);
  });
});

describe('a field that may not change', () => {
  const volumes = '/api/v1/persistentvolumes';
  const volume = (more: object) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'v' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      iscsi: { targetPortal: '10.0.0.1:3260', iqn: 'iqn.2001-01.a.example:b', lun: 0, ...more },
    },
  });

  it('may get the value that it has without being written', async () => {
    await bench.call('POST', volumes, { body: volume({}) });
    expect((await bench.call('PUT', `${volumes}/v`, { body: volume({ chapAuthDiscovery: false }) })).status).toBe(200);
    const refused = await refusalOf(bench.call('PUT', `${volumes}/v`, { body: volume({ chapAuthDiscovery: true }) }));
    expect(refused.message).toContain('is immutable after creation');
  });
});
