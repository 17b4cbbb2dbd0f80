/** An agent that was enrolled, as a process of its own with a configuration of its own, below a relay `eu` of a tree of this machine. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { banyan, fixture, type LocalTree } from './local-tree.ts';

export interface EnrolledOptions {
  readonly tree: LocalTree;
  /** Of its own: what it keeps is in there. */
  readonly directory: string;
  readonly name: string;
  readonly kubeconfig: string;
}

export class EnrolledAgent implements AsyncDisposable {
  readonly #log: string;
  readonly #file: string;
  readonly #config: object;
  #process: ChildProcess | undefined;

  /** The place is made, with the label `env=prod`; nothing runs yet. */
  constructor({ tree, directory, name, kubeconfig }: EnrolledOptions) {
    mkdirSync(directory, { recursive: true });
    this.#log = join(directory, 'log');
    this.#file = join(directory, 'agent.yaml');
    const path = `eu:${name}`;
    const enrolled = banyan('enroll', path, '--label', 'env=prod', '--data', tree.data);
    const [secret] = parseAllDocuments(enrolled.out).map((one) => one.toJS() as { stringData: Record<string, string> });
    const pki = Object.fromEntries(
      Object.entries({ ca: 'ca.crt', cert: 'tls.crt', key: 'tls.key' }).map(([part, file]) => {
        writeFileSync(join(directory, file), secret?.stringData[file] ?? '', { mode: 0o600 });
        return [part, join(directory, file)];
      }),
    );
    const relay = parse(readFileSync(join(tree.data, 'config/eu.yaml'), 'utf8')) as { mesh: { port: number } };
    this.#config = {
      path,
      data: join(directory, 'data'),
      logFile: this.#log,
      api: { host: '127.0.0.1', port: 0 },
      parent: { path: 'eu', address: `127.0.0.1:${relay.mesh.port}` },
      pki,
      cluster: { kubernetes: { kubeconfig } },
    };
  }

  /** `limits`: those of its cluster's API server. */
  start({ env = {}, limits }: { readonly env?: NodeJS.ProcessEnv; readonly limits?: object } = {}): void {
    const { cluster } = this.#config as { cluster: { kubernetes: object } };
    const kubernetes = { ...cluster.kubernetes, ...(limits ? { limits } : {}) };
    writeFileSync(this.#file, stringify({ ...this.#config, cluster: { kubernetes } }));
    rmSync(this.#log, { force: true });
    const args = [fixture('edge-agent/main.ts'), '--config', this.#file];
    this.#process = spawn(process.execPath, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  }

  /** What it has logged since it began. */
  get said(): string {
    return existsSync(this.#log) ? readFileSync(this.#log, 'utf8') : '';
  }

  async stop(): Promise<void> {
    const agent = this.#process;
    if (!agent || agent.exitCode !== null || agent.signalCode !== null) return;
    const ended = once(agent, 'exit');
    agent.kill('SIGTERM');
    await ended;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
