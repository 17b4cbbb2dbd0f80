/** toxiproxy as a process of a test. Connections through it become slow, late, cut or silent (github.com/Shopify/toxiproxy). */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { builtOnce, foundOrBuilt, type GoModule, notBuilt } from './go-programs.ts';

const name = 'toxiproxy-server';
const modules: readonly GoModule[] = [
  {
    directory: join(import.meta.dirname, 'toxiproxy'),
    packages: { [name]: 'github.com/Shopify/toxiproxy/v2/cmd/server' },
  },
];
const program = foundOrBuilt(name, modules);

/** A text for the titles of tests that can't run. */
export const withoutToxiproxy = program ? undefined : notBuilt(name, modules);

/** Builds toxiproxy if the machine has no toxiproxy. */
export async function buildToxiproxy(): Promise<void> {
  if (!program) await builtOnce(name, modules);
}

export type Toxic =
  | { readonly type: 'bandwidth'; readonly attributes: { readonly rate: number } }
  | { readonly type: 'latency'; readonly attributes: { readonly latency: number } }
  | { readonly type: 'limit_data'; readonly attributes: { readonly bytes: number } }
  | { readonly type: 'timeout'; readonly attributes: { readonly timeout: number } }
  /**
   * Ends a share `toxicity` of the connections, each after its first bytes. While this toxic is present, every new connection ends with a reset (RST), even
   * if another toxic ends it. With toxicity 0, this is its only effect.
   */
  | { readonly type: 'reset_peer'; readonly toxicity: 0; readonly attributes: { readonly timeout: 0 } };

/** `downstream`: data from the dialed node to the dialing node. */
export type Stream = 'upstream' | 'downstream';

export class Toxiproxy implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #url: string;

  static async start(port: number): Promise<Toxiproxy> {
    if (!program) throw new Error(withoutToxiproxy);
    const child = spawn(program, ['-host', '127.0.0.1', '-port', String(port)], { stdio: 'ignore' });
    const toxiproxy = new Toxiproxy(child, `http://127.0.0.1:${port}`);
    const deadline = performance.now() + 15_000;
    while (!(await fetch(`${toxiproxy.#url}/version`).catch(() => undefined))?.ok) {
      if (performance.now() > deadline) throw new Error('toxiproxy does not answer after 15 s');
      await new Promise((done) => setTimeout(done, 50));
    }
    return toxiproxy;
  }

  private constructor(process: ChildProcess, url: string) {
    this.#process = process;
    this.#url = url;
  }

  /** Adds a proxy. `listen` and `upstream` are ports of this host. */
  async proxy(line: string, listen: number, upstream: number): Promise<void> {
    const body = { name: line, listen: `127.0.0.1:${listen}`, upstream: `127.0.0.1:${upstream}`, enabled: true };
    await this.#ask('POST', '/proxies', body);
  }

  /** Adds a toxic. It affects existing connections too. */
  async add(line: string, toxic: Toxic, ...streams: readonly Stream[]): Promise<void> {
    for (const stream of streams)
      await this.#ask('POST', `/proxies/${line}/toxics`, { ...toxic, name: `${toxic.type}-${stream}`, stream });
  }

  async remove(line: string, type: Toxic['type'], ...streams: readonly Stream[]): Promise<void> {
    for (const stream of streams) await this.#ask('DELETE', `/proxies/${line}/toxics/${type}-${stream}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = new Promise((done) => this.#process.once('exit', done));
    this.#process.kill('SIGTERM');
    await ended;
  }

  async #ask(method: string, path: string, body?: object): Promise<void> {
    const answer = await fetch(`${this.#url}${path}`, { method, ...(body ? { body: JSON.stringify(body) } : {}) });
    if (!answer.ok) throw new Error(`toxiproxy: ${method} ${path}: ${answer.status} ${await answer.text()}`);
  }
}
