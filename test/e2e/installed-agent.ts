/**
 * An agent as the chart installs it, as a process of this machine: with the configuration in the cluster, and a token of its service account. Paths and
 * addresses are this machine's.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { ControlPlane } from '../support/control-plane/control-plane.ts';
import { fixture, kubectlBy, type LocalTree } from './local-tree.ts';

export interface Installed {
  readonly tree: LocalTree;
  readonly plane: ControlPlane;
  readonly namespace: string;
  readonly release: string;
  /** The agent's own folder, with its data. */
  readonly directory: string;
  /** Its name in the Lease. */
  readonly identity: string;
  /** The files that are mounted into the pod, by their names in `pki` of the configuration: `ca`, `joinToken`. */
  readonly pki: Readonly<Record<string, string>>;
}

export function startInstalled({ tree, plane, namespace, release, directory, identity, pki }: Installed): ChildProcess {
  mkdirSync(directory);
  const write = (name: string, content: string) => {
    const file = join(directory, name);
    writeFileSync(file, content, { mode: 0o600 });
    return file;
  };
  const admin = parse(readFileSync(plane.kubeconfig, 'utf8')) as { clusters: unknown[] };
  const kubeconfig = write(
    'kubeconfig',
    stringify({
      clusters: admin.clusters,
      users: [{ name: 'agent', user: { token: site(plane, 'create', 'token', release, '-n', namespace).trim() } }],
      contexts: [{ name: 'agent', context: { cluster: 'cluster', user: 'agent' } }],
      'current-context': 'agent',
    }),
  );
  const { data: config } = inCluster<{ data: Record<string, string> }>(plane, namespace, 'configmap', release);
  const whole = parse(config['agent.yaml'] ?? '') as {
    parent: { path: string };
    pki: object;
    cluster: { kubernetes: { lease: object } };
  };
  const { kubernetes } = whole.cluster;
  const parentConfig = join(tree.data, 'config', `${whole.parent.path}.yaml`);
  const relay = parse(readFileSync(parentConfig, 'utf8')) as { mesh: { port: number } };
  const mounted = Object.entries(pki).map(([part, content]) => [part, write(part, content)]);
  const own = {
    ...whole,
    data: join(directory, 'data'),
    logFile: join(directory, 'log'),
    api: { host: '127.0.0.1', port: 0 },
    pki: { ...whole.pki, ...Object.fromEntries(mounted) },
    parent: { ...whole.parent, address: `127.0.0.1:${relay.mesh.port}` },
    cluster: { kubernetes: { ...kubernetes, kubeconfig, lease: { ...kubernetes.lease, identity } } },
  };
  const args = [fixture('edge-agent/main.ts'), '--config', write('agent.yaml', stringify(own))];
  return spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
}

/** The files of a Secret with certificates, as it is mounted. */
export function identityFiles(plane: ControlPlane, namespace: string, secret: string): Record<string, string> {
  const { data } = inCluster<{ data: Record<string, string> }>(plane, namespace, 'secret', secret);
  const parts = { ca: 'ca.crt', cert: 'tls.crt', key: 'tls.key' };
  return Object.fromEntries(Object.entries(parts).map(([part, name]) => [part, decoded(data[name])]));
}

function decoded(base64 = ''): string {
  return Buffer.from(base64, 'base64').toString();
}

function inCluster<T>(plane: ControlPlane, namespace: string, ...what: string[]): T {
  return JSON.parse(site(plane, 'get', ...what, '-n', namespace, '-o', 'json')) as T;
}

function site(plane: ControlPlane, ...args: string[]): string {
  const { code, out } = kubectlBy(plane.kubeconfig, args);
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${out}`);
  return out;
}
