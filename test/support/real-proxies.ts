/** squid, haproxy and nginx as processes of a test. Each has its own configuration in a scratch directory. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const programs = ['squid', 'haproxy', 'nginx'];
/** The PATH with the folders for administrators' programs, which not every user has on the PATH. */
const path = `${process.env.PATH ?? ''}:/usr/local/sbin:/usr/sbin:/sbin`;

function isMissing(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`], { env: { PATH: path } }).status !== 0;
}

const missing = programs.filter(isMissing);
/** A text for the titles of tests that can't run, with the reason. */
export const withoutProxies = missing.length > 0 ? `there is no ${missing.join(', ')} on this machine` : undefined;

interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly ports: readonly number[];
  process: ChildProcess;
}

/** Each proxy is one process, so that a signal reaches all of it. */
export class RealProxies implements AsyncDisposable {
  /** The directory is writable for all users: squid gives up the rights of root, and writes as another user. */
  readonly directory = mkdtempSync(join(tmpdir(), 'banyan-proxies-'));
  readonly #programs = new Map<string, Program>();

  constructor() {
    chmodSync(this.directory, 0o777);
  }

  /**
   * Starts squid for CONNECT. With `login`, squid requires Basic authentication. `login` is `user:password`, without blanks or characters that a URL encodes.
   */
  async squid(name: string, port: number, rules: readonly string[], login?: string): Promise<void> {
    const helper = this.write(
      `${name}-login`,
      `#!/bin/sh\nwhile read -r line; do [ "$line" = "${login?.replace(':', ' ')}" ] && echo OK || echo ERR; done\n`,
    );
    chmodSync(helper, 0o755);
    const authenticated = [
      `auth_param basic program ${helper}`,
      'acl known proxy_auth REQUIRED',
      'http_access deny !known',
    ];
    const config = [
      `http_port 127.0.0.1:${port}`,
      `pid_filename ${join(this.directory, `${name}.pid`)}`,
      `access_log stdio:${this.logOf(name)}`,
      `cache_log ${join(this.directory, `${name}-cache.log`)}`,
      `coredump_dir ${this.directory}`,
      'visible_hostname squid.example',
      'cache deny all',
      'shutdown_lifetime 0 seconds',
      'max_filedescriptors 1024',
      ...(login === undefined ? [] : authenticated),
      ...rules,
      'http_access deny all',
    ];
    const file = this.write(`${name}.conf`, `${config.join('\n')}\n`);
    await this.#start(name, 'squid', ['-N', '-n', name, '-f', file], [port]);
  }

  async haproxy(ports: readonly number[], config: string, name = 'haproxy'): Promise<void> {
    const head = 'defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n';
    await this.#start(name, 'haproxy', ['-db', '-f', this.write(`${name}.conf`, `${head}${config}\n`)], ports);
  }

  async nginx(ports: readonly number[], servers: string): Promise<void> {
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((kind) => `${kind}_temp_path ${join(this.directory, kind)};`)
      .join(' ');
    const config = `daemon off; master_process off; pid ${join(this.directory, 'nginx.pid')};
error_log ${join(this.directory, 'nginx-error.log')};
events {}
http { access_log ${this.logOf('nginx')}; ${temporary}
${servers}
}
`;
    const args = ['-e', join(this.directory, 'nginx-error.log'), '-c', this.write('nginx.conf', config)];
    await this.#start('nginx', 'nginx', args, ports);
  }

  /** Kills a proxy with SIGKILL. Resolves when the process has ended. `name` is `haproxy`, `nginx`, or the name that a squid was given. */
  async kill(name: string): Promise<void> {
    const { process } = this.#program(name);
    const ended = new Promise((done) => process.once('exit', done));
    process.kill('SIGKILL');
    await ended;
  }

  /** Starts the same program with the same configuration again, after it was killed. */
  async restart(name: string): Promise<void> {
    const { command, args, ports } = this.#program(name);
    await this.#start(name, command, args, ports);
  }

  /** The lines of a proxy's log about its requests. */
  log(name: string): string {
    return readFileSync(this.logOf(name), 'utf8');
  }

  /** Writes a file with this content. Returns its path. */
  write(name: string, content: string): string {
    const file = join(this.directory, name);
    writeFileSync(file, content);
    return file;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      [...this.#programs.values()].map(({ process }) => {
        if (process.exitCode !== null || process.signalCode !== null) return undefined;
        const ended = new Promise((done) => process.once('exit', done));
        process.kill('SIGTERM');
        return ended;
      }),
    );
    rmSync(this.directory, { recursive: true, force: true });
  }

  private logOf(name: string): string {
    return join(this.directory, `${name}.log`);
  }

  #program(name: string): Program {
    const program = this.#programs.get(name);
    if (!program) throw new Error(`no "${name}" was started: ${[...this.#programs.keys()].join(', ')}`);
    return program;
  }

  async #start(name: string, command: string, args: readonly string[], ports: readonly number[]): Promise<void> {
    const child = spawn(command, args, { stdio: 'ignore', env: { ...process.env, PATH: path } });
    this.#programs.set(name, { command, args, ports, process: child });
    for (const port of ports) await answers(port);
  }
}

/** Resolves when a process listens on the port. */
async function answers(port: number, seconds = 15): Promise<void> {
  const deadline = performance.now() + seconds * 1000;
  while (!(await listens(port))) {
    if (performance.now() > deadline) throw new Error(`nobody listens on port ${port} after ${seconds} s`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
