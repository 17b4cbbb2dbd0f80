/** A real tree for tests: `banyan up` as a process, stock kubectl, one data directory. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { getObject } from '../support/kept-api/kept-api.ts';
import { kubectlProgram } from '../support/kubectl.ts';

const root = join(import.meta.dirname, '../..');
const program = join(root, 'center/cli/banyan.ts');

export interface Ran {
  readonly code: number;
  /** All output: kubectl may print warnings beside the requested data. */
  readonly out: string;
  readonly stdout: string;
}

export class LocalTree {
  readonly data = mkdtempSync(join(tmpdir(), 'banyan-e2e-'));
  readonly #topology: string;
  readonly #readyWithinSeconds: number;
  #process: ChildProcess | undefined;
  #output = '';

  constructor(topology: string, readyWithinSeconds = 120) {
    this.#topology = resolve(root, topology);
    this.#readyWithinSeconds = readyWithinSeconds;
  }

  async up(...args: string[]): Promise<void> {
    rmSync(this.#readyFile, { force: true });
    const command = [
      program,
      'up',
      '-f',
      this.#topology,
      '--data',
      this.data,
      '--ready-file',
      this.#readyFile,
      '--timeout',
      String(this.#readyWithinSeconds),
      ...args,
    ];
    const child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        this.#output += chunk;
      });
    }
    this.#process = child;
    await until(
      'the tree is ready',
      () => {
        if (child.exitCode !== null) throw new Error(`banyan up ended with ${child.exitCode}: ${this.#output}`);
        return existsSync(this.#readyFile);
      },
      // The supervisor gives up earlier, and its own message names the missing nodes.
      this.#readyWithinSeconds + 30,
    );
  }

  /** The log of `banyan up` since its last start. */
  get output(): string {
    return this.#output;
  }

  /** Ends the tree; the exit code. */
  async down(): Promise<number | null> {
    const child = this.#process;
    if (!child || child.exitCode !== null) return child?.exitCode ?? null;
    const ended = new Promise<number | null>((done) => child.once('exit', done));
    child.kill('SIGTERM');
    return ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.down();
    // A node that a test has started by hand may still be ending.
    rmSync(this.data, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  /** As if the terminal had been lost: kill -9 of the supervisor alone. */
  async loseSupervisor(): Promise<void> {
    const child = this.#process!;
    const ended = new Promise((done) => child.once('exit', done));
    child.kill('SIGKILL');
    await ended;
  }

  /** The present process of a node, by its path; the center is `center`. */
  pid(path: string): number {
    return this.#node(path).pid;
  }

  #node(path: string): { path: string; pid: number; url: string } {
    const { nodes } = JSON.parse(readFileSync(this.#readyFile, 'utf8')) as {
      nodes: { path: string; pid: number; url: string }[];
    };
    return nodes.find((node) => node.path === path)!;
  }

  kill(path: string): void {
    const pid = this.pid(path);
    // For a signal, the number means the whole group of this process.
    if (pid === 0) throw new Error(`${path} is not running`);
    process.kill(pid, 'SIGKILL');
  }

  kubectl(context: string, args: readonly string[], input?: string): Ran {
    return kubectlBy(join(this.data, 'kubeconfig'), ['--context', context, ...args], input);
  }

  /** Stock kubectl at a node, the center is `center`, with a URL below its own: `/tree/a:b/cluster`. */
  kubectlAt(path: string, url: string, args: readonly string[], input?: string): Ran {
    return this.kubectl(`node/${path}`, ['-s', `${this.#node(path).url}${url}`, ...args], input);
  }

  /** The arguments for kubectl, for a process that runs while the test does something else. */
  kubectlArgs(path: string, url: string): readonly string[] {
    const kubeconfig = join(this.data, 'kubeconfig');
    return ['--kubeconfig', kubeconfig, '--context', `node/${path}`, '-s', `${this.#node(path).url}${url}`];
  }

  /** What kubectl prints; throws when it fails. */
  ok(context: string, ...args: string[]): string {
    const { code, out } = this.kubectl(context, args);
    if (code !== 0) throw new Error(`kubectl --context ${context} ${args.join(' ')}: ${out}`);
    return out;
  }

  apply(context: string, object: object): Ran {
    return this.kubectl(context, ['apply', '-f', '-'], JSON.stringify(object));
  }

  /** The path of a kubeconfig with this context alone, for programs that take no context. */
  kubeconfigOf(context: string): string {
    const file = join(this.data, `${context.replaceAll('/', '-')}.kubeconfig`);
    writeFileSync(file, this.ok(context, 'config', 'view', '--raw', '--minify', '--flatten'), { mode: 0o600 });
    return file;
  }

  /** An object or a list as `kubectl get` names it; undefined if there is none, or if nobody answers. */
  json<T>(context: string, ...args: string[]): T | undefined {
    return getObject<T>(join(this.data, 'kubeconfig'), args, context);
  }

  get #readyFile(): string {
    return join(this.data, 'ready.json');
  }
}

/** The cache of the served kinds is beside the kubeconfig, and goes with it. */
export function kubectlBy(kubeconfig: string, args: readonly string[], input?: string): Ran {
  const ran = spawnSync(kubectlProgram, ['--kubeconfig', kubeconfig, ...args], {
    encoding: 'utf8',
    timeout: secondsMax * 1_000,
    ...(input === undefined ? {} : { input }),
    env: { ...process.env, KUBECACHEDIR: join(dirname(kubeconfig), 'kubecache') },
  });
  return { code: ran.status ?? -1, out: `${ran.stdout}${ran.stderr}`, stdout: ran.stdout };
}

export function banyan(...args: string[]): Ran {
  const ran = spawnSync(process.execPath, [program, ...args], {
    encoding: 'utf8',
    timeout: secondsMax * 1_000,
    cwd: root,
  });
  return { code: ran.status ?? -1, out: `${ran.stdout}${ran.stderr}`, stdout: ran.stdout };
}

/** A request over a kept connection costs a few milliseconds. */
const pollMs = 50;

/**
 * Longer than anything takes beside other work: the nodes of two or three trees share two slow cores, and a node that was not reached waits up to half a minute
 * before it tries again.
 */
const secondsMax = 150;

export async function until(what: string, holds: () => boolean, seconds = secondsMax): Promise<void> {
  const deadline = performance.now() + seconds * 1000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`not within ${seconds} s: ${what}`);
    await new Promise((done) => setTimeout(done, pollMs));
  }
}

/** Like `until`, for the result of a request; a failed request is no answer yet. */
export async function untilAnswered(what: string, holds: () => Promise<boolean>, seconds = secondsMax): Promise<void> {
  const deadline = performance.now() + seconds * 1000;
  while (!(await holds().catch(() => false))) {
    if (performance.now() > deadline) throw new Error(`not within ${seconds} s: ${what}`);
    await new Promise((done) => setTimeout(done, pollMs));
  }
}

export function fixture(file: string): string {
  return join(root, file);
}
