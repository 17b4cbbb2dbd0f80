/**
 * A real control plane on loopback: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, and kwok. kwok simulates nodes that report ready and run
 * the pods bound to them. Each program can be ended and started separately.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { AuditPolicy } from '../../../core/audit/policy.ts';
import { freePorts } from '../free-ports.ts';
import { type Binaries, controlPlaneBinaries } from './binaries.ts';
import { type ClusterCredentials, makeCredentials, type User, writeKubeconfig } from './credentials.ts';

export type Component = 'etcd' | 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler' | 'kwok';

export interface ControlPlaneOptions {
  /** The folder that the control plane owns: certificates, logs and etcd's data. */
  readonly directory: string;
  /** True: the programs continue after the process that started them has ended. */
  readonly detached?: boolean;
  /** True: every request is recorded. A policy: the requests that the policy names. `audited` returns the records. */
  readonly audit?: boolean | AuditPolicy;
  /** The programs to start. Absent: all. */
  readonly components?: readonly Component[];
  /** True: etcd flushes each write to the disk before it answers. The data of a test need not survive the test, so by default etcd does not. */
  readonly durable?: boolean;
  /** The controllers that run, by their names. Absent: all. */
  readonly controllers?: readonly string[];
}

/** A request with its answer. The fields are those of https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/#audit-k8s-io-v1-Event */
export interface Audited {
  readonly auditID: string;
  readonly stage: 'ResponseStarted' | 'ResponseComplete' | 'Panic';
  readonly verb: string;
  readonly requestURI: string;
  readonly userAgent?: string;
  readonly user: { readonly username: string };
  /** The user for whom the caller acts. */
  readonly impersonatedUser?: { readonly username: string };
  readonly objectRef?: {
    readonly resource?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly apiGroup?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
}

/** Longest wait until the control plane is ready. With other control planes on the same two cores, a first start took 20 s. */
const readyMsMax = 120_000;
const stopMsMax = 10_000;
const components: readonly Component[] = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kwok',
];
/** The users with which the components sign in to the API server. kwok simulates every kubelet. */
const users = {
  admin: { name: 'admin', groups: ['system:masters'] },
  'kube-controller-manager': { name: 'system:kube-controller-manager', groups: [] },
  'kube-scheduler': { name: 'system:kube-scheduler', groups: [] },
  kwok: { name: 'kwok', groups: ['system:masters'] },
} as const satisfies Record<string, User>;

interface Ports {
  readonly etcd: number;
  readonly peer: number;
  readonly api: number;
}

export class ControlPlane implements AsyncDisposable {
  readonly #options: ControlPlaneOptions;
  readonly #binaries: Binaries;
  readonly #credentials: ClusterCredentials;
  readonly #ports: Ports;
  readonly #processes = new Map<Component, ChildProcess>();

  #tookMs = 0;

  private constructor(options: ControlPlaneOptions, binaries: Binaries, credentials: ClusterCredentials, ports: Ports) {
    this.#options = options;
    this.#binaries = binaries;
    this.#credentials = credentials;
    this.#ports = ports;
  }

  static async start(options: ControlPlaneOptions): Promise<ControlPlane> {
    mkdirSync(options.directory, { recursive: true });
    const binaries = await controlPlaneBinaries();
    const credentials = await makeCredentials(options.directory);
    const [etcd, peer, api] = await freePorts(3);
    const plane = new ControlPlane(options, binaries, credentials, { etcd: etcd!, peer: peer!, api: api! });
    for (const [name, user] of Object.entries(users)) await plane.#writeKubeconfigFor(name, user);
    const startMs = performance.now();
    try {
      await plane.startComponents(...(options.components ?? components));
    } catch (error) {
      await plane[Symbol.asyncDispose]();
      throw error;
    }
    plane.#tookMs = performance.now() - startMs;
    return plane;
  }

  /** The time from the start of the first process until the API server was ready. */
  get tookMs(): number {
    return this.#tookMs;
  }

  /** The kubeconfig of a member of system:masters. */
  get kubeconfig(): string {
    return this.#file('admin.kubeconfig');
  }

  get kubectl(): string {
    return this.#binaries.kubectl;
  }

  get server(): string {
    return `https://127.0.0.1:${this.#ports.api}`;
  }

  /** The address of etcd. */
  get etcd(): string {
    return `http://127.0.0.1:${this.#ports.etcd}`;
  }

  /** Returns a kubeconfig for a user with these groups. RBAC decides about the user's rights. */
  async kubeconfigOf(user: User): Promise<string> {
    await this.#writeKubeconfigFor(user.name, user);
    return this.#file(`${user.name}.kubeconfig`);
  }

  pid(component: Component): number {
    const pid = this.#processes.get(component)?.pid;
    if (pid === undefined) throw new Error(`${component} is not running`);
    return pid;
  }

  pids(): number[] {
    return [...this.#processes.values()].flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
  }

  /** All requests since the first start, in the order of their answers. */
  audited(): Audited[] {
    const lines = readFileSync(this.#file('audit.log'), 'utf8').split('\n');
    // The last line may be half written.
    return lines.slice(0, -1).map((line) => JSON.parse(line) as Audited);
  }

  async startComponents(...names: readonly Component[]): Promise<void> {
    for (const name of components.filter((one) => names.includes(one))) {
      this.#spawn(name);
      if (name === 'kube-apiserver') await this.#ready();
    }
  }

  /** Ends components: by default with SIGKILL, as if the machine lost its power. */
  async stopComponents(names: readonly Component[], signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const ended = names.flatMap((name) => {
      const child = this.#processes.get(name);
      this.#processes.delete(name);
      if (!child || child.exitCode !== null || child.signalCode !== null) return [];
      const exit = new Promise<void>((resolve) => child.once('exit', () => resolve()));
      child.kill('SIGCONT');
      child.kill(signal);
      const late = delay(stopMsMax, undefined, { ref: false }).then(() => void child.kill('SIGKILL'));
      return [Promise.race([exit, late.then(() => exit)])];
    });
    await Promise.all(ended);
  }

  /** Makes the API server empty, at the same address, as after somebody has set up the machine again. */
  async replaceByAnEmptyOne(): Promise<void> {
    await this.stopComponents(components);
    rmSync(this.#file('etcd'), { recursive: true, force: true });
    await this.startComponents(...components);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopComponents(components);
  }

  #spawn(name: Component): void {
    const log = openSync(this.#file(`${name}.log`), 'a');
    const child = spawn(this.#binaries[name], this.#argumentsOf(name), {
      stdio: ['ignore', log, log],
      detached: this.#options.detached === true,
    });
    closeSync(log);
    this.#processes.set(name, child);
    if (this.#options.detached) child.unref();
  }

  #argumentsOf(name: Component): string[] {
    const { ca, caKey, cert, key, tokenKey, tokenPublicKey } = this.#credentials.files;
    const client = this.etcd;
    const peer = `http://127.0.0.1:${this.#ports.peer}`;
    const kubeconfig = `--kubeconfig=${this.#file(`${name}.kubeconfig`)}`;
    switch (name) {
      case 'etcd':
        return [
          `--data-dir=${this.#file('etcd')}`,
          `--listen-client-urls=${client}`,
          `--advertise-client-urls=${client}`,
          `--listen-peer-urls=${peer}`,
          `--initial-advertise-peer-urls=${peer}`,
          `--initial-cluster=default=${peer}`,
          ...(this.#options.durable ? [] : ['--unsafe-no-fsync']),
          '--log-level=warn',
        ];
      case 'kube-apiserver':
        return [
          `--etcd-servers=${client}`,
          '--bind-address=127.0.0.1',
          '--advertise-address=127.0.0.1',
          `--secure-port=${this.#ports.api}`,
          `--tls-cert-file=${cert}`,
          `--tls-private-key-file=${key}`,
          `--client-ca-file=${ca}`,
          '--service-account-issuer=https://kubernetes.default.svc',
          `--service-account-key-file=${tokenPublicKey}`,
          `--service-account-signing-key-file=${tokenKey}`,
          '--service-cluster-ip-range=10.0.0.0/24',
          // Kubernetes does not allow a loopback address for the service `kubernetes`, and no test asks for the service.
          '--endpoint-reconciler-type=none',
          '--authorization-mode=RBAC',
          // The test machine has no DNS with names of nodes.
          '--kubelet-preferred-address-types=InternalIP,Hostname',
          '--allow-privileged=true',
          ...(this.#options.audit ? this.#auditArguments() : []),
        ];
      case 'kube-controller-manager':
        return [
          kubeconfig,
          `--controllers=${this.#options.controllers?.join(',') ?? '*'}`,
          '--leader-elect=false',
          '--secure-port=0',
          '--use-service-account-credentials=true',
          `--service-account-private-key-file=${tokenKey}`,
          `--root-ca-file=${ca}`,
          `--cluster-signing-cert-file=${ca}`,
          `--cluster-signing-key-file=${caKey}`,
        ];
      case 'kube-scheduler':
        return [kubeconfig, '--leader-elect=false', '--secure-port=0'];
      case 'kwok':
        return [kubeconfig, '--manage-all-nodes=true', '--node-lease-duration-seconds=40'];
    }
  }

  #auditArguments(): string[] {
    const policy = this.#file('audit-policy.json');
    const { audit } = this.#options;
    const everything: AuditPolicy = { omitStages: ['RequestReceived'], rules: [{ level: 'Metadata' }] };
    const chosen = typeof audit === 'object' ? audit : everything;
    writeFileSync(policy, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', ...chosen }));
    return [`--audit-policy-file=${policy}`, `--audit-log-path=${this.#file('audit.log')}`];
  }

  async #ready(): Promise<void> {
    const deadline = performance.now() + readyMsMax;
    for (;;) {
      if (await this.#answers('/readyz')) return;
      const child = this.#processes.get('kube-apiserver');
      if (child?.exitCode !== null || performance.now() > deadline) {
        const log = readFileSync(this.#file('kube-apiserver.log'), 'utf8');
        const why = child?.exitCode === null ? `is not ready in ${readyMsMax} ms` : `ended with ${child?.exitCode}`;
        throw new Error(`kube-apiserver ${why}; the end of its log:\n${log.slice(-2_000)}`);
      }
      await delay(200);
    }
  }

  /** Whether the API server answers. The request uses a certificate of the admin: health needs no rights, but this also proves the certificates. */
  #answers(path: string): Promise<boolean> {
    return new Promise((resolve) => {
      const asked = request(
        `${this.server}${path}`,
        { ca: this.#credentials.authority.certPem, agent: false, timeout: 5_000 },
        (response) => {
          response.resume();
          resolve(response.statusCode === 200);
        },
      );
      asked.on('timeout', () => asked.destroy());
      asked.on('error', () => resolve(false));
      asked.end();
    });
  }

  async #writeKubeconfigFor(name: string, user: User): Promise<void> {
    const file = this.#file(`${name}.kubeconfig`);
    await writeKubeconfig(file, this.#credentials.authority, { server: this.server, user });
  }

  #file(name: string): string {
    return join(this.#options.directory, name);
  }
}
