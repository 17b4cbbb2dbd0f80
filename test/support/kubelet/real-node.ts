/**
 * A real node of a cluster: kubelet and containerd, in their own network. Pods reach the API server and the other configured addresses. When the node ends,
 * only empty control groups are left.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { closeSync, cpSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import { writeArchive } from '../../../deploy/image/oci-archive.ts';
import { apiAddress, NodeNetwork, nameserver, nodeAddress } from './node-network.ts';
import { nodePrograms, type Programs } from './programs.ts';

export interface RealNodeOptions {
  /** The folder that the node owns. Its path must be short, because names of sockets have at most 108 characters. */
  readonly directory: string;
  readonly name: string;
  /** The kubeconfig of a member of system:masters, for an API server on loopback. */
  readonly kubeconfig: string;
  /** Ports of loopback that pods reach at `RealNode.address`. Keyed by the port that pods request. */
  readonly ways: Readonly<Record<number, number>>;
  /** Whether pods reach Services by address and name. */
  readonly services?: boolean;
}

interface Kubeconfig {
  readonly clusters: readonly { readonly name: string; readonly cluster: { readonly server: string } }[];
}

interface ContainerInfo {
  readonly Labels?: Readonly<Record<string, string>>;
  readonly Spec?: { readonly linux?: { readonly namespaces?: readonly { type: string; path?: string }[] } };
}

const pauseImage = 'banyan.test/pause:1';
const kubeletPort = 10_250;
const readyMsMax = 60_000;
const endMsMax = 10_000;
/** Settings that kubelet changes for the whole machine: https://kubernetes.io/docs/reference/command-line-tools-reference/kubelet/ */
const kernelDefaults = ['vm/overcommit_memory', 'vm/panic_on_oom', 'kernel/panic', 'kernel/panic_on_oops'];

export class RealNode implements AsyncDisposable {
  readonly #options: RealNodeOptions;
  readonly #programs: Programs;
  readonly #network = new NodeNetwork();
  readonly #kernel = kernelDefaults.map((name) => [`/proc/sys/${name}`, readFileSync(`/proc/sys/${name}`)] as const);
  #containerd: ChildProcess | undefined;
  #kubelet: ChildProcess | undefined;

  private constructor(options: RealNodeOptions, programs: Programs) {
    this.#options = options;
    this.#programs = programs;
  }

  static async start(options: RealNodeOptions): Promise<RealNode> {
    const node = new RealNode(options, await nodePrograms());
    try {
      await node.#start();
      return node;
    } catch (error) {
      await node[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The address of this machine, as pods see it. */
  get address(): string {
    return nodeAddress;
  }

  /** All output of a container so far, over all its restarts, in lines as kubelet stores them. */
  outputOf(pod: string, container: string): string[] {
    const logs = this.#file('pod-logs');
    const files = readdirSync(logs, { recursive: true, encoding: 'utf8' });
    return files
      .filter((file) => file.includes(`_${pod}_`) && file.includes(`/${container}/`) && file.endsWith('.log'))
      .flatMap((file) => readFileSync(join(logs, file), 'utf8').split('\n'));
  }

  /** Loads the images of an archive into the node. */
  import(archive: string): void {
    this.#ctr('images', 'import', '--snapshotter', snapshotter(), archive);
  }

  /** Opens a way from a port of this machine's loopback to an address that pods know, such as that of a Service: `10.0.0.7:6443`. */
  wayTo(port: number, inside: string): () => void {
    return this.#network.wayTo(this.#options.directory, port, inside);
  }

  /** The process of a container, as this machine sees it. Undefined: it does not run. */
  pidOf(pod: string, container: string): number | undefined {
    const tasks = this.#ctr('tasks', 'list').split('\n').slice(1);
    for (const [id, pid, status] of tasks.map((line) => line.split(/\s+/))) {
      if (!id || status !== 'RUNNING') continue;
      const { Labels: labels = {} } = this.#container(id);
      if (labels['io.kubernetes.pod.name'] !== pod) continue;
      if (labels['io.kubernetes.container.name'] === container) return Number(pid);
    }
    return undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await end(this.#kubelet);
    if (this.#containerd) this.#endContainers();
    await end(this.#containerd);
    this.#network[Symbol.dispose]();
    for (const [file, value] of this.#kernel) writeFileSync(file, value);
    for (const mounted of mountsBelow(this.#options.directory).reverse()) spawnSync('umount', ['-l', mounted]);
    rmSync(this.#options.directory, { recursive: true, force: true });
  }

  // ------------------------------------------------------------------------------------------------------- its parts

  async #start(): Promise<void> {
    const { directory, kubeconfig, ways, name } = this.#options;
    mkdirSync(join(directory, 'cni'), { recursive: true });
    this.#network.make();
    const config = parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig;
    const api = Number(new URL(config.clusters[0]!.cluster.server).port);
    const others = Object.entries(ways).map(([port, to]) => [`${nodeAddress}:${port}`, to] as const);
    this.#network.open(directory, { [`${apiAddress}:443`]: api, ...Object.fromEntries(others) });
    this.#network.letIn(directory, kubeletPort);
    this.#write('cni/pods.conflist', JSON.stringify(this.#network.pods(directory)));
    this.#write('containerd.toml', this.#containerdConfig());
    this.#containerd = this.#run('containerd', [this.#programs.containerd, '--config', this.#file('containerd.toml')]);
    await this.#answers();
    this.import(this.#pauseArchive());
    const clusters = config.clusters.map((one) => ({
      ...one,
      cluster: { ...one.cluster, server: `https://${apiAddress}:443` },
    }));
    this.#write('kubeconfig', stringify({ ...config, clusters }));
    if (this.#options.services) this.#network.serveServices(this.#file('kubeconfig'));
    this.#write('kubelet.json', JSON.stringify(this.#kubeletConfig()));
    this.#kubelet = this.#run('kubelet', [
      this.#programs.kubelet,
      `--config=${this.#file('kubelet.json')}`,
      `--kubeconfig=${this.#file('kubeconfig')}`,
      `--hostname-override=${name}`,
      `--node-ip=${nodeAddress}`,
      `--root-dir=${this.#file('kubelet')}`,
      `--cert-dir=${this.#file('certs')}`,
    ]);
  }

  #containerdConfig(): string {
    return `version = 2
root = "${this.#file('containerd')}"
state = "${this.#file('run')}"
[grpc]
address = "${this.#socket}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "${pauseImage}"
# Where this machine itself may not lower the score of a process.
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "${snapshotter()}"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "${this.#programs.networkPlugins}"
conf_dir = "${this.#file('cni')}"
`;
  }

  #kubeletConfig(): object {
    return {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      containerRuntimeEndpoint: `unix://${this.#socket}`,
      podLogsDir: this.#file('pod-logs'),
      // Only containers use these groups, so other groups on this machine do not change.
      cgroupDriver: 'cgroupfs',
      cgroupsPerQOS: false,
      enforceNodeAllocatable: [],
      failCgroupV1: false,
      failSwapOn: false,
      oomScoreAdj: 0,
      makeIPTablesUtilChains: false,
      ...(this.#options.services ? { clusterDNS: [nameserver], clusterDomain: 'cluster.local' } : {}),
      // Nobody outside of its network reaches this kubelet.
      authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
      // The free space of this machine's disk must not matter.
      evictionHard: { 'memory.available': '1Mi', 'nodefs.available': '1Mi', 'imagefs.available': '1Mi' },
      imageGCHighThresholdPercent: 100,
      // Tests wait for the status.
      nodeStatusUpdateFrequency: '2s',
      syncFrequency: '5s',
    };
  }

  #pauseArchive(): string {
    const files = this.#file('pause');
    mkdirSync(files);
    cpSync(this.#programs.pause, join(files, 'pause'));
    writeArchive(this.#file('pause.tar'), { name: pauseImage, layers: [files], config: { Entrypoint: ['/pause'] } });
    return this.#file('pause.tar');
  }

  async #answers(): Promise<void> {
    const deadline = performance.now() + readyMsMax;
    for (;;) {
      try {
        this.#ctr('version');
        return;
      } catch (error) {
        if (performance.now() < deadline && this.#containerd?.exitCode === null) await delay(100);
        else
          throw new Error(`containerd does not answer: ${readFileSync(this.#file('containerd.log'), 'utf8')}`, {
            cause: error,
          });
      }
    }
  }

  /** Ends all containers, and removes their networks, which nobody else would remove. */
  #endContainers(): void {
    for (const task of this.#listed('tasks')) this.#tried('tasks', 'delete', '--force', task);
    for (const container of this.#listed('containers')) {
      const { Spec: spec } = this.#container(container);
      const network = spec?.linux?.namespaces?.find(({ type, path }) => type === 'network' && path);
      this.#tried('containers', 'delete', container);
      if (network?.path) spawnSync('ip', ['netns', 'del', network.path.split('/').at(-1)!]);
    }
  }

  #listed(what: 'tasks' | 'containers'): string[] {
    return this.#tried(what, 'list', '--quiet').split('\n').filter(Boolean);
  }

  #container(id: string): ContainerInfo {
    return JSON.parse(this.#tried('containers', 'info', id) || '{}') as ContainerInfo;
  }

  /** Runs ctr. Returns an empty text if it fails, because the entry may have disappeared meanwhile. */
  #tried(...args: readonly string[]): string {
    try {
      return this.#ctr(...args);
    } catch {
      return '';
    }
  }

  #ctr(...args: readonly string[]): string {
    return execFileSync(this.#programs.ctr, ['--address', this.#socket, '--namespace', 'k8s.io', ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: readyMsMax,
    });
  }

  /** Runs a program in the node's network. */
  #run(name: string, command: readonly string[]): ChildProcess {
    const log = openSync(this.#file(`${name}.log`), 'a');
    const [program, ...args] = [...this.#network.at, ...command];
    const path = `${process.env.PATH}:/usr/sbin:/sbin`;
    const child = spawn(program!, args, { stdio: ['ignore', log, log], env: { ...process.env, PATH: path } });
    closeSync(log);
    return child;
  }

  #write(name: string, content: string): void {
    writeFileSync(this.#file(name), content, { mode: 0o600 });
  }

  get #socket(): string {
    return this.#file('containerd.sock');
  }

  #file(name: string): string {
    return join(this.#options.directory, name);
  }
}

/** The kernel combines the layers of an image if it can. Otherwise containerd copies them. */
function snapshotter(): 'overlayfs' | 'native' {
  return /\boverlay$/m.test(readFileSync('/proc/filesystems', 'utf8')) ? 'overlayfs' : 'native';
}

function mountsBelow(directory: string): string[] {
  const points = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '');
  return points.filter((point) => point.startsWith(`${directory}/`));
}

async function end(child: ChildProcess | undefined): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise<void>((ended) => child.once('exit', () => ended()));
  child.kill('SIGTERM');
  const late = delay(endMsMax, undefined, { ref: false }).then(() => void child.kill('SIGKILL'));
  await Promise.race([exit, late.then(() => exit)]);
}
