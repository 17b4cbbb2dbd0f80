import { describe, expect, it } from 'vitest';
import { withKeysOnce } from '../../../../core/object/list-keys.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';

type Item = Record<string, unknown>;

function workload(podSpec: object, kind = 'Deployment'): KubeObject {
  const template = { spec: podSpec };
  const spec = kind === 'CronJob' ? { jobTemplate: { spec: { template } } } : kind === 'Pod' ? podSpec : { template };
  const apiVersion = { CronJob: 'batch/v1', Pod: 'v1' }[kind] ?? 'apps/v1';
  return { apiVersion, kind, metadata: { name: 'a', namespace: 'shop' }, spec };
}

function container(fields: object, kind?: string): KubeObject {
  return workload({ containers: [{ name: 'app', ...fields }] }, kind);
}

/** The list as it is delivered, or the reason why it is not. */
function delivered(object: KubeObject, ...path: (string | number)[]): unknown {
  const once = withKeysOnce(object);
  if ('why' in once) return once.why;
  return path.reduce<unknown>((value, name) => (value as Item)?.[name], once.object);
}

const inTemplate = ['spec', 'template', 'spec'] as const;
const env = (...items: Item[]) => delivered(container({ env: items }), ...inTemplate, 'containers', 0, 'env');

describe('variables', () => {
  it('have the last value of a name, at its place', () => {
    const items = [
      { name: 'MODE', value: 'a' },
      { name: 'LEVEL', value: '1' },
      { name: 'MODE', value: 'b' },
    ];
    expect(env(...items)).toEqual([items[1], items[2]]);
  });

  it('of one name that refer to each other become one value', () => {
    expect(
      env(
        { name: 'PATH', value: '/bin' },
        { name: 'PATH', value: '$(PATH):/opt' },
        { name: 'PATH', value: '/x:$(PATH)' },
      ),
    ).toEqual([{ name: 'PATH', value: '/x:/bin:/opt' }]);
  });

  it('between two definitions see the first, and after both see the last', () => {
    expect(
      env(
        { name: 'A', value: '1' },
        { name: 'B', value: '$(A)' },
        { name: 'A', value: '2' },
        { name: 'C', value: '$(A)' },
      ),
    ).toEqual([
      { name: 'B', value: '1' },
      { name: 'A', value: '2' },
      { name: 'C', value: '$(A)' },
    ]);
  });

  it('keep escaped references, and references to other names', () => {
    expect(env({ name: 'A', value: '1' }, { name: 'B', value: '$$(A) $(Z) $(A' }, { name: 'A', value: '2' })).toEqual([
      { name: 'B', value: '$$(A) $(Z) $(A' },
      { name: 'A', value: '2' },
    ]);
  });

  it('may replace a value from elsewhere, unless something refers to it', () => {
    const secret = { name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } };
    expect(env(secret, { name: 'A', value: '2' })).toEqual([{ name: 'A', value: '2' }]);
    expect(env({ name: 'A', value: '2' }, secret)).toEqual([secret]);
    expect(env(secret, { name: 'B', value: 'x$(A)' }, { name: 'A', value: '2' })).toBe(
      'spec.template.spec.containers[0].env: B refers to $(A), whose value comes from elsewhere (valueFrom) and which a later item replaces: give the two definitions of A different names',
    );
  });

  it('never grow without bound', () => {
    const doubling = Array.from({ length: 40 }, () => ({ name: 'A', value: '$(A)$(A)' }));
    expect(env({ name: 'A', value: 'xx' }, ...doubling)).toMatch(
      /^spec.*env: A would have more than 131072 characters/,
    );
  });

  it.each(['CronJob', 'Pod', 'StatefulSet'])('of a %s too', (kind) => {
    const once = withKeysOnce(container({ env: [{ name: 'A' }, { name: 'A', value: '1' }] }, kind));
    expect(JSON.stringify(once)).toContain('"env":[{"name":"A","value":"1"}]');
  });
});

describe('other lists', () => {
  it('keep ports of one number and different protocols', () => {
    const ports = [
      { name: 'dns', containerPort: 53, protocol: 'UDP' },
      { name: 'dns-tcp', containerPort: 53, protocol: 'TCP' },
    ];
    const object = container({ ports });
    expect(withKeysOnce(object)).toEqual({ object });
  });

  it('leave out an item that is equal to an earlier one', () => {
    const ports = [
      { containerPort: 80, name: 'http' },
      { containerPort: 80, name: 'http', protocol: 'TCP' },
    ];
    expect(delivered(container({ ports }), ...inTemplate, 'containers', 0, 'ports')).toEqual([ports[1]]);
    const secrets = [{ name: 'a' }, { name: 'b' }, { name: 'a' }];
    const object = workload({ containers: [], imagePullSecrets: secrets });
    expect(delivered(object, ...inTemplate, 'imagePullSecrets')).toEqual([{ name: 'a' }, { name: 'b' }]);
  });

  it('join the names of one address', () => {
    const hostAliases = [
      { ip: '10.0.0.1', hostnames: ['a'] },
      { ip: '10.0.0.2', hostnames: ['b'] },
      { ip: '10.0.0.1', hostnames: ['c', 'a'] },
    ];
    expect(delivered(workload({ containers: [], hostAliases }), ...inTemplate, 'hostAliases')).toEqual([
      { ip: '10.0.0.1', hostnames: ['a', 'c'] },
      { ip: '10.0.0.2', hostnames: ['b'] },
    ]);
  });

  it('are not delivered if one of two different items would be lost', () => {
    const ports = [
      { containerPort: 80, name: 'http' },
      { containerPort: 80, name: 'metrics' },
    ];
    expect(delivered(container({ ports }))).toBe(
      'spec.template.spec.containers[0].ports: duplicate entries for key [containerPort=80,protocol="TCP"] that are not equal, which a server-side apply can\'t write: leave one of them out, or give them different keys',
    );
    const volumes = [
      { name: 'x', emptyDir: {} },
      { name: 'x', configMap: { name: 'c' } },
    ];
    expect(delivered(workload({ containers: [], volumes }))).toContain('volumes: duplicate entries for key [name="x"]');
    const webhooks = [{ name: 'w.example.com' }, { name: 'w.example.com', failurePolicy: 'Ignore' }];
    const configuration = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'w' },
      webhooks,
    };
    expect(delivered(configuration)).toContain('webhooks: duplicate entries for key [name="w.example.com"]');
  });

  it('of a custom kind of the same name are not touched', () => {
    const object = { ...container({ env: [{ name: 'A' }, { name: 'A' }] }), apiVersion: 'shop.example.com/v1' };
    expect(withKeysOnce(object)).toEqual({ object });
  });

  it('are not copied if no key is there twice', () => {
    const object = container({ env: [{ name: 'A' }, { name: 'B' }] });
    const once = withKeysOnce(object);
    expect('object' in once && once.object).toBe(object);
  });
});
