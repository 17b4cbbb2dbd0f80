/**
 * Hosts with addresses of their own on one machine: a network namespace each, on networks that are bridges. A cable can be pulled without a notice to either
 * end, and a host can move to another address. Needs root.
 */
import { spawnSync } from 'node:child_process';

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

/** For the titles of tests that cannot run, with the reason. */
export const withoutHosts = reasonAgainst();

interface Cable {
  /** The end at the bridge: names of interfaces have 15 characters at most. */
  readonly outside: string;
  readonly inside: string;
}

export class Hosts implements Disposable {
  /** Two runs at the same time share the names of the machine. */
  readonly #run = (process.pid % 100_000).toString(36);
  readonly #networks = new Map<string, string>();
  readonly #hosts = new Map<string, Map<string, Cable>>();
  #cables = 0;

  /** A network; its hosts reach each other. */
  network(name: string): void {
    const bridge = `by${this.#run}n${this.#networks.size}`;
    ip('link', 'add', bridge, 'type', 'bridge');
    this.#networks.set(name, bridge);
    ip('link', 'set', bridge, 'up');
  }

  /** A host with nothing but itself. */
  host(name: string): void {
    ip('netns', 'add', this.#namespace(name));
    this.#hosts.set(name, new Map());
    this.#at(name, 'link', 'set', 'lo', 'up');
  }

  /** A cable from the host to a network, with an address there: `10.9.0.2`, `fd00:9::2`. */
  connect(host: string, network: string, address: string): void {
    const cable = { outside: `by${this.#run}c${this.#cables}`, inside: `eth${this.#cables++}` };
    ip('link', 'add', cable.outside, 'type', 'veth', 'peer', 'name', cable.inside, 'netns', this.#namespace(host));
    this.#hosts.get(host)!.set(network, cable);
    ip('link', 'set', cable.outside, 'master', this.#networks.get(network)!);
    ip('link', 'set', cable.outside, 'up');
    this.#at(host, 'link', 'set', cable.inside, 'up');
    this.#at(host, 'address', 'add', ...inNetwork(address), 'dev', cable.inside);
  }

  /** Nothing passes any more, and neither end is notified: the host's own end stays up. */
  pull(host: string, network: string): void {
    ip('link', 'set', this.#cable(host, network).outside, 'nomaster');
  }

  plug(host: string, network: string): void {
    ip('link', 'set', this.#cable(host, network).outside, 'master', this.#networks.get(network)!);
  }

  /** The host is in another place: its open connections lead nowhere. */
  move(host: string, network: string, from: string, to: string): void {
    const { inside } = this.#cable(host, network);
    // In this order: with the first address of a network Linux removes the other addresses of it.
    this.#at(host, 'address', 'del', ...inNetwork(from), 'dev', inside);
    this.#at(host, 'address', 'add', ...inNetwork(to), 'dev', inside);
  }

  /** The command prefix that runs a program on this host. */
  at(host: string): string[] {
    return ['ip', 'netns', 'exec', this.#namespace(host)];
  }

  [Symbol.dispose](): void {
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

/** An IPv6 address can be used at once: the kernel does not look for duplicates here. */
function inNetwork(address: string): string[] {
  return address.includes(':') ? [`${address}/64`, 'nodad'] : [`${address}/24`];
}
