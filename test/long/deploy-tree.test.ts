/**
 * A whole tree on a real node, installed by helm alone: a center, two relays and two agents, each in a namespace of its own, joined by tokens. kubelet and
 * containerd run the image that was built here.
 */
import { execFile, spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { NodeApiClient } from '../../center/cli/api-client.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { banyan, fixture, kubectlBy, until, untilAnswered } from '../e2e/local-tree.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { freePorts } from '../support/free-ports.ts';
import { Helm, withoutHelm } from '../support/helm.ts';
import { kubectlProgram, withoutKubectl } from '../support/kubectl.ts';
import { withoutNode } from '../support/kubelet/programs.ts';
import { RealNode } from '../support/kubelet/real-node.ts';
import { SteadyWriter } from '../support/steady-writer.ts';

const missing = withoutKubectl ?? withoutControlPlane() ?? withoutHelm ?? withoutNode();
const why = missing ? ` [not run: ${missing}]` : '';
/** The programs may have to be built first. */
const buildMsMax = 3_600_000;
const image = { repository: 'banyan.test/banyan', tag: 'test', pullPolicy: 'Never' };
const chart = fixture('deploy/chart');
const relays = ['eu', 'us'] as const;
const agents = { rivoli: 'eu', market: 'us' } as const;

/** The output of `join-token -o json`. */
interface Printed {
  readonly token: string;
  readonly parent: { readonly address: string };
}

interface Kubeconfig {
  readonly clusters: { name: string; cluster: { server: string } }[];
  readonly contexts: { name: string; context: { cluster: string; user: string } }[];
}

describe.skipIf(missing)(`a tree that helm installs on a real node${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'by-'));
  const admin = join(directory, 'admin.kubeconfig');
  let plane: ControlPlane;
  let node: RealNode;
  let helm: Helm;
  let apiPort = 0;

  const site = (...args: string[]): string => {
    const { code, out } = kubectlBy(plane.kubeconfig, args);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${out}`);
    return out;
  };
  const at = (context: string, args: readonly string[], input?: string) =>
    kubectlBy(admin, ['--context', context, ...args], input);
  const cli = (...args: string[]): string => {
    const { code, out, stdout } = banyan(...args, '--kubeconfig', admin);
    if (code !== 0) throw new Error(`banyan ${args.join(' ')}: ${out}`);
    return stdout.trim();
  };
  /** Each release has the name banyan, and a namespace of its own. */
  const release = (act: 'install' | 'upgrade', namespace: string, values: object, ...more: string[]) => {
    const file = join(directory, `values-${namespace}.yaml`);
    writeFileSync(file, stringify({ image, ...values }));
    const flags = ['-n', namespace, '--create-namespace', '--kubeconfig', plane.kubeconfig, ...more];
    return helm.run(act, 'banyan', chart, '-f', file, ...(act === 'install' ? flags : flags.toSpliced(2, 1)));
  };
  const wait = ['--wait', '--timeout', '110s'];
  const upgradeRivoli = (...changed: string[]) =>
    helm.runBeside(
      'upgrade',
      'banyan',
      chart,
      '-n',
      'rivoli',
      '--reuse-values',
      ...changed,
      '--kubeconfig',
      plane.kubeconfig,
    );
  const persistence = { size: '64Mi', retain: false };
  const center = (more: object = {}) => ({
    role: 'center',
    names: ['center.test'],
    advertise: { api: `127.0.0.1:${apiPort}`, mesh: 'banyan.center.svc:7443' },
    center: { tree: 'retail' },
    node: { persistence, spaces: [{ name: 'retail', type: 'Workload' }], ...more },
  });
  const relay = (path: string, { token, parent }: Printed, more: object = {}, names = [`${path}.test`]) => ({
    role: 'relay',
    names,
    advertise: { mesh: `banyan.${path}.svc:7443` },
    relay: { path, parent, identity: { joinToken: token } },
    node: { persistence, labels: { region: path }, ...more },
  });
  /** A token with the address of the parent, as the parent advertises it. */
  const tokenFor = (...args: string[]): Printed => {
    const { token, parent } = JSON.parse(cli('join-token', ...args, '-o', 'json')) as Printed;
    return { token, parent };
  };
  const isConnected = (parent: string, path: string) => {
    const { stdout } = at(`node/${parent}`, ['get', 'nodes.mesh.banyan.io', path.replaceAll(':', '.'), '-o', 'json']);
    const shown = JSON.parse(stdout || '{}') as { status?: { session?: { state?: string } } };
    return shown.status?.session?.state === 'Connected';
  };
  const uidOf = (namespace: string) =>
    site('get', 'pod', 'banyan-0', '-n', namespace, '-o', 'jsonpath={.metadata.uid}');
  const price = (namespace: string) =>
    kubectlBy(plane.kubeconfig, ['get', 'cm', 'prices', '-n', namespace, '-o', 'jsonpath={.data.bread}']).out;
  const setPrice = (shop: string, bread: string) =>
    at('space/center/retail', ['patch', 'cm', 'prices', '-n', shop, '-p', JSON.stringify({ data: { bread } })]);

  beforeAll(async () => {
    helm = await Helm.find(join(directory, 'helm'));
    const archive = join(directory, 'image.tar');
    const name = `${image.repository}:${image.tag}`;
    const built = promisify(execFile)(process.execPath, [
      fixture('deploy/image/build.ts'),
      '--out',
      archive,
      '--name',
      name,
    ]);
    [plane] = await Promise.all([ControlPlane.start({ directory: join(directory, 'plane') }), built]);
    // kwok would simulate the pods of this node too.
    await plane.stopComponents(['kwok']);
    [apiPort] = (await freePorts(1)) as [number];
    const options = { directory: join(directory, 'n'), name: 'machine-1', kubeconfig: plane.kubeconfig };
    node = await RealNode.start({ ...options, ways: {}, services: true });
    node.import(archive);
    for (const volume of ['a', 'b', 'c', 'd']) {
      const path = join(directory, 'volumes', volume);
      mkdirSync(path, { recursive: true });
      chownSync(path, 65_532, 65_532);
      const { code, out } = kubectlBy(plane.kubeconfig, ['apply', '-f', '-'], JSON.stringify(volumeAt(volume, path)));
      expect(code, out).toBe(0);
    }
    await until('the node is ready', () => /\bReady\b/.test(kubectlBy(plane.kubeconfig, ['get', 'nodes']).out));
  }, buildMsMax);
  afterAll(async () => {
    await node?.[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('begins with a center that makes its own authority, and the printed command makes the first administrator', async () => {
    const { code, out } = release('install', 'center', center(), ...wait);
    expect(code, out).toBe(0);
    const address = site('get', 'service', 'banyan', '-n', 'center', '-o', 'jsonpath={.spec.clusterIP}');
    node.wayTo(apiPort, `${address}:6443`);
    const [command] = /kubectl -n center exec[^>]*> admin\.kubeconfig/.exec(out) ?? [''];
    const env = { ...process.env, KUBECONFIG: plane.kubeconfig };
    const ran = spawnSync('sh', ['-c', command.replace('kubectl', kubectlProgram)], {
      cwd: directory,
      env,
      encoding: 'utf8',
    });
    expect(ran.status, ran.stderr).toBe(0);
    const { clusters } = parse(readFileSync(admin, 'utf8')) as Kubeconfig;
    expect(clusters.map(({ cluster }) => new URL(cluster.server).host)).toContain(`127.0.0.1:${apiPort}`);
    await until('kubectl works there', () => at('node/center', ['get', 'spaces']).out.includes('retail'));
    expect(at('node/center', ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}']).out).toBe('admin');
  });

  it('takes relays and agents by tokens alone', async () => {
    for (const path of relays) {
      const token = tokenFor('--relay', path, '--host', `${path}.test`);
      expect(token.parent.address).toBe('banyan.center.svc:7443');
      const { code, out } = release('install', path, relay(path, token), ...wait);
      expect(code, out).toBe(0);
      await until(`${path} is connected`, () => isConnected('center', path));
      // From here on, the certificate in the volume is enough.
      site('delete', 'secret', 'banyan-join-token', '-n', path);
      addContext(admin, `node/${path}`, `/tree/${path}`);
      await until(`${path} answers`, () => at(`node/${path}`, ['get', '--raw', '/readyz']).code === 0);
    }
    for (const [name, parent] of Object.entries(agents)) {
      const { token: joinToken, parent: at } = tokenFor(`${parent}:${name}`, '--label', `shop=${name}`);
      const data = { hostPath: join(directory, 'agents') };
      const agent = {
        path: `${parent}:${name}`,
        parent: at,
        identity: { joinToken },
        data,
      };
      const { code, out } = release('install', name, { agent }, ...wait);
      expect(code, out).toBe(0);
      await until(`${name} is connected`, () => isConnected(parent, `${parent}:${name}`));
    }
  });

  it('brings a workload to both', async () => {
    for (const name of Object.keys(agents)) {
      const shop = `shop-${name}`;
      expect(at('space/center/retail', ['create', 'namespace', shop]).code).toBe(0);
      const items = [prices(shop), till(shop), placement(shop, name)];
      const objects = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
      const { code, out } = at('space/center/retail', ['apply', '-f', '-'], objects);
      expect(code, out).toBe(0);
    }
    for (const name of Object.keys(agents)) {
      const shop = `shop-${name}`;
      await until(
        `${shop} is available`,
        () =>
          at('space/center/retail', ['get', 'epl', shop, '-o', 'jsonpath={.status.display}']).out === 'available 1/1',
        90,
      );
      expect(price(shop)).toBe('1');
    }
  });

  it('passes helm test at the center and the relays', () => {
    for (const namespace of ['center', ...relays]) {
      const ran = helmTest(namespace);
      expect(ran.code, ran.out).toBe(0);
    }
  });

  it('gives a relay its place and its subtree back when its pod is deleted and its volume is kept', async () => {
    const before = uidOf('eu');
    const tillUid = () => site('get', 'deploy', 'till', '-n', 'shop-rivoli', '-o', 'jsonpath={.metadata.uid}');
    const delivered = tillUid();
    site('delete', 'pod', 'banyan-0', '-n', 'eu');
    await until(
      'there is another pod',
      () => {
        const { code, out } = kubectlBy(plane.kubeconfig, [
          'get',
          'pod',
          'banyan-0',
          '-n',
          'eu',
          '-o',
          'jsonpath={.metadata.uid}',
        ]);
        return code === 0 && out !== before;
      },
      60,
    );
    await until(
      'it and its agent are connected',
      () => isConnected('center', 'eu') && isConnected('eu', 'eu:rivoli'),
      90,
    );
    setPrice('shop-rivoli', '2');
    await until('a change arrives', () => price('shop-rivoli') === '2', 30);
    expect(tillUid()).toBe(delivered);
  });

  it('takes changed values: another name of a relay is in its certificate when its parent admits it', async () => {
    const ingress = { enabled: true, apiHost: 'eu.test', meshHost: 'mesh.eu.test' };
    const parent = { address: 'banyan.center.svc:7443' };
    const token = { token: '', parent };
    const changed = relay('eu', token, { logLevel: 'debug', ingress }, ['eu.test', 'eu.example.test']);
    const identity = { joinTokenSecretName: 'used' };
    const values = { ...changed, relay: { ...changed.relay, identity }, networkPolicy: { enabled: true } };
    const { code, out } = release('upgrade', 'eu', values, ...wait);
    expect(code, out).toBe(0);
    const refused = helmTest('eu');
    expect(refused.code).not.toBe(0);
    const named = ['--host', 'eu.test', '--host', 'eu.example.test'];
    expect(logOf('eu')).toMatch(/names: the certificate lacks eu\.example\.test: admit them/);
    cli('join-token', '--relay', 'eu', '--again', ...named);
    await until(
      'the certificate has the name',
      () => node.outputOf('banyan-0', 'relay').some((line) => line.includes('a renewed certificate is used')),
      150,
    );
    const passed = helmTest('eu');
    expect(passed.code, passed.out).toBe(0);
    setPrice('shop-rivoli', '3');
    await until('a change arrives', () => price('shop-rivoli') === '3', 30);
  });

  it('takes a changed value of every release while an object changes all the time: nothing is made anew, and everything is exact afterwards', async () => {
    const before = uids();
    const writer = new SteadyWriter(() => new NodeApiClient(admin), {
      context: 'space/center/retail',
      path: '/api/v1/namespaces/shop-rivoli/configmaps/prices',
      nth: (count) => prices('shop-rivoli', String(100 + count)),
    });
    writer.start();
    for (const namespace of ['center', ...relays, ...Object.keys(agents)]) {
      const pod = uidsOf('pods', namespace);
      const countBefore = writer.count;
      const field = namespace in agents ? 'agent.logLevel=warn' : 'node.logLevel=warn';
      const file = join(directory, `values-${namespace}.yaml`);
      const flags = ['-n', namespace, '-f', file, '--set', field, '--kubeconfig', plane.kubeconfig, ...wait];
      const { code, out } = await helm.runBeside('upgrade', 'banyan', chart, ...flags);
      expect(code, out).toBe(0);
      await untilAnswered(`writes go on after the upgrade of ${namespace}`, async () => writer.count > countBefore);
      expect(uidsOf('pods', namespace)).not.toEqual(pod);
    }
    await writer.end();
    expect(writer.count).toBeGreaterThan(100);
    await until('the last change has arrived', () => price('shop-rivoli') === String(100 + writer.count), 90);
    for (const name of Object.keys(agents)) {
      const shown = () => at('space/center/retail', ['get', 'epl', `shop-${name}`, '-o', 'json']).stdout;
      await until(`${name} is exact`, () => isExact(shown()), 90).catch(() => expect(shown()).toBe('exact'));
    }
    expect(uids()).toEqual(before);
  });

  it('does not move an agent whose token was forgotten, says what to do, and goes on after helm rollback', async () => {
    const ran = await upgradeRivoli(
      '--set',
      'agent.path=us:rivoli',
      '--set',
      'agent.parent.address=banyan.us.svc:7443',
    );
    expect(ran.code, ran.out).toBe(0);
    await until(
      'the log names the remedy',
      () =>
        /banyan-joined has the certificate of the agent \W*eu:rivoli\W.*join-token us:rivoli/.test(
          kubectlBy(plane.kubeconfig, ['logs', 'daemonset/banyan', '-n', 'rivoli']).out,
        ),
      90,
    );
    const back = helm.run('rollback', 'banyan', '-n', 'rivoli', '--kubeconfig', plane.kubeconfig, ...wait);
    expect(back.code, back.out).toBe(0);
    const countBefore = Number(price('shop-rivoli'));
    setPrice('shop-rivoli', String(countBefore + 1));
    await until('a change arrives', () => price('shop-rivoli') === String(countBefore + 1), 60);
  });

  it('moves an agent to another region by helm and a token, while an object changes all the time: no object is made anew', async () => {
    const objects = () => uidsOf('pods,deployments,configmaps', 'shop-rivoli');
    const before = objects();
    const first = Number(price('shop-rivoli'));
    const writer = new SteadyWriter(() => new NodeApiClient(admin), {
      context: 'space/center/retail',
      path: '/api/v1/namespaces/shop-rivoli/configmaps/prices',
      nth: (count) => prices('shop-rivoli', String(first + count)),
    });
    writer.start();
    await untilAnswered('there are changes', async () => writer.count > 0);
    const { token, parent } = tokenFor('us:rivoli', '--label', 'shop=rivoli');
    const place = ['--set', 'agent.path=us:rivoli', '--set', `agent.parent.address=${parent.address}`];
    const ran = await upgradeRivoli(...place, '--set', `agent.identity.joinToken=${token}`, ...wait);
    expect(ran.code, ran.out).toBe(0);
    await until('it is connected', () => isConnected('us', 'us:rivoli'));
    cli('remove', 'eu:rivoli', '--orphan');
    const countBefore = writer.count;
    await untilAnswered('writes go on', async () => writer.count > countBefore + 20);
    await writer.end();
    await until('the last change has arrived', () => price('shop-rivoli') === String(first + writer.count), 90);
    const shown = () => at('space/center/retail', ['get', 'epl', 'shop-rivoli', '-o', 'json']).stdout;
    await until('it is exact', () => isExact(shown()), 90).catch(() => expect(shown()).toBe('exact'));
    expect(objects()).toBe(before);
    const places = (path: string) => at(`node/${path}`, ['get', 'synctargets,locations', '-o', 'name']).out;
    expect(places('us').match(/rivoli$/gm)).toHaveLength(2);
    expect(places('eu')).not.toContain('rivoli');
  });

  it('refuses a token of another role, in the words of the parent', async () => {
    const token = tokenFor('kiosk');
    const { code, out } = release('install', 'wrong', relay('kiosk', token));
    expect(code, out).toBe(0);
    await until(
      'the log names the reason',
      () => node.outputOf('banyan-0', 'relay').some((line) => line.includes('this join token is for the agent')),
      90,
    );
  });

  it('leaves nothing after helm uninstall', async () => {
    const released = ['wrong', ...Object.keys(agents), ...relays, 'center'];
    for (const namespace of released) {
      const ran = helm.run(
        'uninstall',
        'banyan',
        '-n',
        namespace,
        '--wait',
        '--timeout',
        '100s',
        '--kubeconfig',
        plane.kubeconfig,
      );
      expect(ran.code, ran.out).toBe(0);
    }
    await until('every object is gone', () => leftIn(released).length === 0, 60).catch(() =>
      expect(leftIn(released)).toEqual([]),
    );
    // What was delivered stays.
    expect(Number(price('shop-rivoli'))).toBeGreaterThan(100);
  });

  /** The uids of what was delivered, of what the space has, and of the places. */
  function uids(): Readonly<Record<string, string>> {
    const shops = Object.keys(agents).map((name) => `shop-${name}`);
    const delivered = shops.map((shop) => [`${shop} at its cluster`, uidsOf('pods,deployments,configmaps', shop)]);
    const kept = shops.map((shop) => [
      `${shop} in the space`,
      inSpace('get', 'deploy,cm,epl', '-n', shop, ...uidColumn),
    ]);
    const places = relays.map((path) => [path, at(`node/${path}`, ['get', 'synctargets,locations', ...uidColumn]).out]);
    return Object.fromEntries([...delivered, ...kept, ...places]);
  }

  function uidsOf(kinds: string, namespace: string): string {
    return site('get', kinds, '-n', namespace, ...uidColumn);
  }

  function inSpace(...args: string[]): string {
    return at('space/center/retail', args).out;
  }

  /** The objects in these namespaces, and the cluster-scoped ones of the releases, without those that Kubernetes itself makes in every namespace. */
  function leftIn(namespaces: readonly string[]): string[] {
    const kinds = site('api-resources', '--namespaced', '--verbs=list', '-o', 'name').trim().split('\n');
    const own = /^(event|configmap\/kube-root-ca\.crt$|serviceaccount\/default$)/;
    const named = (...args: string[]) =>
      kubectlBy(plane.kubeconfig, ['get', ...args, '-o', 'name'])
        .stdout.split('\n')
        .filter(Boolean);
    const inside = namespaces.flatMap((namespace) =>
      named(kinds.join(','), '-n', namespace)
        .filter((name) => !own.test(name))
        .map((name) => `${namespace}: ${name}`),
    );
    const label = 'app.kubernetes.io/instance=banyan';
    return [...inside, ...named('clusterroles,clusterrolebindings', '-l', label)];
  }

  function helmTest(namespace: string) {
    return helm.run('test', 'banyan', '-n', namespace, '--kubeconfig', plane.kubeconfig, '--timeout', '100s');
  }

  /** The log of the last test pod. */
  function logOf(namespace: string): string {
    return kubectlBy(plane.kubeconfig, ['logs', 'banyan-test', '-n', namespace]).out;
  }
});

const uidColumn = ['-o', 'custom-columns=NAME:.metadata.name,UID:.metadata.uid', '--no-headers'];

/** Whether the status is about the present generation, and every destination has everything. */
function isExact(text: string): boolean {
  interface Shown {
    readonly metadata: { readonly generation: number };
    readonly status: { readonly observedGeneration: number; readonly summary: Readonly<Record<string, number>> };
  }
  const { metadata, status } = JSON.parse(text) as Shown;
  const { expected, fresh, synced, applied, available, ...others } = status.summary;
  const isComplete = [expected, fresh, synced, applied, available].every((count) => count === 1);
  const isClean = Object.values(others).every((count) => count === 0);
  return status.observedGeneration === metadata.generation && isComplete && isClean;
}

/** Adds a context that leads through the center to a node below. */
function addContext(file: string, name: string, path: string): void {
  const config = parse(readFileSync(file, 'utf8')) as Kubeconfig;
  const [first] = config.clusters;
  const [{ context }] = config.contexts as [Kubeconfig['contexts'][0]];
  const { origin } = new URL(first!.cluster.server);
  config.clusters.push({ name, cluster: { ...first!.cluster, server: `${origin}${path}` } });
  config.contexts.push({ name, context: { ...context, cluster: name } });
  writeFileSync(file, stringify(config));
}

function volumeAt(name: string, path: string): object {
  const spec = {
    capacity: { storage: '64Mi' },
    accessModes: ['ReadWriteOnce'],
    hostPath: { path },
    persistentVolumeReclaimPolicy: 'Retain',
  };
  return { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name }, spec };
}

function prices(namespace: string, bread = '1'): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'prices', namespace }, data: { bread } };
}

function till(namespace: string): object {
  const labels = { app: 'till' };
  const container = {
    name: 'till',
    image: `${image.repository}:${image.tag}`,
    imagePullPolicy: 'Never',
    command: ['/usr/bin/node', '-e', 'setInterval(() => {}, 1e6)'],
  };
  const template = {
    metadata: { labels },
    spec: { containers: [container], automountServiceAccountToken: false, terminationGracePeriodSeconds: 0 },
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'till', namespace },
    spec: { replicas: 1, selector: { matchLabels: labels }, template },
  };
}

function placement(namespace: string, shop: string): object {
  return {
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'EdgePlacement',
    metadata: { name: namespace },
    spec: {
      locationSelectors: [{ matchLabels: { shop } }],
      downsync: [{ apiGroup: '*', resources: ['*'], namespaces: [namespace] }],
    },
  };
}
