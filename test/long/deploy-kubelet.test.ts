/** The image and the chart on a real node: kubelet and containerd run the pod of the DaemonSet, which joins a relay of this machine. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import type { AuditEvent } from '../../core/audit/event.ts';
import { banyan, fixture, kubectlBy, LocalTree, until, untilAnswered } from '../e2e/local-tree.ts';
import { placedInProduction } from '../e2e/placements.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { freePorts } from '../support/free-ports.ts';
import { Helm, withoutHelm } from '../support/helm.ts';
import { kubectlProgram, withoutKubectl } from '../support/kubectl.ts';
import { withoutNode } from '../support/kubelet/programs.ts';
import { RealNode } from '../support/kubelet/real-node.ts';
import { RealProxies, withoutProxies } from '../support/real-proxies.ts';

const missing = withoutKubectl ?? withoutControlPlane() ?? withoutHelm ?? withoutProxies ?? withoutNode();
const why = missing ? ` [not run: ${missing}]` : '';
/** The programs may have to be built first. */
const buildMsMax = 3_600_000;
const [release, namespace] = ['banyan-agent', 'banyan'];
const path = 'eu:rivoli';
const image = { repository: 'banyan.test/banyan', tag: 'test' };
/** The address at which pods reach the relay. */
const relayPort = 7443;
const proxyPort = 3128;

describe.skipIf(missing)(`the agent on a real node${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'by-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const proxies = new RealProxies();
  let meshPort = 0;
  let plane: ControlPlane;
  let node: RealNode;
  let helm: Helm;

  const site = (...args: string[]): string => {
    const { code, out } = kubectlBy(plane.kubeconfig, args);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${out}`);
    return out;
  };
  const pods = () =>
    site('get', 'pods', '-n', namespace, '-l', `app.kubernetes.io/instance=${release}`, '-o', 'name')
      .trim()
      .split('\n')
      .filter(Boolean)
      .map((name) => name.replace('pod/', ''));
  const isReady = (pod: string) =>
    site('get', 'pod', pod, '-n', namespace, '-o', 'jsonpath={.status.conditions[?(@.type=="Ready")].status}') ===
    'True';
  const price = () => {
    const { code, out } = kubectlBy(plane.kubeconfig, [
      'get',
      'cm',
      'prices',
      '-n',
      'shop',
      '-o',
      'jsonpath={.data.bread}',
    ]);
    return code === 0 ? out : undefined;
  };
  const setPrice = (bread: string) =>
    tree.ok('space/center/retail', 'patch', 'cm', 'prices', '-n', 'shop', '-p', JSON.stringify({ data: { bread } }));
  const withValues = (act: 'install' | 'upgrade', agent: object) => {
    const file = join(directory, 'values.yaml');
    const data = { hostPath: join(directory, 'n/data') };
    const streams = { users: ['center:admin'], groups: ['center:system:masters'] };
    writeFileSync(
      file,
      stringify({ image: { ...image, pullPolicy: 'Never' }, agent: { path, data, streams, ...agent } }),
    );
    return helm.run(
      act,
      release,
      fixture('deploy/chart'),
      '-f',
      file,
      '-n',
      namespace,
      '--kubeconfig',
      plane.kubeconfig,
    );
  };
  const holder = () => site('get', 'lease', release, '-n', namespace, '-o', 'jsonpath={.spec.holderIdentity}');

  beforeAll(async () => {
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    helm = await Helm.find(join(directory, 'helm'));
    const archive = join(directory, 'image.tar');
    const built = promisify(execFile)(process.execPath, [
      fixture('deploy/image/build.ts'),
      '--out',
      archive,
      '--name',
      `${image.repository}:${image.tag}`,
    ]);
    [plane] = await Promise.all([
      ControlPlane.start({ directory: join(directory, 'plane'), audit: true }),
      tree.up(),
      built,
    ]);
    // kwok would simulate the pods of this node too.
    await plane.stopComponents(['kwok']);
    const { mesh } = parse(readFileSync(join(tree.data, 'config/eu.yaml'), 'utf8')) as { mesh: { port: number } };
    meshPort = mesh.port;
    const [proxy] = await freePorts(1);
    // Only this node knows the relay by this name.
    const hosts = proxies.write('hosts', '127.0.0.1 relay.test\n');
    await proxies.squid(
      'squid',
      proxy!,
      [`hosts_file ${hosts}`, `acl mesh port ${meshPort}`, 'http_access allow CONNECT mesh'],
      'till:secret',
    );
    node = await RealNode.start({
      directory: join(directory, 'n'),
      name: 'till-1',
      kubeconfig: plane.kubeconfig,
      ways: { [relayPort]: mesh.port, [proxyPort]: proxy! },
    });
    node.import(archive);
    await until('the node is ready', () => /\bReady\b/.test(kubectlBy(plane.kubeconfig, ['get', 'nodes']).out));
  }, buildMsMax);
  afterAll(async () => {
    await node?.[Symbol.asyncDispose]();
    await tree[Symbol.asyncDispose]();
    await proxies[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('joins its parent, by a join token, and is ready', async () => {
    site('create', 'namespace', namespace);
    const { code, out } = banyan('join-token', path, '--label', 'env=prod', '--data', tree.data);
    expect([code, out]).toEqual([0, expect.stringMatching(/^banyan-join-1\.\S+\n$/)]);
    const installed = withValues('install', {
      parent: { address: `${node.address}:${relayPort}` },
      identity: { joinToken: out.trim() },
    });
    expect([installed.code, installed.out]).toEqual([0, expect.stringContaining('begins on every node')]);
    await until('the pod is ready', () => pods().some(isReady), 90);
    await until('it is active', () => holder().startsWith(`${pods()[0]}_`));
    await until('it has joined', () => /rivoli .*Connected/.test(banyan('tree', '--data', tree.data).out));
    // From here on, it uses the certificate that it got for the token, also after the token has expired.
    site('delete', 'secret', `${release}-join-token`, '-n', namespace);
  });

  it('runs without privileges: no capabilities, filtered system calls, a read-only file system', () => {
    const pid = node.pidOf(pods()[0]!, 'agent');
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const field = (name: string) => new RegExp(`^${name}:\\s+(.*)$`, 'm').exec(status)?.[1];
    expect({
      uid: field('Uid'),
      gid: field('Gid'),
      capabilities: ['CapEff', 'CapPrm', 'CapBnd'].map(field),
      noNewPrivileges: field('NoNewPrivs'),
      seccomp: field('Seccomp'),
    }).toEqual({
      uid: Array(4).fill('65532').join('\t'),
      gid: Array(4).fill('65532').join('\t'),
      capabilities: Array(3).fill('0000000000000000'),
      noNewPrivileges: '1',
      seccomp: '2',
    });
    const mounts = readFileSync(`/proc/${pid}/mountinfo`, 'utf8')
      .split('\n')
      .map((line) => line.split(' '));
    expect(mounts.find((fields) => fields[4] === '/')?.[5]).toMatch(/^ro\b/);
    // Its data, and the files that kubelet writes for it. Every pod has /dev/shm and /dev/termination-log.
    const writable = mounts.filter(
      (fields) => /^rw\b/.test(fields[5] ?? '') && !/^\/(dev|proc|sys)\b/.test(fields[4] ?? ''),
    );
    expect(writable.map((fields) => fields[4])).toEqual(['/data', '/etc/hosts']);
    expect(existsSync(`/proc/${pid}/root/bin/sh`)).toBe(false);
  });

  it('delivers a placement to its cluster', async () => {
    tree.ok('space/center/retail', 'create', 'namespace', 'shop');
    tree.ok('space/center/retail', 'create', 'configmap', 'prices', '-n', 'shop', '--from-literal=bread=1');
    expect(tree.apply('space/center/retail', placement).code).toBe(0);
    await until('it is there', () => price() === '1');
    await until('the center counts it', () => {
      const epl = tree.json<{ status?: { display?: string } }>('space/center/retail', 'epl', 'shop');
      return epl?.status?.display === 'available 1/1';
    });
    // The chart's rights are enough for the agent's own work too.
    expect(node.outputOf(pods()[0]!, 'agent').filter((line) => /"level":[456]0/.test(line))).toEqual([]);
  });

  it('passes logs and exec of its cluster to kubectl at the center, as far as the site allows', async () => {
    const above = (...args: string[]) => tree.kubectlAt('center', `/tree/${path}/cluster`, ['-n', namespace, ...args]);
    const [pod] = pods();
    expect(above('logs', pod!).out).toMatch(/pods "\S+" is forbidden: User "center:admin" cannot get resource "pods"/);
    const binding = (name: string, rules: readonly object[]) => {
      const of = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name, namespace } };
      const subject = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'center:system:masters' };
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name };
      const items = [
        { ...of, kind: 'Role', rules },
        { ...of, kind: 'RoleBinding', roleRef, subjects: [subject] },
      ];
      const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
      expect(kubectlBy(plane.kubeconfig, ['apply', '-f', '-'], list).code).toBe(0);
    };
    binding('look', [{ apiGroups: [''], resources: ['pods', 'pods/log'], verbs: ['get', 'list', 'watch'] }]);
    await until('logs come', () => above('logs', pod!).out.includes('"msg":"the agent is running"'));
    expect(above('get', 'pods', '-o', 'name').out.trim()).toBe(`pod/${pod}`);
    const run = (script: string, input = '') => {
      const exec = ['-n', namespace, 'exec', '-i', pod!, '-c', 'agent', '--', 'node', '-e', script];
      return tree.kubectlAt('center', `/tree/${path}/cluster`, exec, input);
    };
    expect(run('1').out).toMatch(/User "center:admin" cannot create resource "pods\/exec"/);
    binding('enter', [{ apiGroups: [''], resources: ['pods/exec'], verbs: ['create', 'get'] }]);
    const shout =
      'process.stdin.on("data", (d) => process.stdout.write(String(d).toUpperCase())).on("end", () => process.exit(7))';
    let ran = run(shout, 'to the till');
    await until('it may', () => {
      if (!ran.out.includes('TO THE TILL')) ran = run(shout, 'to the till');
      return ran.out.includes('TO THE TILL');
    });
    // The last output arrives, whichever side hangs up first.
    for (let i = 0; i < 8; i++) expect(run(shout, 'to the till').code).toBe(7);
  });

  it('has one audit id for an exec, at the center with its bytes and in the cluster with the user', async () => {
    const [pod] = pods();
    const marker = `marker-${Date.now()}`;
    const exec = ['-n', namespace, 'exec', pod!, '-c', 'agent', '--', 'node', '-e', `console.log('${marker}')`];
    expect(tree.kubectlAt('center', `/tree/${path}/cluster`, exec).out).toContain(marker);
    const log = join(tree.data, 'logs/center-audit.log');
    const events = () =>
      readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => line.includes(marker))
        .map((line) => JSON.parse(line) as AuditEvent);
    await until('the end is in the log', () => events().some(({ stage }) => stage === 'ResponseComplete'));
    const [begin, end] = events().slice(-2);
    expect([begin, end]).toMatchObject([
      { stage: 'ResponseStarted', user: { username: 'admin' }, objectRef: { resource: 'pods', subresource: 'exec' } },
      { stage: 'ResponseComplete', auditID: begin!.auditID, responseStatus: { code: 101 } },
    ]);
    expect(Number(end!.annotations!['banyan.io/sent-bytes'])).toBeGreaterThan(marker.length);
    const inCluster = plane.audited().filter(({ auditID }) => auditID === begin!.auditID);
    expect(inCluster.map(({ impersonatedUser }) => impersonatedUser?.username)).toContain('center:admin');
  });

  it('forwards a port of a pod to a user at the center', async () => {
    const [pod] = pods();
    const args = [
      ...tree.kubectlArgs('center', `/tree/${path}/cluster`),
      '-n',
      namespace,
      'port-forward',
      pod!,
      ':8443',
    ];
    // The binding of the former test.
    site('patch', 'role', 'enter', '-n', namespace, '--type=json', '-p', andMay('pods/portforward'));
    let forwardOutput = '';
    await untilAnswered('it is forwarded', async () => {
      const forward = spawn(kubectlProgram, args, { stdio: ['ignore', 'pipe', 'pipe'] });
      try {
        forward.stderr.on('data', (chunk: Buffer) => {
          forwardOutput += chunk;
        });
        const [first] = (await Promise.race([once(forward.stdout, 'data'), once(forward, 'exit')])) as [unknown];
        const port = /127\.0\.0\.1:(\d+)/.exec(String(first))?.[1];
        return port !== undefined && (await answerAt(Number(port))) === 'ok';
      } finally {
        forward.kill();
      }
    });
    expect(forwardOutput).not.toMatch(/lost connection/);
  });

  it('sends the further output of a container to a user who attaches at the center', async () => {
    const [pod] = pods();
    site('patch', 'role', 'enter', '-n', namespace, '--type=json', '-p', andMay('pods/attach'));
    const to = [...tree.kubectlArgs('center', `/tree/${path}/cluster`), '-n', namespace];
    const script = "require('node:fs').appendFileSync('/proc/1/fd/1', 'the till is open\\n')";
    await untilAnswered('it is heard', async () => {
      const attached = spawn(kubectlProgram, [...to, 'attach', pod!, '-c', 'agent'], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let attachOutput = '';
      attached.stdout.on('data', (chunk: Buffer) => {
        attachOutput += chunk;
      });
      try {
        // Before the user attaches, and after: the user gets only later output.
        for (let i = 0; i < 5 && attached.exitCode === null; i++) {
          await promisify(execFile)(kubectlProgram, [...to, 'exec', pod!, '-c', 'agent', '--', 'node', '-e', script]);
          if (attachOutput.includes('the till is open')) return true;
        }
        return false;
      } finally {
        attached.kill();
      }
    });
  });

  it('ends in order when its pod is deleted, and the next pod continues with its store, also without a parent', async () => {
    const [before] = pods();
    const parent = tree.pid('eu');
    process.kill(parent, 'SIGSTOP');
    try {
      site('delete', 'pod', before!, '-n', namespace, '--wait=true');
      // It was removed when no agent was there.
      if (price() !== undefined) site('delete', 'cm', 'prices', '-n', 'shop');
      await until('it is there again', () => price() === '1');
    } finally {
      process.kill(parent, 'SIGCONT');
    }
    expect(pods()).not.toContain(before);
    await until('the next one is ready', () => pods().some(isReady));
    setPrice('2');
    await until('a change arrives', () => price() === '2');
  });

  it('comes back by itself when its process is killed', async () => {
    const [pod] = pods();
    const killed = node.pidOf(pod!, 'agent');
    process.kill(killed!, 'SIGKILL');
    setPrice('3');
    await until('a change arrives', () => price() === '3');
    expect(pods()).toEqual([pod]);
    expect(node.pidOf(pod!, 'agent')).not.toBe(killed);
  });

  it('reaches its parent through a proxy that requires a password, if there is no other way', async () => {
    const [before] = pods();
    const upgraded = withValues('upgrade', {
      parent: { address: `relay.test:${meshPort}` },
      proxy: { url: `http://till:secret@${node.address}:${proxyPort}` },
      // The certificate that it got for its token is kept.
      identity: { joinTokenSecretName: 'spent' },
    });
    expect([upgraded.code, upgraded.out]).toEqual([0, expect.stringContaining('has been upgraded')]);
    await until('another pod is ready', () => pods().some((pod) => pod !== before && isReady(pod)), 90);
    setPrice('4');
    await until('a change arrives', () => price() === '4');
    expect(site('get', 'daemonset', release, '-n', namespace, '-o', 'yaml')).not.toContain('till:secret');
  });

  it('leaves its objects in place when it is uninstalled', async () => {
    const where = ['-n', namespace, '--kubeconfig', plane.kubeconfig];
    expect(helm.run('uninstall', release, ...where, '--wait').code).toBe(0);
    await until('the pod has gone', () => pods().length === 0);
    expect(price()).toBe('4');
    // Squid logs a tunnel when it is over.
    await until('the proxy tells', () => proxies.log('squid').includes(`CONNECT relay.test:${meshPort} till`));
  });
});

function andMay(what: string): string {
  return JSON.stringify([{ op: 'add', path: '/rules/0/resources/-', value: what }]);
}

/** The agent's own answer about its health at a port of this machine. */
async function answerAt(port: number): Promise<string> {
  const asked = get({ host: '127.0.0.1', port, path: '/healthz', rejectUnauthorized: false });
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  return text(answer);
}

const topology = {
  apiVersion: 'banyan.io/v1alpha1',
  kind: 'Topology',
  metadata: { name: 'node' },
  spec: {
    center: { audit: {}, spaces: [{ name: 'retail', type: 'Workload' }] },
    relays: [{ name: 'eu' }],
    clusters: [],
  },
};

const placement = placedInProduction('shop');
