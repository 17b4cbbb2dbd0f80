/** The network of a real node: a namespace with addresses that lead nowhere, a bridge for pods, and the requested passages to this machine. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** The address of this machine, as pods and kubelet see it. */
export const nodeAddress = '10.213.77.1';
/** The first address of the service range. Every pod looks for the API server at this address; see control-plane.ts. */
export const apiAddress = '10.0.0.1';
/** The address of the DNS server of the pods. */
export const nameserver = '10.0.0.10';
const podRange = '10.213.78.0/24';

export class NodeNetwork implements Disposable {
  readonly #namespace = `banyan-node-${process.pid}`;
  readonly #passages: ChildProcess[] = [];
  #isNodeHere = false;

  make(): void {
    ip('netns', 'add', this.#namespace);
    const at = (...args: string[]) => ip('-n', this.#namespace, ...args);
    at('link', 'set', 'lo', 'up');
    // kubelet does not accept a loopback address for the node itself.
    at('link', 'add', 'outside', 'type', 'veth', 'peer', 'name', 'nowhere');
    at('link', 'set', 'nowhere', 'up');
    at('address', 'add', `${nodeAddress}/24`, 'dev', 'outside');
    at('address', 'add', `${apiAddress}/32`, 'dev', 'outside');
    at('link', 'set', 'outside', 'up');
    at('route', 'add', 'default', 'dev', 'outside');
  }

  /**
   * The command prefix that runs a program in this network. Everything except the network is that of this machine: `ip netns exec` would hide the control
   * groups.
   */
  get at(): readonly [string, string] {
    return ['nsenter', `--net=/run/netns/${this.#namespace}`];
  }

  /** Opens passages to ports of this machine's loopback. Keyed by the address that programs in the network request: `10.0.0.1:443`. */
  open(directory: string, ways: Readonly<Record<string, number>>): void {
    const sockets = Object.entries(ways).map(([inside, port], i) => ({
      inside,
      outside: `127.0.0.1:${port}`,
      socket: join(directory, `way-${i}.sock`),
    }));
    this.#pass(
      [],
      sockets.map(({ socket, outside }) => `${socket}=${outside}`),
    );
    this.#pass(
      this.at,
      sockets.map(({ inside, socket }) => `${inside}=${socket}`),
    );
  }

  /** Opens a port of the node for programs of this machine that dial the node's own address. The API server does this for logs and exec. */
  letIn(directory: string, port: number): void {
    const [inside, socket] = [`${nodeAddress}:${port}`, join(directory, 'way-in.sock')];
    ip('address', 'add', `${nodeAddress}/32`, 'dev', 'lo');
    this.#isNodeHere = true;
    this.#pass(this.at, [`${socket}=${inside}`]);
    this.#pass([], [`${inside}=${socket}`]);
  }

  /** Gives the Services of the cluster their addresses and names. `kubeconfig`: for programs in the network. */
  serveServices(kubeconfig: string): void {
    const [program, ...args] = [...this.at, process.execPath, join(import.meta.dirname, 'services.ts')];
    this.#passages.push(spawn(program, [...args, kubeconfig, nameserver], { stdio: ['ignore', 'inherit', 'inherit'] }));
  }

  /** Opens a way from a port of this machine's loopback to an address in the network. Returns the end of the way. */
  wayTo(directory: string, port: number, inside: string): () => void {
    const socket = join(directory, `way-to-${port}.sock`);
    const before = this.#passages.length;
    this.#pass(this.at, [`${socket}=${inside}`]);
    this.#pass([], [`127.0.0.1:${port}=${socket}`]);
    const own = this.#passages.slice(before);
    return () => {
      for (const passage of own) passage.kill('SIGKILL');
    };
  }

  /** The network of the pods, in the format of containerd: https://www.cni.dev/docs/spec/#section-1-network-configuration-format */
  pods(directory: string): object {
    const ipam = {
      type: 'host-local',
      ranges: [[{ subnet: podRange }]],
      routes: [{ dst: '0.0.0.0/0' }],
      dataDir: join(directory, 'addresses'),
    };
    return { cniVersion: '1.0.0', name: 'pods', plugins: [{ type: 'bridge', bridge: 'pods', isGateway: true, ipam }] };
  }

  [Symbol.dispose](): void {
    for (const passage of this.#passages) passage.kill('SIGKILL');
    spawnSync('ip', ['netns', 'del', this.#namespace]);
    if (this.#isNodeHere) spawnSync('ip', ['address', 'del', `${nodeAddress}/32`, 'dev', 'lo']);
  }

  #pass(where: readonly string[], ways: readonly string[]): void {
    const [program, ...args] = [...where, process.execPath, join(import.meta.dirname, 'passage.ts'), ...ways];
    this.#passages.push(spawn(program!, args, { stdio: ['ignore', 'inherit', 'inherit'] }));
  }
}

function ip(...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync('ip', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${error?.message ?? stderr}`);
}
