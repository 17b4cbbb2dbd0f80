/** A chart with everything that charts of operators have, through a space to five clusters, compared with `helm install` straight to a cluster. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { fixture, kubectlBy, LocalTree, until } from '../e2e/local-tree.ts';
import { buildMsMax } from '../e2e/one-site.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { furnish } from '../support/control-plane/furniture.ts';
import { Helm, type HelmVersion, withoutHelm, withoutHelm4 } from '../support/helm.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const retail = 'space/center/retail';
const embedded = ['eu:mitte', 'us:market', 'hq'];
/** The index of the cluster to which helm installs straight. */
const straightAt = 2;
const chart = fixture('test/fixtures/helm/operator');

interface Live {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly status?: object;
  readonly type?: string;
}

const namespaced =
  'sa,cm,secret,svc,deploy,ds,sts,cronjob,job,hpa,pdb,ingress,netpol,role,rolebinding,tanks,peers.v1.net.example.com';
const clusterScoped =
  'clusterrole,clusterrolebinding,priorityclass,ingressclass,crd,validatingwebhookconfiguration,mutatingwebhookconfiguration';
/** What each cluster chooses by itself. */
const chosen = new Set(['clusterIP', 'clusterIPs', 'nodePort']);

/** The objects of the release at a cluster, without status and without what each cluster chooses by itself; keyed by kind and name. */
function contentsOf(kubeconfig: string, release: string): Record<string, object> {
  const label = `app.kubernetes.io/instance=${release}`;
  const questions = [
    [namespaced, '-n', release],
    [clusterScoped, '-l', label],
    ['role,rolebinding', '-n', 'kube-system', '-l', label],
  ];
  const items = questions.flatMap((args) => {
    const { stdout } = kubectlBy(kubeconfig, ['get', ...args, '-o', 'json']);
    return stdout === '' ? [] : (JSON.parse(stdout) as { items: Live[] }).items;
  });
  const own = items.filter(
    ({ type, metadata }) => type !== 'helm.sh/release.v1' && metadata.name !== 'kube-root-ca.crt',
  );
  return Object.fromEntries(own.map((item) => [`${item.kind} ${item.metadata.name}`, contentOf(item)]));
}

function contentOf({ metadata, status: _status, ...rest }: Live): object {
  const foreign = ([name]: [string, string]) => !/banyan\.io|deployment\.kubernetes\.io/.test(name);
  const only = (all: Readonly<Record<string, string>> = {}) =>
    Object.fromEntries(Object.entries(all).filter((entry) => foreign(entry)));
  return { ...withoutChosen(rest), labels: only(metadata.labels), annotations: only(metadata.annotations) };
}

function withoutChosen<T>(value: T): T {
  return JSON.parse(JSON.stringify(value, (name, field) => (chosen.has(name) ? undefined : field))) as T;
}

const versions: readonly { version: HelmVersion; absent: string | undefined }[] = [
  { version: 3, absent: withoutHelm },
  { version: 4, absent: withoutHelm4 },
];

describe.skipIf(missing)(`a chart of an operator in a space with five clusters${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-operator-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const planes: ControlPlane[] = [];
  const children: ChildProcess[] = [];
  let port: string;

  const start = async (file: string, args: readonly string[]): Promise<ChildProcess> => {
    const program = join(import.meta.dirname, '../e2e', file);
    const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    return child;
  };
  const pki = (file: string) => join(tree.data, 'pki', file);

  beforeAll(async () => {
    for (const name of ['rivoli', 'fulton', 'straight']) {
      planes.push(await ControlPlane.start({ directory: join(directory, name) }));
      furnish(planes.at(-1)!, { nodes: 2, volumes: 0 });
    }
    const labels = { env: 'prod' };
    const real = (at: number) => ({ kubeconfig: { path: planes[at]!.kubeconfig } });
    const topology = {
      apiVersion: 'banyan.io/v1alpha1',
      kind: 'Topology',
      metadata: { name: 'charts' },
      spec: {
        center: { spaces: [{ name: 'retail', type: 'Workload' }] },
        relays: [{ name: 'eu' }, { name: 'us' }],
        clusters: [
          { name: 'rivoli', parent: 'eu', labels, provider: real(0) },
          { name: 'fulton', parent: 'us', labels, provider: real(1) },
          { name: 'mitte', parent: 'eu', labels },
          { name: 'market', parent: 'us', labels },
          { name: 'hq', labels },
        ],
      },
    };
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up('--no-restart');
    const server = await start('webhooks.ts', [pki('center.crt'), pki('center.key')]);
    const [printed] = (await once(server.stdout!, 'data')) as [Buffer];
    port = String(printed).trim();
  }, buildMsMax);
  afterAll(async () => {
    for (const child of children) child.kill();
    await tree[Symbol.asyncDispose]();
    for (const plane of planes) await plane[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  describe.each(versions)('by helm $version', ({ version, absent }) => {
    const release = `op${version}`;
    let helm: Helm;
    const inSpace = () => ['--kubeconfig', join(tree.data, 'kubeconfig'), '--kube-context', retail];
    const straight = () => ['--kubeconfig', planes[straightAt]!.kubeconfig];
    /** Runs helm in the space and straight at a cluster, with the same arguments. */
    const run = (...args: string[]) => {
      for (const where of [straight(), inSpace()]) {
        const { code, out } = helm.run(...args, '-n', release, ...where);
        expect(code, out).toBe(0);
      }
    };
    const waiting = ['--wait', '--timeout', '110s'];
    const values = (more: object = {}) => {
      const file = join(directory, 'values.yaml');
      const authority = readFileSync(pki('ca.crt')).toString('base64');
      writeFileSync(file, stringify({ webhooks: `https://127.0.0.1:${port}`, authority, ...more }));
      return ['-f', file];
    };
    /** Real clusters have what the straight installation has. Embedded ones fill in less: they have what the chart says. */
    const expectSame = async () => {
      tree.ok(retail, 'wait', `epl/${release}`, '--for=condition=Ready', '--timeout=60s');
      const wanted = () => contentsOf(planes[straightAt]!.kubeconfig, release);
      for (const { kubeconfig } of planes.slice(0, 2)) {
        const isSame = () => isDeepStrictEqual(contentsOf(kubeconfig, release), wanted());
        await until('a real cluster is as the straight one', isSame, 30).catch(() => undefined);
        expect(contentsOf(kubeconfig, release)).toEqual(wanted());
      }
      const manifest = helm.run('get', 'manifest', release, '-n', release, ...inSpace()).stdout;
      const sent = parseAllDocuments(manifest).flatMap((document) => {
        const object = document.toJS() as (Live & { stringData?: object }) | null;
        if (!object) return [];
        const { stringData: _text, ...rest } = object;
        return [rest];
      });
      const items = sent.map((object) => ({ ...object, metadata: { namespace: release, ...object.metadata } }));
      const asked = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
      for (const path of embedded) {
        const { stdout } = tree.kubectl(`cluster/${path}`, ['get', '-o', 'json', '-f', '-'], asked);
        expect((JSON.parse(stdout) as { items: Live[] }).items).toMatchObject(sent);
      }
    };
    const everywhere = () => [
      ...planes.map(
        ({ kubeconfig }) =>
          (...args: string[]) =>
            kubectlBy(kubeconfig, args),
      ),
      ...embedded.map(
        (path) =>
          (...args: string[]) =>
            tree.kubectl(`cluster/${path}`, args),
      ),
    ];
    const certificates = () =>
      everywhere().map((kubectl) =>
        kubectl('get', 'secret', 'certificate', '-n', release, '-o', 'jsonpath={.metadata.uid}'),
      );
    let made: readonly string[];

    beforeAll(async () => {
      if (absent) return;
      helm = await Helm.find(join(directory, `helm${version}`), version);
      const label = [{ matchLabels: { 'app.kubernetes.io/instance': release } }];
      const placement = {
        apiVersion: 'edge.banyan.io/v1alpha1',
        kind: 'EdgePlacement',
        metadata: { name: release },
        spec: {
          locationSelectors: [{ matchLabels: { env: 'prod' } }],
          downsync: [
            { apiGroup: '*', resources: ['*'], namespaces: [release] },
            { apiGroup: '*', resources: ['*'], labelSelectors: label },
          ],
        },
      };
      expect(tree.apply(retail, placement).code).toBe(0);
      const clusters = [
        ...planes.map((plane) => `${plane.kubeconfig}#cluster`),
        ...embedded.map((path) => `${join(tree.data, 'kubeconfig')}#cluster/${path}`),
      ];
      await start('hook-programs.ts', [release, pki('ca.crt'), ...clusters]);
    });

    it.skipIf(absent)(`installs it as straight to a cluster${absent ? ` [not run: ${absent}]` : ''}`, async () => {
      run('install', release, chart, '--create-namespace', ...waiting, ...values());
      await expectSame();
    });

    it.skipIf(absent)('keeps at each cluster what the hook before the installation has made', async () => {
      await until('each cluster has a certificate', () => certificates().every(({ code }) => code === 0));
      made = certificates().map(({ stdout }) => stdout);
      expect(new Set(made).size).toBe(planes.length + embedded.length);
    });

    it.skipIf(absent)(
      'leaves in the webhook configurations what the hook after the installation has written',
      async () => {
        const labels = { 'net.example.com/ticket': 'true' };
        const ticket = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `ticket${version}`, labels } };
        const tryCreate = (at: number) =>
          kubectlBy(planes[at]!.kubeconfig, ['create', '--dry-run=server', '-f', '-'], JSON.stringify(ticket));
        for (const at of [0, 1, 2]) await until('the webhook allows it', () => tryCreate(at).code === 0);
        await expectSame();
      },
    );

    it.skipIf(absent)('upgrades it', async () => {
      run(
        'upgrade',
        release,
        chart,
        ...waiting,
        ...values({ image: 'operator:2', greeting: 'Good evening', peer: true }),
      );
      await expectSame();
      expect(certificates().map(({ stdout }) => stdout)).toEqual(made);
    });

    // helm 4 applies on the server, which keeps the filled-in rollingUpdate: no API server accepts this change.
    if (version === 3) {
      it.skipIf(absent)('changes the strategy of a Deployment to Recreate', async () => {
        run('upgrade', release, chart, ...waiting, ...values({ strategy: 'Recreate' }));
        await expectSame();
      });
    }

    it.skipIf(absent)('rolls it back', async () => {
      run('rollback', release, '1', ...waiting);
      await expectSame();
      expect(certificates().map(({ stdout }) => stdout)).toEqual(made);
    });

    it.skipIf(absent)('uninstalls it, and nothing is left at the clusters or in the space', async () => {
      run('uninstall', release, ...waiting);
      const label = `app.kubernetes.io/instance=${release}`;
      const left = () =>
        everywhere()
          .filter((_, at) => at !== straightAt)
          .map((kubectl) => [
            kubectl('get', 'ns', release, '--ignore-not-found', '-o', 'name').out,
            kubectl('get', 'role,rolebinding', '-n', 'kube-system', '-l', label, '-o', 'name').out,
            kubectl('get', clusterScoped, '-l', label, '-o', 'name').out,
          ]);
      await until('nothing is left', () => left().flat().join('') === '');
      expect(tree.ok(retail, 'get', clusterScoped, '-l', label, '-o', 'name')).toBe('');
      const kinds = `${namespaced.replace(/,tanks.*/, '')},rs`;
      const inNamespace = tree.ok(retail, 'get', kinds, '-n', release, '-o', 'name').trim().split('\n');
      // Each namespace has these two. helm leaves the namespace that it made, as at every API server.
      expect(inNamespace.sort()).toEqual(['configmap/kube-root-ca.crt', 'serviceaccount/default']);
    });
  });
});
