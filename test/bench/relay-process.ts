/** One relay as a process of its own, started and killed as often as a benchmark wants, without a parent that answers. */
import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { programOf } from '../../center/supervisor/programs.ts';
import type { KeyAndCertificate } from '../../core/identity/authority.ts';
import { defaultLink } from '../../core/wire/dialer/link-options.ts';
import { childrenSchema, inventoryEntrySchema, type NodeConfig } from '../../relay/config/config.ts';
import { credentialsOf, makeAuthority } from './credentials.ts';
import { endProcess, type Scratch } from './scratch.ts';

export interface RelaySpec {
  readonly path: string;
  /** The directory of its store. */
  readonly data: string;
  readonly clusters: readonly string[];
  /** The certificates; absent: one of its own. */
  readonly authority?: KeyAndCertificate;
  /** The address for children; absent: a free port at each start. */
  readonly meshPort?: number;
}

/** Nobody listens at the port of "discard". */
const noParent = { address: '127.0.0.1:9', path: '' };
const lookEveryMs = 10;

export class RelayProcess {
  /** The file of its log, JSON lines. */
  readonly log: string;
  readonly #scratch: Scratch;
  readonly #config: string;
  readonly #status: string;
  readonly #ca: Buffer;
  #process: ChildProcess | undefined;

  static async prepare(
    scratch: Scratch,
    { path, data, clusters, authority, meshPort = 0 }: RelaySpec,
  ): Promise<RelayProcess> {
    const directory = scratch.directory();
    const file = (name: string) => join(directory, name);
    const { caPem, certPem, keyPem } = await credentialsOf(authority ?? (await makeAuthority()), {
      path,
      role: 'relay',
    });
    const pki = { ca: file('ca.crt'), cert: file('relay.crt'), key: file('relay.key') };
    writeFileSync(pki.ca, caPem);
    writeFileSync(pki.cert, certPem);
    writeFileSync(pki.key, keyPem, { mode: 0o600 });
    mkdirSync(data, { recursive: true });
    const config: NodeConfig = {
      path,
      data,
      logFile: file('relay.log'),
      logLevel: 'info',
      statusFile: file('status.json'),
      labels: {},
      parent: noParent,
      link: defaultLink,
      pki,
      api: { host: '127.0.0.1', port: 0 },
      mesh: { host: '127.0.0.1', port: meshPort, terminatedTls: false },
      spaces: [],
      relays: [],
      children: childrenSchema.parse({}),
      egress: { allow: [], refuse: [] },
      access: { fromAbove: 'grants' },
      inventory: clusters.map((name) => inventoryEntrySchema.parse({ name })),
    };
    // JSON is YAML.
    writeFileSync(file('relay.yaml'), JSON.stringify(config));
    return new RelayProcess(scratch, file('relay.yaml'), file('status.json'), file('relay.log'), caPem);
  }

  private constructor(scratch: Scratch, config: string, status: string, log: string, ca: Buffer) {
    this.log = log;
    this.#scratch = scratch;
    this.#config = config;
    this.#status = status;
    this.#ca = ca;
  }

  /** Resolves when it reports that it is ready, with the time since the start of its process; or when it listens, which it also does without a parent. */
  async start(withinMs: number, until: 'ready' | 'listening' = 'ready'): Promise<number> {
    rmSync(this.#status, { force: true });
    const startMs = performance.now();
    const child = this.#scratch.node([programOf('relay'), '--config', this.#config]);
    this.#process = child;
    while (!(until === 'ready' ? await this.#isReady() : existsSync(this.#status))) {
      if (child.exitCode !== null) throw new Error(`the relay ended with exit code ${child.exitCode}`);
      if (performance.now() - startMs > withinMs) throw new Error(`the relay is not ready after ${withinMs / 1_000} s`);
      await new Promise((done) => setTimeout(done, lookEveryMs));
    }
    return performance.now() - startMs;
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (this.#process) await endProcess(this.#process, signal);
  }

  #isReady(): Promise<boolean> {
    if (!existsSync(this.#status)) return Promise.resolve(false);
    const { url } = JSON.parse(readFileSync(this.#status, 'utf8')) as { url: string };
    return new Promise((resolve) => {
      const asked = request(`${url}/readyz`, { ca: this.#ca, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      });
      asked.on('error', () => resolve(false));
      asked.end();
    });
  }
}
