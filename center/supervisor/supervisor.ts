/**
 * A whole tree as local processes: `banyan up`. Makes the tree's certificates and the configuration of every node. Starts all nodes at once, because each
 * node waits for its parent by itself. Writes the ready file when every node answers.
 */
import { mkdirSync } from 'node:fs';
import { request } from 'node:https';
import { dirname } from 'node:path';
import { stringify } from 'yaml';
import { dottedPath, shownPath } from '../../core/identity/node-path.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { durationText } from '../../core/runtime/duration-text.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import { hostPort } from '../../core/runtime/host-port.ts';
import { lastLogError } from '../../core/runtime/last-log-error.ts';
import type { LogRotation } from '../../core/runtime/log-rotation.ts';
import { writeWhole } from '../../core/runtime/whole-file.ts';
import type { PlannedNode } from '../topology/plan.ts';
import { NodeProcess } from './child-process.ts';
import type { DataDirectory } from './data-directory.ts';
import { contextsOf, kubeconfig } from './kubeconfig.ts';
import { launchOf } from './launch.ts';
import type { NodePortNumbers } from './ports.ts';
import { type ProgramRole, programOf } from './programs.ts';
import { encryptionOf } from './sealing-keys.ts';

export interface TreePki {
  readonly caFile: string;
  readonly caPem: string;
  readonly admin: { readonly certPem: string; readonly keyPem: string };
  /** True: certificates of users that were made before this start are refused from now on. */
  readonly refusesFormer: boolean;
  /** True: the authority of nodes should be replaced, because two thirds of its time are over. */
  readonly isAuthorityDue: boolean;
  /** The file with the authorities of users. */
  readonly usersFile: string;
  /** For a relay with replicas: the file with the keys that sign the tokens of ServiceAccounts. */
  tokenKeys(path: string): string | undefined;
  /** The files with certificate and key of the authority that signs users. */
  readonly userSigner: { readonly cert: string; readonly key: string };
  /** The files with a node's certificate and key. */
  nodeFiles(id: string): { readonly cert: string; readonly key: string };
  /** For a relay or the center: the files with the issuer's certificate and key. */
  issuerFiles(id: string): { readonly cert: string; readonly key: string };
  /** Likewise for the issuer of the subtree. */
  subtreeIssuerFiles(id: string): { readonly cert: string; readonly key: string };
}

export interface SupervisorOptions {
  readonly nodes: readonly PlannedNode[];
  readonly data: DataDirectory;
  readonly ports: ReadonlyMap<string, NodePortNumbers>;
  readonly pki: TreePki;
  readonly clock: Clock;
  readonly restart: boolean;
  readonly readyFile?: string | undefined;
  readonly logs?: LogRotation | undefined;
  /** Returns the program of a role. Absent: the programs that are shipped with this one. */
  readonly programOf?: ((role: ProgramRole) => string) | undefined;
  /** Prints a line about an event to the terminal. */
  print(line: string): void;
}

export interface ReadyFile {
  readonly kubeconfig: string;
  readonly nodes: readonly { path: string; role: string; pid: number; url: string; metricsUrl: string }[];
}

/** Interval at which the supervisor asks a node that is not ready. */
const askEveryMs = 100;
const askTimeoutMs = 2_000;

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #processes = new Map<string, NodeProcess>();
  #ready = false;
  #ended: Promise<void> | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  start(): void {
    const { nodes, data, pki } = this.#options;
    const contexts = contextsOf(nodes, (id) => this.#url(id));
    writeWhole(data.kubeconfig, kubeconfig(contexts, { caPem: pki.caPem, ...pki.admin }, this.#firstContext()));
    for (const node of nodes) this.#startNode(node);
  }

  /**
   * Resolves with true when every node has joined and every API answers. The ready file is then written. Resolves with false if the tree was ended before
   * that. `progress` hears after each round which nodes are not ready, and why.
   */
  async ready(
    timeoutMs: number,
    progress: (waiting: ReadonlyMap<string, string>) => void = () => {},
  ): Promise<boolean> {
    const { nodes, clock, data } = this.#options;
    const deadline = clock.monotonicMs() + timeoutMs;
    const waiting = new Map(nodes.map((node) => [node.id, 'has not answered yet']));
    while (waiting.size > 0 && !this.#ended) {
      for (const id of [...waiting.keys()]) {
        const reason = await this.#ask(id);
        if (reason === undefined) waiting.delete(id);
        else waiting.set(id, reason);
      }
      progress(waiting);
      if (waiting.size === 0) break;
      if (clock.monotonicMs() > deadline) throw notReady(waiting, nodes.length, timeoutMs, data.logs);
      await new Promise((resolve) => setTimeout(resolve, askEveryMs));
    }
    if (this.#ended) return false;
    this.#ready = true;
    this.#writeReadyFile();
    return true;
  }

  pid(id: string): number | undefined {
    return this.#processes.get(id)?.pid;
  }

  /**
   * Ends children first, so that no node reports the end of its parent as a problem. A second call waits for the same end: a second signal would end a node
   * before its proper end is complete.
   */
  end(): Promise<void> {
    this.#ended ??= this.#endAll();
    return this.#ended;
  }

  async #endAll(): Promise<void> {
    const deepestFirst = [...this.#options.nodes].reverse();
    await Promise.all(deepestFirst.map((node) => this.#processes.get(node.id)?.end()));
  }

  // ----------------------------------------------------------------------------------------------------------

  #startNode(node: PlannedNode): void {
    const { data, clock, restart, print, logs } = this.#options;
    const name = dottedPath(node.id);
    const process = new NodeProcess(
      {
        path: node.id,
        program: (this.#options.programOf ?? programOf)(node.role),
        launch: launchOf(node.role),
        args: ['--config', data.config(node.id)],
        log: { file: data.log(node.id), rotation: logs },
        compileCache: data.compileCache,
        prepare: () => {
          writeWhole(data.config(node.id), stringify(this.#config(node)));
          mkdirSync(dirname(data.status(node.id)), { recursive: true, mode: 0o700 });
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
            if (!this.#ended) print(`${name} ended: ${how}${next}`);
          },
        },
      },
    );
    this.#processes.set(node.id, process);
    process.start();
  }

  #config(node: PlannedNode): object {
    const { data, pki, ports, logs } = this.#options;
    const nodePorts = ports.get(node.id)!;
    const [home, ...others] = node.parents.map((id) => {
      const { host, mesh } = ports.get(id)!;
      return hostPort(host, mesh);
    });
    const files = pki.nodeFiles(node.id);
    const { endpoint, ...link } = node.link ?? {};
    // A load balancer before the parents chooses one of them by itself.
    const parent = endpoint === undefined ? { address: home, replicas: others } : { address: endpoint };
    const common = {
      path: node.path,
      data: data.store(node.id),
      logFile: data.log(node.id),
      ...(logs ? { logRotation: logs } : {}),
      statusFile: data.status(node.id),
      ...(home === undefined ? {} : { parent: { ...parent, path: node.parent } }),
      ...(node.link ? { link } : {}),
      pki: { ca: pki.caFile, cert: files.cert, key: files.key, users: { ca: pki.usersFile } },
      api: { host: nodePorts.host, port: nodePorts.api },
      ...(node.limits ? { limits: node.limits } : {}),
      ...(node.audit ? { audit: { ...node.audit, path: data.auditLog(node.id) } } : {}),
      encryption: encryptionOf(node, data),
      // A user who runs all nodes of a tree on one machine has the files of all nodes, and so all rights at them.
      ...(node.role === 'center' ? {} : { access: node.access ?? { fromAbove: 'cluster-admin' } }),
    };
    if (node.role === 'agent') {
      return { ...common, ...(node.accept ? { accept: node.accept } : {}), ...this.#cluster(node) };
    }
    const tokenKeys = pki.tokenKeys(node.path);
    return {
      ...common,
      pki: {
        ...common.pki,
        // Only the center signs users: whoever has the key can be anybody at every node.
        ...(node.role === 'center' ? { users: { ...common.pki.users, signer: pki.userSigner } } : {}),
        ...(tokenKeys === undefined ? {} : { tokenKeys }),
        issuer: { ...pki.issuerFiles(node.id), ...node.issuer },
        subtreeIssuer: pki.subtreeIssuerFiles(node.id),
      },
      mesh: { host: nodePorts.host, port: nodePorts.mesh, terminatedTls: node.listen?.terminatedTls ?? false },
      ...(node.replicas > 1 ? { replica: node.replica, replicas: node.replicas } : {}),
      labels: node.labels,
      spaces: node.spaces,
      relays: node.relays,
      children: { named: node.children },
      ...(node.egress ? { egress: node.egress } : {}),
      ...(node.authentication ? { authentication: node.authentication } : {}),
      ...(node.frontProxy ? { frontProxy: node.frontProxy } : {}),
      inventory: node.inventory.map(({ name, labels, annotations, properties }) => ({
        name,
        labels,
        annotations,
        properties,
      })),
    };
  }

  #cluster({ kubeconfig }: PlannedNode): object {
    if (!kubeconfig) return { cluster: { embedded: {} } };
    const { path, ...list } = kubeconfig;
    // With `access.fromAbove: grants`, the cluster's own roles decide about everybody.
    const streams = { cluster: { users: ['*'], groups: ['*'] } };
    return { cluster: { kubernetes: { kubeconfig: path, ...list } }, streams };
  }

  #url(id: string): string {
    const { host, api } = this.#options.ports.get(id)!;
    return `https://${hostPort(host, api)}`;
  }

  #firstContext(): string | undefined {
    const center = this.#options.nodes.find((node) => node.path === '');
    const space = center?.spaces[0];
    return space ? `space/center/${space.name}` : undefined;
  }

  /** Asks whether the node is ready. Undefined: it is. Otherwise the reason why it is not. */
  #ask(id: string): Promise<string | undefined> {
    if (this.#processes.get(id)?.pid === undefined) {
      const error = lastLogError(this.#options.data.log(id));
      return Promise.resolve(`its process is not running${error === undefined ? '' : `: ${error}`}`);
    }
    return new Promise((resolve) => {
      const outgoing = request(
        `${this.#url(id)}/readyz`,
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
      outgoing.on('timeout', () => outgoing.destroy(new Error('no answer')));
      outgoing.on('error', (error) => resolve(describeError(error)));
      outgoing.end();
    });
  }

  #writeReadyFile(): void {
    const { nodes, data, readyFile } = this.#options;
    if (readyFile === undefined) return;
    const content: ReadyFile = {
      kubeconfig: data.kubeconfig,
      nodes: nodes.map((node) => ({
        path: shownPath(node.id),
        role: node.role,
        pid: this.pid(node.id) ?? 0,
        url: this.#url(node.id),
        metricsUrl: `${this.#url(node.id)}/metrics`,
      })),
    };
    writeWhole(readyFile, JSON.stringify(content, null, 2));
  }
}

/** Number of nodes that the message names. If many nodes are missing, most of them wait for the first few. */
const namedMax = 5;

function notReady(waiting: ReadonlyMap<string, string>, nodes: number, timeoutMs: number, logs: string): BanyanError {
  const named = [...waiting].slice(0, namedMax).map(([id, reason]) => `${shownPath(id)}: ${reason}`);
  const more = waiting.size > namedMax ? [`and ${waiting.size - namedMax} more`] : [];
  const list = [...named, ...more].join('; ');
  return new BanyanError(
    'Timeout',
    `not ready after ${durationText(timeoutMs)}: ${waiting.size} of ${nodes} nodes have not joined (${list}); all nodes were ended. Their logs are in ${logs}; --timeout SECONDS waits longer`,
  );
}
