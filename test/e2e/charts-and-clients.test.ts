/** What charts and clients expect of a space: on a real cluster and on an embedded one, below a relay. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { furnish } from '../support/control-plane/furniture.ts';
import { Helm, withoutHelm } from '../support/helm.ts';
import { getObject } from '../support/kept-api/kept-api.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { kubectlBy, LocalTree, until } from './local-tree.ts';

const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const retail = 'space/center/retail';
const embedded = 'cluster/eu:mitte';
const buildMsMax = 3_600_000;

interface Shown {
  readonly apiVersion: string;
  readonly metadata: {
    readonly uid: string;
    readonly name: string;
    readonly resourceVersion: string;
    readonly managedFields?: readonly { readonly manager: string; readonly apiVersion: string }[];
  };
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: object;
  readonly items?: readonly Shown[];
  readonly status?: {
    readonly display?: string;
    readonly succeeded?: number;
    readonly storedVersions?: readonly string[];
    readonly failures?: readonly { readonly path: string; readonly object?: string; readonly reason: string }[];
  };
}

const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
const place = (name: string, item: object = {}) => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name },
  spec: {
    locationSelectors: [{ matchLabels: { env: 'prod' } }],
    downsync: [{ apiGroup: '*', resources: ['*'], namespaces: [name], ...item }],
  },
});
const map = (name: string, namespace: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, ...more },
  data: { a: 'b' },
});
const workload = (name: string, namespace: string, container: object, pod: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'app', image: 'registry.example.com/app:1', ...container }], ...pod },
    },
  },
});
const peer = (version: string, name: string, namespace: string, spec: object) => ({
  apiVersion: `net.example.com/${version}`,
  kind: 'Peer',
  metadata: { name, namespace },
  spec,
});

describe.skipIf(missing)(`what charts and clients expect of a space${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-charts-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  let plane: ControlPlane;
  let webhook: ChildProcess | undefined;
  let clientConfig: object;

  const site = (...args: string[]) => kubectlBy(plane.kubeconfig, args);
  const atReal = (...args: string[]) => getObject<Shown>(plane.kubeconfig, args);
  const atEmbedded = (...args: string[]) => tree.json<Shown>(embedded, ...args);
  const both = (...args: string[]) => [atReal(...args), atEmbedded(...args)];
  /** A Peer in one version, at each cluster. */
  const peersOf = (version: string, name: string) => {
    const args = ['get', `peers.${version}.net.example.com`, name, '-n', 'net', '-o', 'json', '--show-managed-fields'];
    return [kubectlBy(plane.kubeconfig, args), tree.kubectl(embedded, args)].map(({ code, stdout }) =>
      code === 0 ? (JSON.parse(stdout) as Shown) : undefined,
    );
  };
  const apply = (...items: object[]) => {
    const ran = tree.apply(retail, { apiVersion: 'v1', kind: 'List', items });
    expect(ran.code, ran.out).toBe(0);
    return ran.out;
  };
  const send = (verb: string[], object: object) => tree.kubectl(retail, [...verb, '-f', '-'], JSON.stringify(object));
  const status = (name: string) => tree.json<Shown>(retail, 'epl', name)?.status;
  const isAvailable = (name: string) => status(name)?.display === 'available 2/2';
  const peers = (storage: string) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'peers.net.example.com' },
    spec: {
      group: 'net.example.com',
      scope: 'Namespaced',
      names: { plural: 'peers', singular: 'peer', kind: 'Peer', listKind: 'PeerList' },
      conversion: { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig } },
      versions: ['v1', 'v1beta1'].map((name) => ({
        name,
        served: true,
        storage: name === storage,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      })),
    },
  });

  beforeAll(async () => {
    plane = await ControlPlane.start({ directory: join(directory, 'plane') });
    furnish(plane, { nodes: 1, volumes: 0 });
    const topology = {
      apiVersion: 'banyan.io/v1alpha1',
      kind: 'Topology',
      metadata: { name: 'charts' },
      spec: {
        center: { spaces: [{ name: 'retail', type: 'Workload' }] },
        relays: [{ name: 'eu' }],
        clusters: [
          {
            name: 'rivoli',
            parent: 'eu',
            labels: { env: 'prod' },
            provider: { kubeconfig: { path: plane.kubeconfig } },
          },
          { name: 'mitte', parent: 'eu', labels: { env: 'prod' } },
        ],
      },
    };
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up('--no-restart');
    const pki = (file: string) => join(tree.data, 'pki', file);
    webhook = spawn(
      process.execPath,
      [join(import.meta.dirname, 'webhooks.ts'), pki('center.crt'), pki('center.key')],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const [port] = (await once(webhook.stdout!, 'data')) as [Buffer];
    const caBundle = readFileSync(pki('ca.crt')).toString('base64');
    clientConfig = { url: `https://127.0.0.1:${String(port).trim()}/convert`, caBundle };
  }, buildMsMax);
  afterAll(async () => {
    webhook?.kill();
    await tree[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  describe('a definition with a conversion webhook', () => {
    it('is taken with its objects, which arrive in the versions in which they were written', async () => {
      apply(peers('v1'), namespace('net'), place('net'));
      apply(
        peer('v1', 'new', 'net', { to: { address: '10.0.0.1' } }),
        peer('v1beta1', 'old', 'net', { address: '10.0.0.2' }),
      );
      await until('both clusters have both', () => isAvailable('net'));
      const definitions = both('crd', 'peers.net.example.com');
      for (const found of definitions) {
        expect(found?.spec).toMatchObject({ conversion: peers('v1').spec.conversion });
      }
      const [realOld, embeddedOld] = peersOf('v1beta1', 'old');
      expect([realOld?.spec, embeddedOld?.spec]).toEqual([{ address: '10.0.0.2' }, { address: '10.0.0.2' }]);
      expect(peersOf('v1', 'new').map((one) => one?.spec)).toEqual([
        { to: { address: '10.0.0.1' } },
        { to: { address: '10.0.0.1' } },
      ]);
      const applied = realOld?.metadata.managedFields?.find(({ manager }) => manager === 'banyan');
      expect(applied?.apiVersion).toBe('net.example.com/v1beta1');
    });

    it('is converted by its webhook at the real cluster, and not in the space', () => {
      const read = (version: string, name: string) =>
        site('get', `peers.${version}.net.example.com`, name, '-n', 'net', '-o', 'jsonpath={.spec}').out;
      expect(read('v1', 'old')).toBe('{"to":{"address":"10.0.0.2"}}');
      expect(read('v1beta1', 'new')).toBe('{"address":"10.0.0.1"}');
      const own = tree.kubectl(retail, [
        'get',
        'peers.v1beta1.net.example.com',
        'old',
        '-n',
        'net',
        '-o',
        'jsonpath={.spec}',
      ]);
      expect(own.out).toBe('{"address":"10.0.0.2"}');
      const table = tree.ok(retail, 'get', 'peers', '-n', 'net');
      expect(table).toMatch(/new .*\nold /);
      const other = tree.kubectl(retail, ['get', 'peers', 'old', '-n', 'net', '-o', 'yaml']);
      expect(other.code).toBe(1);
      expect(other.out).toContain('"old" in namespace "net" is stored in v1beta1');
      expect(other.out).toContain('kubectl get peers.v1beta1.net.example.com old -n net');
    });

    it('may get another storage version, and an object another version by server-side apply', async () => {
      apply(peers('v1beta1'));
      const stored = () => tree.json<Shown>(retail, 'crd', 'peers.net.example.com')?.status?.storedVersions;
      await until('the space names both', () => stored()?.length === 2);
      const next = peer('v1', 'old', 'net', { to: { address: '10.0.0.3' } });
      const refused = send(['apply'], next);
      expect(refused.out).toContain('write the whole object in v1 (kubectl apply --server-side)');
      expect(send(['apply', '--server-side', '--force-conflicts'], next).code).toBe(0);
      await until(
        'the clusters have it',
        () =>
          JSON.stringify(peersOf('v1', 'old').map((one) => one?.spec)) ===
          '[{"to":{"address":"10.0.0.3"}},{"to":{"address":"10.0.0.3"}}]',
      );
      await until('all is well', () => isAvailable('net'));
    });

    it('keeps a version while objects are stored in it', () => {
      const [v1] = peers('v1').spec.versions;
      apply(peer('v1beta1', 'late', 'net', { address: '10.0.0.4' }));
      const definition = { ...peers('v1'), spec: { ...peers('v1').spec, versions: [v1] } };
      const { code, out } = send(['apply'], definition);
      expect(code).toBe(1);
      expect(out).toContain('objects are stored in v1beta1, such as peers.net.example.com net/late');
      tree.ok(retail, 'delete', 'peers.v1beta1.net.example.com', 'late', '-n', 'net');
    });
  });

  describe('a list with one key twice', () => {
    const twice = workload('twice', 'dup', {
      env: [
        { name: 'MODE', value: 'a' },
        { name: 'LEVEL', value: '1' },
        { name: 'MODE', value: 'b' },
        { name: 'PATHS', value: '/a' },
        { name: 'PATHS', value: '$(PATHS):/b' },
      ],
      ports: [
        { name: 'dns', containerPort: 53, protocol: 'UDP' },
        { name: 'dns-tcp', containerPort: 53, protocol: 'TCP' },
      ],
    });
    const hosts = workload(
      'hosts',
      'dup',
      {},
      {
        imagePullSecrets: [{ name: 'pull' }, { name: 'pull' }],
        hostAliases: [
          { ip: '10.0.0.1', hostnames: ['a'] },
          { ip: '10.0.0.1', hostnames: ['b'] },
        ],
      },
    );

    it('gets the warnings of Kubernetes, from create, apply and replace', () => {
      apply(namespace('dup'), place('dup'));
      const warning =
        'Warning: spec.template.spec.containers[0].env[2]: hides previous definition of "MODE", which may be dropped when using apply';
      expect(send(['create'], twice).out).toContain(warning);
      const changed = { ...twice, spec: { ...twice.spec, replicas: 2 } };
      expect(send(['apply'], changed).out).toContain(warning);
      expect(send(['replace'], twice).out).toContain(warning);
      expect(send(['create'], hosts).out).toContain(
        'spec.template.spec.imagePullSecrets[1].name: duplicate name "pull"',
      );
    });

    it('is refused by server-side apply, in the space and at both clusters, with the same words', () => {
      const message = '.spec.template.spec.containers[name="app"].env: duplicate entries for key [name="MODE"]';
      const ssa = ['apply', '--server-side', '-f', '-'];
      const other = JSON.stringify({ ...twice, metadata: { name: 'other', namespace: 'dup' } });
      const answers = [
        tree.kubectl(retail, ssa, other),
        tree.kubectl(embedded, ssa, other.replaceAll('"dup"', '"default"')),
        kubectlBy(plane.kubeconfig, ssa, other.replaceAll('"dup"', '"default"')),
      ];
      for (const { code, out } of answers) {
        expect(code).toBe(1);
        expect(out).toContain('failed to create typed patch object (');
        expect(out).toContain(message);
      }
    });

    it('is delivered with the meaning that it has for the kubelet', async () => {
      await until('both have both', () => both('deploy', 'twice', '-n', 'dup').every((one) => one !== undefined));
      await until('both are available', () => isAvailable('dup'), 120);
      for (const found of both('deploy', 'twice', '-n', 'dup')) {
        const { template } = found!.spec as {
          template: { spec: { containers: { env: object[]; ports: object[] }[] } };
        };
        const { env, ports } = template.spec.containers[0]!;
        expect(env).toEqual([
          { name: 'LEVEL', value: '1' },
          { name: 'MODE', value: 'b' },
          { name: 'PATHS', value: '/a:/b' },
        ]);
        expect(ports).toHaveLength(2);
      }
      for (const found of both('deploy', 'hosts', '-n', 'dup')) {
        const { template } = found!.spec as { template: { spec: object } };
        expect(template.spec).toMatchObject({
          imagePullSecrets: [{ name: 'pull' }],
          hostAliases: [{ ip: '10.0.0.1', hostnames: ['a', 'b'] }],
        });
      }
    });

    it('is reported as invalid if an item would be lost, and no request is sent', async () => {
      const ports = [
        { name: 'http', containerPort: 80 },
        { name: 'metrics', containerPort: 80 },
      ];
      apply(workload('lossy', 'dup', { ports }));
      const failures = () =>
        status('dup')?.failures?.filter(({ object }) => object === 'deployments.apps dup/lossy') ?? [];
      await until('both say so', () => failures().length === 2);
      expect(failures().map(({ reason }) => reason)).toEqual(['Invalid', 'Invalid']);
      tree.ok(retail, 'delete', 'deploy', 'lossy', '-n', 'dup');
      await until('all is well', () => isAvailable('dup'));
    });
  });

  describe('exceptions and bookkeeping', () => {
    it('stay in the space, unless a rule names them', async () => {
      const release = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'sh.helm.release.v1.x.v1', namespace: 'keep' },
        type: 'helm.sh/release.v1',
        stringData: { release: 'x' },
      };
      apply(
        namespace('keep'),
        map('shown', 'keep'),
        map('local', 'keep', { labels: { local: 'true' } }),
        release,
        { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot', namespace: 'keep' } },
        place('keep', { except: [{ labelSelectors: [{ matchLabels: { local: 'true' } }] }] }),
      );
      await until('the rest is there', () => isAvailable('keep'));
      const names = () =>
        [atReal, atEmbedded].map((at) =>
          ['cm', 'secret', 'sa']
            .flatMap((kind) => at(kind, '-n', 'keep', '-l', 'banyan.io/managed')?.items ?? [])
            .map(({ metadata }) => metadata.name)
            .sort(),
        );
      expect(names()).toEqual([
        ['robot', 'shown'],
        ['robot', 'shown'],
      ]);
      apply(place('keep', { resources: ['*', 'secrets'] }));
      await until('all is there', () =>
        names().every((found) => found.join() === 'local,robot,sh.helm.release.v1.x.v1,shown'),
      );
    });

    it('warn about an exception that leaves out everything, and name a wrong field', () => {
      const all = send(['apply'], place('nothing', { except: [{ namespaces: ['*'] }] }));
      expect(all.out).toContain(
        'Warning: spec.downsync[0].except: leaves out everything that spec.downsync[0] selects',
      );
      const wrong = send(['apply'], place('wrong', { except: [{ objectName: ['a'] }] }));
      expect(wrong.code).toBe(1);
      expect(wrong.out).toContain(
        'unknown field "spec.downsync[0].except[0].objectName" (did you mean "objectNames"?)',
      );
      tree.ok(retail, 'delete', 'epl', 'nothing');
    });

    it.skipIf(withoutHelm)('let a chart with a definition be installed, upgraded and removed by helm', async () => {
      const helm = await Helm.find(join(directory, 'helm'));
      const chart = join(directory, 'chart');
      mkdirSync(join(chart, 'templates'), { recursive: true });
      const links = (storage: string) => {
        const definition = structuredClone(peers(storage));
        definition.metadata.name = 'links.net.example.com';
        definition.spec.names = { plural: 'links', singular: 'link', kind: 'Link', listKind: 'LinkList' };
        return definition;
      };
      const write = (storage: string, version: string) => {
        writeFileSync(join(chart, 'Chart.yaml'), stringify({ apiVersion: 'v2', name: 'net', version }));
        writeFileSync(join(chart, 'templates', 'crd.yaml'), stringify(links(storage)));
        writeFileSync(join(chart, 'templates', 'map.yaml'), stringify(map('of-chart', 'chart')));
      };
      const run = (...args: string[]) => {
        const { code, out } = helm.run(
          ...args,
          '-n',
          'chart',
          '--kubeconfig',
          join(tree.data, 'kubeconfig'),
          '--kube-context',
          retail,
        );
        expect(code, out).toBe(0);
      };
      apply(place('chart', { namespaces: ['chart'] }));
      write('v1beta1', '1.0.0');
      run('install', 'net', chart, '--create-namespace');
      expect(send(['create'], { ...peer('v1beta1', 'a', 'chart', { address: '10.0.0.1' }), kind: 'Link' }).code).toBe(
        0,
      );
      await until('the clusters have it', () => isAvailable('chart'));
      write('v1', '2.0.0');
      run('upgrade', 'net', chart);
      const storage = () =>
        both('crd', 'links.net.example.com').map(
          (one) =>
            (one?.spec as { versions?: { name: string; storage: boolean }[] })?.versions?.find((v) => v.storage)?.name,
        );
      await until('the clusters have the new storage version', () => storage().join() === 'v1,v1');
      await until('all is well', () => isAvailable('chart'));
      expect(both('secret', '-n', 'chart', '-l', 'owner=helm').map((list) => list?.items?.length ?? 0)).toEqual([0, 0]);
      run('rollback', 'net', '1');
      await until('the storage version is back', () => storage().join() === 'v1beta1,v1beta1');
      tree.ok(retail, 'delete', 'links.v1beta1.net.example.com', 'a', '-n', 'chart');
      run('uninstall', 'net');
      await until('the clusters have nothing of it', () =>
        [...both('crd', 'links.net.example.com'), ...both('cm', 'of-chart', '-n', 'chart')].every((one) => !one),
      );
    });
  });

  describe('an object that is made anew while the clusters are away', () => {
    const job = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'migrate', namespace: 'anew' },
      spec: {
        template: {
          spec: { restartPolicy: 'Never', containers: [{ name: 'app', image: 'registry.example.com/app:1' }] },
        },
      },
    };
    const immutable = (value: string) => ({ ...map('fixed', 'anew'), data: { value }, immutable: true });
    const objects = [
      ['job', 'migrate'],
      ['cm', 'fixed'],
      ['deploy', 'web'],
      ['cm', 'same'],
    ] as const;
    const uids = () => objects.map(([kind, name]) => both(kind, name, '-n', 'anew').map((one) => one?.metadata.uid));

    it('is replaced there as where it was seen, also if a relay restarts in between', async () => {
      apply(
        namespace('anew'),
        job,
        immutable('1'),
        workload('web', 'anew', {}),
        map('same', 'anew'),
        map('kept', 'anew'),
        place('anew'),
      );
      await until('both have all', () =>
        uids()
          .flat()
          .every((uid) => uid !== undefined),
      );
      const before = uids();
      const kept = () => both('cm', 'kept', '-n', 'anew').map((one) => one?.metadata.uid);
      const keptBefore = kept();
      for (const path of ['eu:rivoli', 'eu:mitte', 'eu']) tree.kill(path);
      tree.ok(retail, 'delete', 'job', 'migrate', '-n', 'anew', '--wait=false');
      await until('it is gone', () => tree.json(retail, 'job', 'migrate', '-n', 'anew') === undefined);
      expect(send(['create'], job).code).toBe(0);
      expect(send(['replace', '--force'], immutable('2')).code).toBe(0);
      expect(send(['replace', '--force'], workload('web', 'anew', {})).code).toBe(0);
      tree.ok(retail, 'delete', 'cm', 'same', '-n', 'anew');
      apply(map('same', 'anew'));
      await tree.down();
      await tree.up('--no-restart');
      await until(
        'all are replaced',
        () => uids().every((pair, i) => pair.every((uid, j) => uid !== undefined && uid !== before[i]![j])),
        120,
      );
      expect(both('cm', 'fixed', '-n', 'anew').map((one) => one?.data?.value)).toEqual(['2', '2']);
      expect(kept()).toEqual(keptBefore);
      const after = uids();
      const versions = () => both('cm', 'same', '-n', 'anew').map((one) => one?.metadata.resourceVersion);
      const written = versions();
      apply(map('later', 'anew'));
      await until('something later is there', () =>
        both('cm', 'later', '-n', 'anew').every((one) => one !== undefined),
      );
      expect([uids(), versions()]).toEqual([after, written]);
    });

    it('keeps the name that it got from generateName', async () => {
      const { stdout } = send(['create', '-o', 'name'], {
        ...map('', 'anew', { name: undefined, generateName: 'run-' }),
      });
      const name = stdout.trim().slice('configmap/'.length);
      expect(name).toMatch(/^run-.{5}$/);
      await until('both have it', () => both('cm', name, '-n', 'anew').every((one) => one !== undefined));
      tree.ok(retail, 'delete', 'cm', name, '-n', 'anew');
      await until('both have lost it', () => both('cm', name, '-n', 'anew').every((one) => one === undefined));
    });
  });
});
