/**
 * An agent below a relay `eu` of a tree on this machine. The tree's topology does not name the agent: it is a process of its own with its own configuration.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { banyan, fixture, type LocalTree } from './local-tree.ts';

export interface AgentOptions {
  readonly tree: LocalTree;
  /** The agent's own folder, with its data. */
  readonly directory: string;
  readonly name: string;
  /** Files of its identity, or of its join token. */
  readonly pki: object;
  readonly cluster: object;
  /** Names of further replicas of `eu`. */
  readonly replicas?: readonly string[];
}

export class AgentProcess implements AsyncDisposable {
  readonly #directory: string;
  readonly #config: object;
  #process: ChildProcess | undefined;

  /** No process runs yet. */
  constructor({ tree, directory, name, pki, cluster, replicas = [] }: AgentOptions) {
    this.#directory = directory;
    mkdirSync(directory, { recursive: true });
    this.#config = {
      path: `eu:${name}`,
      data: this.file('data'),
      logFile: this.file('log'),
      statusFile: this.file('status.json'),
      api: { host: '127.0.0.1', port: 0 },
      parent: {
        path: 'eu',
        address: meshAddress(tree, 'eu'),
        replicas: replicas.map((replica) => meshAddress(tree, replica)),
      },
      pki: { ...pki, users: { ca: join(tree.data, 'pki/users_trusted.crt') } },
      cluster,
    };
  }

  file(of: string): string {
    return join(this.#directory, of);
  }

  /** `cluster`: another cluster than before, for this start. */
  start({ env = {}, cluster }: { readonly env?: NodeJS.ProcessEnv; readonly cluster?: object } = {}): void {
    writeFileSync(this.file('agent.yaml'), stringify({ ...this.#config, ...(cluster ? { cluster } : {}) }));
    rmSync(this.file('log'), { force: true });
    const args = [fixture('edge-agent/main.ts'), '--config', this.file('agent.yaml')];
    this.#process = spawn(process.execPath, args, { stdio: 'ignore', env: { ...process.env, ...env } });
  }

  get isRunning(): boolean {
    return this.#process?.exitCode === null && this.#process.signalCode === null;
  }

  /** Its log since the last start. */
  get log(): string {
    return existsSync(this.file('log')) ? readFileSync(this.file('log'), 'utf8') : '';
  }

  async stop(): Promise<void> {
    if (!this.#process || !this.isRunning) return;
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGTERM');
    await ended;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/** Makes a place below `eu` with the label `env=prod`, by `banyan enroll`; returns its identity files. */
export function enroll(
  tree: LocalTree,
  name: string,
  directory: string,
  ...args: string[]
): { ca: string; cert: string; key: string } {
  const { code, out } = banyan('enroll', `eu:${name}`, '--label', 'env=prod', '--data', tree.data, ...args);
  if (code !== 0) throw new Error(`banyan enroll: ${out}`);
  const [secret] = parseAllDocuments(out).map((one) => one.toJS() as { stringData: Record<string, string> });
  mkdirSync(directory, { recursive: true });
  const put = (file: string) => {
    writeFileSync(join(directory, file), secret?.stringData[file] ?? '', { mode: 0o600 });
    return join(directory, file);
  };
  return { ca: put('ca.crt'), cert: put('tls.crt'), key: put('tls.key') };
}

function meshAddress(tree: LocalTree, relay: string): string {
  const { mesh } = parse(readFileSync(join(tree.data, 'config', `${relay}.yaml`), 'utf8')) as {
    mesh: { port: number };
  };
  return `127.0.0.1:${mesh.port}`;
}
