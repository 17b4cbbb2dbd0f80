/**
 * A whole tree as local processes: `banyan up`. Makes the tree's certificates, gives every node its configuration, starts
 * all of them at once (each waits for its parent by itself), and writes the ready file when every one answers.
 */
import { mkdirSync } from 'node:fs';
import { request } from 'node:https';
import { dirname } from 'node:path';
import { stringify } from 'yaml';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import { hostPort } from '../../core/wire/dialer/proxy-url.ts';
import { fileName, type PlannedNode } from '../topology/plan.ts';
import { NodeProcess } from './child-process.ts';
import { type DataDirectory, writeWhole } from './data-directory.ts';
import { contextsOf, kubeconfig } from './kubeconfig.ts';
import type { NodePorts } from './ports.ts';
import { programOf } from './programs.ts';

export interface TreePki {
  readonly caFile: string;
  readonly caPem: string;
  readonly admin: { readonly certPem: string; readonly keyPem: string };
  /** Files of a node's certificate and key. */
  nodeFiles(path: string, role: PlannedNode['role']): { readonly cert: string; readonly key: string };
}

export interface SupervisorOptions {
  readonly nodes: readonly PlannedNode[];
  readonly data: DataDirectory;
  readonly ports: ReadonlyMap<string, NodePorts>;
  readonly pki: TreePki;
  readonly clock: Clock;
  readonly restart: boolean;
  readonly readyFile?: string | undefined;
  /** Told in words what happens: for the terminal. */
  say(line: string): void;
}

export interface ReadyFile {
  readonly kubeconfig: string;
  readonly nodes: readonly { path: string; role: string; pid: number; url: string; metricsUrl: string }[];
}

/** How often a node that is not ready yet is asked. */
const askEveryMs = 100;
const askTimeoutMs = 2_000;

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #processes = new Map<string, NodeProcess>();
  #ready = false;
  #ended = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  start(): void {
    const { nodes, data, pki } = this.#options;
    const contexts = contextsOf(nodes, (path) => this.#url(path));
    writeWhole(data.kubeconfig, kubeconfig(contexts, { caPem: pki.caPem, ...pki.admin }, this.#firstContext()));
    for (const node of nodes) this.#startNode(node);
  }

  /** Resolves when every node has joined and every API answers; then the ready file is there. */
  async ready(timeoutMs: number): Promise<void> {
    const { nodes, clock } = this.#options;
    const deadline = clock.monotonicMs() + timeoutMs;
    const waiting = new Map(nodes.map((node) => [node.path, 'has not answered yet']));
    while (waiting.size > 0 && !this.#ended) {
      for (const path of [...waiting.keys()]) {
        const wrong = await this.#ask(path);
        if (wrong === undefined) waiting.delete(path);
        else waiting.set(path, wrong);
      }
      if (waiting.size === 0) break;
      if (clock.monotonicMs() > deadline) {
        const list = [...waiting].map(([path, wrong]) => `${fileName(path)}: ${wrong}`).slice(0, 5);
        throw new BanyanError(
          'Timeout',
          `not ready after ${Math.round(timeoutMs / 1000)} s: ${list.join('; ')}; see the logs`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, askEveryMs));
    }
    this.#ready = true;
    this.#writeReadyFile();
  }

  pid(path: string): number | undefined {
    return this.#processes.get(path)?.pid;
  }

  /** Ends the children first, so that nobody reports a parent's end as a fault. */
  async end(): Promise<void> {
    this.#ended = true;
    const deepestFirst = [...this.#options.nodes].reverse();
    await Promise.all(deepestFirst.map((node) => this.#processes.get(node.path)?.end()));
  }

  // ----------------------------------------------------------------------------------------------------------

  #startNode(node: PlannedNode): void {
    const { data, clock, restart, say } = this.#options;
    const shown = fileName(node.path);
    const process = new NodeProcess(
      {
        path: node.path,
        program: programOf(node.role),
        args: ['--config', data.config(node.path)],
        logFile: data.log(node.path),
        compileCache: data.compileCache,
        prepare: () => {
          writeWhole(data.config(node.path), stringify(this.#config(node)));
          mkdirSync(dirname(data.status(node.path)), { recursive: true });
        },
      },
      {
        restart,
        clock,
        events: {
          started: () => {
            if (this.#ready) this.#writeReadyFile();
          },
          ended: (how, restartInMs) => {
            const next = restartInMs === undefined ? '' : `; starting it again in ${restartInMs / 1000} s`;
            if (!this.#ended) say(`${shown} ended: ${how}${next}`);
          },
        },
      },
    );
    this.#processes.set(node.path, process);
    process.start();
  }

  #config(node: PlannedNode): object {
    const { data, pki, ports } = this.#options;
    const own = ports.get(node.path)!;
    const parent = node.parent === undefined ? undefined : ports.get(node.parent)!;
    const files = pki.nodeFiles(node.path, node.role);
    const { endpoint, ...link } = node.link ?? {};
    const common = {
      path: node.path,
      data: data.store(node.path),
      logFile: data.log(node.path),
      statusFile: data.status(node.path),
      ...(parent ? { parent: { address: endpoint ?? hostPort(parent.host, parent.mesh), path: node.parent } } : {}),
      ...(node.link ? { link } : {}),
      pki: { ca: pki.caFile, cert: files.cert, key: files.key },
      api: { host: own.host, port: own.api },
    };
    if (node.role === 'agent') return { ...common, cluster: { embedded: {} } };
    return {
      ...common,
      mesh: { host: own.host, port: own.mesh, terminatedTls: node.listen?.terminatedTls ?? false },
      labels: node.labels,
      spaces: node.spaces,
      relays: node.relays,
      inventory: node.inventory.map(({ name, labels, annotations, properties }) => ({
        name,
        labels,
        annotations,
        properties,
      })),
    };
  }

  #url(path: string): string {
    const { host, api } = this.#options.ports.get(path)!;
    return `https://${host}:${api}`;
  }

  #firstContext(): string | undefined {
    const center = this.#options.nodes.find((node) => node.path === '');
    const space = center?.spaces[0];
    return space ? `space/center/${space.name}` : undefined;
  }

  /** Undefined when the node is ready, otherwise what is wrong. */
  #ask(path: string): Promise<string | undefined> {
    if (this.#processes.get(path)?.pid === undefined) return Promise.resolve('its process is not running');
    return new Promise((resolve) => {
      const asked = request(
        `${this.#url(path)}/readyz`,
        { ca: this.#options.pki.caPem, timeout: askTimeoutMs, agent: false },
        (response) => {
          let body = '';
          response.setEncoding('utf8');
          response.on('data', (chunk: string) => {
            body += chunk.slice(0, 500);
          });
          response.on('end', () =>
            resolve(response.statusCode === 200 ? undefined : body.trim() || `status ${response.statusCode}`),
          );
        },
      );
      asked.on('timeout', () => asked.destroy(new Error('no answer')));
      asked.on('error', (error) => resolve(describeError(error)));
      asked.end();
    });
  }

  #writeReadyFile(): void {
    const { nodes, data, readyFile } = this.#options;
    if (readyFile === undefined) return;
    const content: ReadyFile = {
      kubeconfig: data.kubeconfig,
      nodes: nodes.map((node) => ({
        path: node.path === '' ? 'center' : node.path,
        role: node.role,
        pid: this.pid(node.path) ?? 0,
        url: this.#url(node.path),
        metricsUrl: `${this.#url(node.path)}/metrics`,
      })),
    };
    writeWhole(readyFile, JSON.stringify(content, null, 2));
  }
}
