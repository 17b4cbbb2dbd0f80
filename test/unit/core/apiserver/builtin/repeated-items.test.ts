import { describe, expect, it } from 'vitest';
import { objectWarnings } from '../../../../../core/apiserver/builtin/warnings/kind-warnings.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { ruleCauses } from '../../../../support/builtin-causes.ts';
import { HandlerBench } from '../http/handler-bench.ts';
import { refusalOf } from '../http/handler-errors.ts';

function deployment(pod: object): KubeObject {
  const labels = { app: 'a' };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'a', namespace: 'shop' },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pod } },
  };
}

const withContainer = (fields: object) => deployment({ containers: [{ name: 'app', image: 'app:1', ...fields }] });
const twice = withContainer({
  env: [
    { name: 'MODE', value: 'a' },
    { name: 'LEVEL', value: '1' },
    { name: 'MODE', value: 'b' },
  ],
});
const at = 'spec.template.spec';
const hides = (index: number, name: string) =>
  `${at}.containers[0].env[${index}]: hides previous definition of "${name}", which may be dropped when using apply`;
const warnings = (object: KubeObject) => objectWarnings(object.kind, object, { isChanged: true });
const problems = (object: KubeObject) =>
  ruleCauses(object.kind, object).map(({ field, message }) => `${field}: ${message}`);

describe('warnings', () => {
  it('name the variables that hide another, as a Kubernetes API server does', () => {
    const items = ['1', '1', 'other', '', '$(b)', undefined, '$(b) $(b)'].map((value) =>
      value === undefined ? { name: 'b', valueFrom: {} } : { name: 'b', value },
    );
    expect(warnings(withContainer({ env: items }))).toEqual([1, 2, 3, 4, 5].map((index) => hides(index, 'b')));
  });

  it('name addresses, secrets and ports that a pod has twice', () => {
    const containers = [
      { name: 'a', ports: [{ containerPort: 80 }, { containerPort: 80, hostPort: 8080 }] },
      {
        name: 'b',
        ports: [
          { containerPort: 80, protocol: 'TCP' },
          { containerPort: 80, protocol: 'UDP' },
        ],
      },
    ];
    const hostAliases = [{ ip: '10.0.0.1' }, { ip: '10.0.0.1' }];
    const imagePullSecrets = [{ name: 's' }, { name: 's' }, { name: '' }];
    expect(warnings(deployment({ containers, hostAliases, imagePullSecrets }))).toEqual([
      `${at}.hostAliases[1].ip: duplicate ip "10.0.0.1"`,
      `${at}.imagePullSecrets[1].name: duplicate name "s"`,
      `${at}.imagePullSecrets[2].name: invalid empty name ""`,
      `${at}.containers[0].ports[1]: overlapping port definition with ${at}.containers[0].ports[0]`,
      `${at}.containers[1].ports[0]: duplicate port definition with ${at}.containers[0].ports[0]`,
      `${at}.containers[1].ports[0]: overlapping port definition with ${at}.containers[0].ports[1]`,
    ]);
  });

  it('concern no kind without pods, and no list without repetitions', () => {
    expect(warnings({ ...twice, kind: 'ConfigMap' })).toEqual([]);
    expect(warnings(withContainer({ env: [{ name: 'A' }, { name: 'B' }], ports: [{ containerPort: 1 }] }))).toEqual([]);
  });
});

describe('items that no API server accepts twice', () => {
  it('are refused: volumes, mounts, devices, names of ports', () => {
    const fields = {
      image: 'x',
      volumeMounts: [
        { name: 'v', mountPath: '/x' },
        { name: 'v', mountPath: '/x' },
      ],
      volumeDevices: [
        { name: 'd', devicePath: '/d' },
        { name: 'd', devicePath: '/d' },
      ],
      ports: [
        { name: 'http', containerPort: 80 },
        { name: 'http', containerPort: 81 },
      ],
    };
    expect(
      problems(
        deployment({
          containers: [{ name: 'app', ...fields }],
          volumes: [{ name: 'v' }, { name: 'v' }, { name: 'd', persistentVolumeClaim: { claimName: 'd' } }],
        }),
      ),
    ).toEqual([
      `${at}.volumes[1].name: Duplicate value: "v"`,
      `${at}.containers[0].ports[1].name: Duplicate value: "http"`,
      `${at}.containers[0].volumeMounts[1].mountPath: Invalid value: "/x": must be unique`,
      `${at}.containers[0].volumeDevices[1].name: Invalid value: "d": must be unique`,
      `${at}.containers[0].volumeDevices[1].devicePath: Invalid value: "/d": must be unique`,
    ]);
  });

  it('are refused: ports of a Service, by number and protocol', () => {
    const service = (ports: object[]) => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 's' },
      spec: { ports },
    });
    const dns = [
      { name: 'udp', port: 53, protocol: 'UDP' },
      { name: 'tcp', port: 53 },
    ];
    expect(problems(service(dns))).toEqual([]);
    expect(problems(service([...dns, { name: 'tcp', port: 53, protocol: 'TCP' }]))).toEqual([
      'spec.ports[2].name: Duplicate value: "tcp"',
      'spec.ports[2]: Duplicate value: {"protocol":"TCP","port":53}',
    ]);
  });
});

describe('a space', () => {
  const path = '/apis/apps/v1/namespaces/shop/deployments';
  const apply = { 'content-type': 'application/apply-patch+yaml' };

  it('warns at a create, and at an update that changes the content', async () => {
    const api = new HandlerBench();
    const created = await api.call('POST', path, { body: twice });
    expect(created.headers.warning).toEqual([`299 - ${JSON.stringify(hides(2, 'MODE'))}`]);
    const merge = { 'content-type': 'application/merge-patch+json' };
    const patch = (body: object) => api.call('PATCH', `${path}/a`, { body, headers: merge });
    expect((await patch({ metadata: { labels: { a: 'b' } } })).headers.warning).toBeUndefined();
    expect((await patch({ spec: { replicas: 2 } })).headers.warning).toEqual(created.headers.warning);
  });

  it('refuses a server-side apply of a list with a key twice, in the words of Kubernetes, and changes nothing', async () => {
    const api = new HandlerBench();
    const error = await refusalOf(api.call('PATCH', `${path}/a?fieldManager=team`, { body: twice, headers: apply }));
    expect([error.code, error.message]).toEqual([
      'NotTyped',
      'failed to create typed patch object (shop/a; apps/v1, Kind=Deployment): .spec.template.spec.containers[name="app"].env: duplicate entries for key [name="MODE"]',
    ]);
    expect((await api.get<{ items: [] }>(path)).items).toEqual([]);
  });

  it('names all lists, and values of a set too', async () => {
    const api = new HandlerBench();
    const ports = [{ containerPort: 80 }, { containerPort: 80, protocol: 'TCP' }];
    const body = {
      ...withContainer({ ports }),
      metadata: { name: 'a', namespace: 'shop', finalizers: ['x/a', 'x/a'] },
    };
    const error = await refusalOf(api.call('PATCH', `${path}/a?fieldManager=team`, { body, headers: apply }));
    expect(error.message).toBe(
      'failed to create typed patch object (shop/a; apps/v1, Kind=Deployment): errors:\n  .metadata.finalizers: duplicate entries for key [="x/a"]\n  .spec.template.spec.containers[name="app"].ports: duplicate entries for key [containerPort=80,protocol="TCP"]',
    );
  });

  it('keeps the items of others when somebody applies other fields of an object that has a key twice', async () => {
    const api = new HandlerBench();
    await api.call('POST', path, { body: twice });
    const body = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' }, spec: { replicas: 3 } };
    await api.call('PATCH', `${path}/a?fieldManager=team&force=true`, { body, headers: apply });
    const read = async () =>
      (await api.get<{ spec: { template: { spec: { containers: { env: object[] }[] } } } }>(`${path}/a`)).spec.template
        .spec.containers[0]!.env;
    expect(await read()).toHaveLength(3);
    const once = withContainer({ env: [{ name: 'MODE', value: 'c' }] });
    await api.call('PATCH', `${path}/a?fieldManager=team&force=true`, { body: once, headers: apply });
    expect(await read()).toEqual([
      { name: 'MODE', value: 'c' },
      { name: 'LEVEL', value: '1' },
    ]);
  });
});

describe('items that a Kubernetes API server refuses', () => {
  const app = { name: 'app', image: 'app:1' };
  const constraint = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' };
  const webhook = { name: 'a.b.c' };
  const claim = { name: 'app', resourceClaimName: 'c' };
  const clientConfig = { url: 'https://a.example' };
  const hook = { ...webhook, clientConfig, sideEffects: 'None', admissionReviewVersions: ['v1'] };

  it.each([
    [
      'ports of the node, also in two containers',
      deployment({
        containers: [
          { ...app, ports: [{ containerPort: 80, hostPort: 80 }] },
          {
            name: 'b',
            image: 'b',
            ports: [{ containerPort: 81, hostPort: 80 }, { containerPort: 82 }, { containerPort: 83 }],
          },
        ],
      }),
      [`${at}.containers[1].ports[0].hostPort: Duplicate value: "TCP//80"`],
    ],
    [
      'names of init containers',
      deployment({ containers: [app], initContainers: [app, { ...app, name: 'i' }] }),
      [`${at}.initContainers[0].name: Duplicate value: "app"`],
    ],
    [
      'constraints',
      deployment({ containers: [app], topologySpreadConstraints: [constraint, constraint] }),
      [`${at}.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, DoNotSchedule}"`],
    ],
    [
      'gates and claims',
      deployment({ containers: [app], schedulingGates: [webhook, webhook], resourceClaims: [claim, claim] }),
      [`${at}.resourceClaims[1].name: Duplicate value: "app"`, `${at}.schedulingGates[1]: Duplicate value: "a.b.c"`],
    ],
    [
      'webhooks',
      { apiVersion: 'v1', kind: 'MutatingWebhookConfiguration', metadata: {}, webhooks: [hook, hook] },
      ['webhooks[1].name: Duplicate value: "a.b.c"'],
    ],
  ])('are %s', (_, object, expected) => {
    expect(problems(object)).toEqual(expected);
  });
});
