/**
 * Hosts with their own addresses on one machine. Each host is a network namespace, and each network is a bridge. A test can pull a cable so that neither end
 * is notified, and can move a host to another address. Needs root.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';

function ip(...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync('ip', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${error?.message ?? stderr}`);
}

function reasonAgainst(): string | undefined {
  if (process.getuid?.() !== 0) return 'network namespaces need the rights of root';
  const probe = `banyan-probe-${process.pid}`;
  try {
    ip('netns', 'add', probe);
    ip('netns', 'del', probe);
    return undefined;
  } catch (error) {
    return `no network namespaces on this machine (${(error as Error).message.trim()})`;
  }
}

/** A text for the titles of tests that can't run, with the reason. */
export const withoutHosts = reasonAgainst();

interface Cable {
  /** The name of the interface at the bridge. Names of interfaces have at most 15 characters. */
  readonly outside: string;
  readonly inside: string;
}

export class Hosts implements Disposable {
  /** Part of all names, because two runs at the same time use the same machine. */
  readonly #run = (process.pid % 100_000).toString(36);
  readonly #networks = new Map<string, string>();
  readonly #hosts = new Map<string, Map<string, Cable>>();
  readonly #folders: string[] = [];
  #cables = 0;

  /** Makes a network. Its hosts reach each other. */
  network(name: string): void {
    const bridge = `by${this.#run}n${this.#networks.size}`;
    ip('link', 'add', bridge, 'type', 'bridge');
    this.#networks.set(name, bridge);
    ip('link', 'set', bridge, 'up');
  }

  /** Makes a host without any network. */
  host(name: string): void {
    ip('netns', 'add', this.#namespace(name));
    this.#hosts.set(name, new Map());
    this.#at(name, 'link', 'set', 'lo', 'up');
  }

  /** Connects the host to a network by a cable, with an address in that network: `10.9.0.2`, `fd00:9::2`. */
  connect(host: string, network: string, address: string): void {
    const cable = { outside: `by${this.#run}c${this.#cables}`, inside: `eth${this.#cables++}` };
    ip('link', 'add', cable.outside, 'type', 'veth', 'peer', 'name', cable.inside, 'netns', this.#namespace(host));
    this.#hosts.get(host)!.set(network, cable);
    ip('link', 'set', cable.outside, 'master', this.#networks.get(network)!);
    ip('link', 'set', cable.outside, 'up');
    this.#at(host, 'link', 'set', cable.inside, 'up');
    this.#at(host, 'address', 'add', ...inNetwork(address), 'dev', cable.inside);
  }

  /** Pulls the cable: nothing passes any more, and neither end is notified, because the host's own end stays up. */
  pull(host: string, network: string): void {
    ip('link', 'set', this.#cable(host, network).outside, 'nomaster');
  }

  plug(host: string, network: string): void {
    ip('link', 'set', this.#cable(host, network).outside, 'master', this.#networks.get(network)!);
  }

  /** Moves the host to another address. Its open connections lead nowhere. */
  move(host: string, network: string, from: string, to: string): void {
    const { inside } = this.#cable(host, network);
    // The old address is removed first: when Linux removes the first address of a network, it also removes the other addresses of this network.
    this.#at(host, 'address', 'del', ...inNetwork(from), 'dev', inside);
    this.#at(host, 'address', 'add', ...inNetwork(to), 'dev', inside);
  }

  /** The command prefix that runs a program on this host. */
  at(host: string): string[] {
    return ['ip', 'netns', 'exec', this.#namespace(host)];
  }

  /** Names that the programs of a host know, as its file /etc/hosts. */
  name(host: string, addresses: Readonly<Record<string, string>>): void {
    const folder = `/etc/netns/${this.#namespace(host)}`;
    mkdirSync(folder, { recursive: true });
    this.#folders.push(folder);
    const lines = Object.entries(addresses).map(([name, address]) => `${address} ${name}\n`);
    writeFileSync(`${folder}/hosts`, `127.0.0.1 localhost\n::1 localhost\n${lines.join('')}`);
  }

  [Symbol.dispose](): void {
    for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true });
    for (const host of this.#hosts.keys()) spawnSync('ip', ['netns', 'del', this.#namespace(host)]);
    for (const bridge of this.#networks.values()) spawnSync('ip', ['link', 'del', bridge]);
  }

  #namespace(host: string): string {
    return `banyan-${this.#run}-${host}`;
  }

  #cable(host: string, network: string): Cable {
    return this.#hosts.get(host)!.get(network)!;
  }

  #at(host: string, ...args: readonly string[]): void {
    ip('-n', this.#namespace(host), ...args);
  }
}

/** The arguments for an address. An IPv6 address can be used at once, because `nodad` keeps the kernel from looking for duplicates. */
function inNetwork(address: string): string[] {
  return address.includes(':') ? [`${address}/64`, 'nodad'] : [`${address}/24`];
}
