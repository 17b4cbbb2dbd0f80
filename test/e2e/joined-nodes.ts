/** Relays and agents that join a tree of `banyan up` with tokens, each as a process with its own folder. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { KeyAndCertificate } from '../../core/identity/authority.ts';
import { Kept, Outsider } from '../protocol/outsider.ts';
import { banyan, fixture, kubectlBy, type LocalTree, type Ran, until } from './local-tree.ts';

export interface Start {
  readonly program: 'relay' | 'edge-agent';
  readonly path: string;
  readonly parent: { readonly address: string; readonly path: string };
  /** Absent: the node continues without a token. */
  readonly token?: string;
  /** The files of an identity that the node gets instead of a token. */
  readonly files?: { readonly ca: string; readonly cert: string; readonly key: string };
  readonly link?: object;
}

export interface ShownNode {
  readonly spec?: { readonly role?: string };
  readonly status?: { readonly session?: { readonly state?: string } };
}

export class JoinedNodes implements AsyncDisposable {
  readonly kubeconfig: string;
  readonly #directory: string;
  readonly #tree: LocalTree;
  readonly #processes = new Map<string, ChildProcess>();

  constructor(directory: string, tree: LocalTree) {
    this.#directory = directory;
    this.#tree = tree;
    this.kubeconfig = join(directory, 'kubeconfig');
  }

  /** A file of the node `name`. */
  at(name: string, file = ''): string {
    return join(this.#directory, name, file);
  }

  log(name: string): string {
    return existsSync(this.at(name, 'log')) ? readFileSync(this.at(name, 'log'), 'utf8') : '';
  }

  status(name: string): { url: string; meshAddress: string } {
    return JSON.parse(readFileSync(this.at(name, 'status.json'), 'utf8')) as { url: string; meshAddress: string };
  }

  portsOf(id: string): { readonly mesh: number; readonly api: number } {
    const ports = readFileSync(join(this.#tree.data, 'ports.json'), 'utf8');
    return (JSON.parse(ports) as Record<string, { mesh: number; api: number }>)[id]!;
  }

  /** As `parent` of a node below the center. */
  center(): Start['parent'] {
    return { address: `127.0.0.1:${this.portsOf('').mesh}`, path: '' };
  }

  /** As `parent` of a node below the node `name`. */
  parentAt(name: string, path: string): Start['parent'] {
    return { address: this.status(name).meshAddress, path };
  }

  /** Writes a kubeconfig with the contexts of the tree, and those of the relays that have joined. */
  writeKubeconfig(...relays: readonly [name: string, path: string][]): void {
    const config = parse(readFileSync(join(this.#tree.data, 'kubeconfig'), 'utf8')) as {
      clusters: { name: string; cluster: object }[];
      contexts: { name: string; context: { user: string } }[];
    };
    const [{ context }] = config.contexts as unknown as [{ context: { user: string } }];
    const ca = readFileSync(join(this.#tree.data, 'pki', 'ca.crt')).toString('base64');
    for (const [name, path] of relays) {
      const shown = `node/${path}`;
      config.clusters.push({
        name: shown,
        cluster: { server: this.status(name).url, 'certificate-authority-data': ca },
      });
      config.contexts.push({ name: shown, context: { ...context, cluster: shown } as { user: string } });
    }
    writeFileSync(this.kubeconfig, stringify(config));
  }

  command(...args: string[]): Ran {
    return banyan(...args, '--kubeconfig', this.kubeconfig);
  }

  tokenFor(path: string, ...args: string[]): string {
    const { code, out, stdout } = this.command('join-token', path, ...args, '-o', 'json');
    if (code !== 0) throw new Error(out);
    return (JSON.parse(stdout) as { token: string }).token;
  }

  nodeAt(context: string, path: string): ShownNode | undefined {
    const args = ['--context', context, 'get', 'nodes.mesh.banyan.io', path.replaceAll(':', '.'), '-o', 'json'];
    const { code, stdout } = kubectlBy(this.kubeconfig, args);
    return code === 0 ? (JSON.parse(stdout) as ShownNode) : undefined;
  }

  isConnected(context: string, path: string): boolean {
    return this.nodeAt(context, path)?.status?.session?.state === 'Connected';
  }

  /** The data are in the folder `name`. A later start of that name continues with them. */
  start(name: string, { program, path, parent, token, files, link }: Start): void {
    mkdirSync(this.at(name), { recursive: true });
    if (token === undefined) rmSync(this.at(name, 'token'), { force: true });
    else writeFileSync(this.at(name, 'token'), token);
    const common = {
      path,
      data: this.at(name, 'data'),
      logFile: this.at(name, 'log'),
      statusFile: this.at(name, 'status.json'),
      parent,
      ...(link ? { link } : {}),
    };
    const own = program === 'relay' ? { api: {}, mesh: {} } : { cluster: { embedded: {} } };
    // The same authority signs the users of all nodes.
    const center = readFileSync(join(this.#tree.data, 'config', 'center.yaml'), 'utf8');
    const { users } = (parse(center) as { pki: { users: { ca: string } } }).pki;
    const identity = files ?? { joinToken: this.at(name, 'token') };
    const certified = program === 'relay' ? { users: { ca: users.ca } } : {};
    writeFileSync(this.at(name, 'config.yaml'), stringify({ ...common, ...own, pki: { ...identity, ...certified } }));
    rmSync(this.at(name, 'log'), { force: true });
    rmSync(this.at(name, 'status.json'), { force: true });
    const args = [fixture(`${program}/main.ts`), '--config', this.at(name, 'config.yaml')];
    this.#processes.set(name, spawn(process.execPath, args, { stdio: 'ignore' }));
  }

  async end(name: string, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const process_ = this.#processes.get(name)!;
    const ended = new Promise((done) => process_.once('exit', done));
    process_.kill(signal);
    await ended;
    this.#processes.delete(name);
  }

  /** Waits until the process ends by itself. */
  async ended(name: string): Promise<void> {
    const process_ = this.#processes.get(name)!;
    if (process_.exitCode === null) await new Promise((done) => process_.once('exit', done));
    this.#processes.delete(name);
  }

  serves(name: string): Promise<void> {
    return until(`${name} serves`, () => {
      try {
        return this.status(name).meshAddress !== '';
      } catch {
        return false;
      }
    });
  }

  /** The certificate and the key that the node has got with its token. */
  identityOf(name: string): KeyAndCertificate {
    return {
      certPem: readFileSync(this.at(name, 'data/identity/tls.crt'), 'utf8'),
      keyPem: readFileSync(this.at(name, 'data/identity/tls.key'), 'utf8'),
    };
  }

  /** Dials a parent with this identity. Returns how it ends: with a refusal, or `attached`. */
  async dial(address: string, path: string, role: 'relay' | 'agent', own: KeyAndCertificate): Promise<string> {
    const ca = readFileSync(join(this.#tree.data, 'pki', 'ca.crt'), 'utf8');
    const identity = { ca, cert: own.certPem, key: own.keyPem };
    const outsider = new Outsider(new Kept(), { address, path, identity, ...(role === 'relay' ? { role } : {}) });
    await outsider.attach().catch(() => {});
    const result = () => outsider.refused || (outsider.receivedKinds.includes('welcome') ? 'attached' : outsider.ended);
    await until('the dial has ended', () => result() !== undefined);
    const ended = result()!;
    if (ended === 'attached') outsider.close();
    return ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const process_ of this.#processes.values()) process_.kill('SIGKILL');
  }
}
