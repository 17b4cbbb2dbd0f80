/**
 * A whole tree as local processes: `banyan up`. Writes the configuration of every node. Starts all nodes at once, because each node waits for its parent by
 * itself. Writes the ready file when every node answers. Takes another tree while it runs, and touches only the nodes that differ.
 */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { stringify } from 'yaml';
import { dottedPath, shownPath } from '../../core/identity/node-path.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { durationText } from '../../core/runtime/duration-text.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { hostPort } from '../../core/runtime/host-port.ts';
import { lastLogError } from '../../core/runtime/last-log-error.ts';
import { writeWhole } from '../../core/runtime/whole-file.ts';
import { configHash } from '../../relay/config/live-config.ts';
import type { PlannedNode } from '../topology/plan.ts';
import { askReady } from './ask-ready.ts';
import { NodeProcess } from './child-process.ts';
import { type DataDirectory, readJson } from './data-directory.ts';
import { contextsOf, kubeconfig } from './kubeconfig.ts';
import { launchOf } from './launch.ts';
import { nodeConfigs, type TreeParts } from './node-config.ts';
import { type ProcessStep, processSteps } from './process-steps.ts';
import { type ProgramRole, programOf } from './programs.ts';

export interface SupervisorOptions extends TreeParts {
  readonly data: DataDirectory;
  readonly clock: Clock;
  readonly restart: boolean;
  readonly readyFile?: string | undefined;
  /** Returns the program of a role. Absent: the programs that are shipped with this one. */
  readonly programOf?: ((role: ProgramRole) => string) | undefined;
  /** Prints a line about an event to the terminal. */
  print(line: string): void;
}

export interface ReadyFile {
  readonly kubeconfig: string;
  readonly nodes: readonly { path: string; role: string; pid: number; url: string; metricsUrl: string }[];
}

/** Interval at which the supervisor asks a node that is not ready, and looks whether a node has taken its configuration. */
const askEveryMs = 100;
/** A node takes a changed configuration in some milliseconds. A node that needs longer than this is restarted. */
const takesWithinMs = 10_000;

export class Supervisor {
  readonly #options: SupervisorOptions;
  #tree: TreeParts;
  #configs: ReadonlyMap<string, object>;
  readonly #processes = new Map<string, NodeProcess>();
  #ready = false;
  #ended: Promise<void> | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#tree = options;
    this.#configs = nodeConfigs(options, options.data);
  }

  start(): void {
    this.#writeKubeconfig();
    for (const node of this.#tree.nodes) this.#start(node);
  }

  /**
   * Resolves with true when every node has joined and every API answers. The ready file is then written. Resolves with false if the tree was ended before
   * that. Throws Timeout, which names the nodes that have not joined, and then the `consequence`. `progress` hears after each round which nodes are not ready, and
   * why.
   */
  async ready(
    timeoutMs: number,
    consequence = '',
    progress: (waiting: ReadonlyMap<string, string>) => void = () => {},
  ): Promise<boolean> {
    const { clock, data } = this.#options;
    const { nodes } = this.#tree;
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
      if (clock.monotonicMs() > deadline) {
        const message = notReady(waiting, nodes.length, timeoutMs);
        throw new BanyanError(
          'Timeout',
          `${message}${consequence}. Their logs are in ${data.logs}; --timeout SECONDS waits longer`,
        );
      }
      await pause();
    }
    if (this.#ended) return false;
    this.#ready = true;
    this.#writeReadyFile();
    return true;
  }

  /** Ids of the nodes that run, or that wait to be started again. */
  get running(): ReadonlySet<string> {
    return new Set(this.#processes.keys());
  }

  pid(id: string): number | undefined {
    return this.#processes.get(id)?.pid;
  }

  /**
   * Takes another tree. `whenStopped` runs when all processes have ended that the new tree does not have, and before any new one starts. Resolves when each node
   * has its configuration; `ready` then tells whether they have joined.
   */
  async take(tree: TreeParts, whenStopped: () => void): Promise<void> {
    const configs = nodeConfigs(tree, this.#options.data);
    const steps = processSteps(this.#configs, configs);
    const stops = steps.filter((step) => step.do === 'stop');
    await Promise.all(stops.map(({ id }) => this.#stop(id)));
    whenStopped();
    this.#tree = tree;
    this.#configs = configs;
    this.#writeKubeconfig();
    for (const step of steps) if (!this.#ended) await this.#do(step);
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
    const deepestFirst = this.#tree.nodes.toReversed();
    await Promise.all(deepestFirst.map(({ id }) => this.#processes.get(id)?.end()));
  }

  // ----------------------------------------------------------------------------------------------------------

  async #do({ do: what, id }: ProcessStep): Promise<void> {
    if (what === 'stop') return;
    const node = this.#tree.nodes.find((one) => one.id === id)!;
    if (what === 'reconfigure' && (await this.#reconfigure(node))) return;
    if (what !== 'start') await this.#stop(id);
    // The tree may have been ended meanwhile. A process that starts now would outlive the supervisor.
    if (!this.#ended) this.#start(node);
  }

  async #stop(id: string): Promise<void> {
    await this.#processes.get(id)?.end();
    this.#processes.delete(id);
  }

  /** Returns false if the node does not take the configuration, for example because it is starting just now. */
  async #reconfigure(node: PlannedNode): Promise<boolean> {
    const { data, clock } = this.#options;
    const hash = configHash(this.#writeConfig(node));
    const shown = () => readJson<{ config?: string; pid?: number }>(data.status(node.id));
    const pid = this.pid(node.id);
    // A process whose status file does not name it is still starting: a signal would end it.
    if (pid === undefined || shown()?.pid !== pid) return false;
    process.kill(pid, 'SIGHUP');
    const deadline = clock.monotonicMs() + takesWithinMs;
    while (shown()?.config !== hash) {
      if (this.#ended || this.pid(node.id) !== pid || clock.monotonicMs() > deadline) return false;
      await pause();
    }
    return true;
  }

  #writeConfig({ id }: PlannedNode): string {
    const text = stringify(this.#configs.get(id));
    writeWhole(this.#options.data.config(id), text);
    return text;
  }

  #start(node: PlannedNode): void {
    const { data, clock, restart, print } = this.#options;
    const name = dottedPath(node.id);
    const process = new NodeProcess(
      {
        path: node.id,
        program: (this.#options.programOf ?? programOf)(node.role),
        launch: launchOf(node.role),
        args: ['--config', data.config(node.id)],
        log: { file: data.log(node.id), rotation: this.#tree.logs },
        compileCache: data.compileCache,
        prepare: () => {
          this.#writeConfig(node);
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
            const isWanted = this.#ended !== undefined || this.#processes.get(node.id) !== process || process.isEnding;
            if (!isWanted) print(`${name} ended: ${how}${next}`);
          },
        },
      },
    );
    this.#processes.set(node.id, process);
    process.start();
  }

  #url(id: string): string {
    const { host, api } = this.#tree.ports.get(id)!;
    return `https://${hostPort(host, api)}`;
  }

  /** Asks whether the node is ready. Undefined: it is. Otherwise the reason why it is not. */
  async #ask(id: string): Promise<string | undefined> {
    if (this.pid(id) !== undefined) return askReady(this.#url(id), this.#tree.pki.caPem);
    const error = lastLogError(this.#options.data.log(id));
    return `its process is not running${error === undefined ? '' : `: ${error}`}`;
  }

  #writeKubeconfig(): void {
    const { nodes, pki } = this.#tree;
    const contexts = contextsOf(nodes, (id) => this.#url(id));
    const space = nodes.find((node) => node.path === '')?.spaces[0];
    const first = space ? `space/center/${space.name}` : undefined;
    writeWhole(this.#options.data.kubeconfig, kubeconfig(contexts, { caPem: pki.caPem, ...pki.admin }, first));
  }

  #writeReadyFile(): void {
    const { data, readyFile } = this.#options;
    if (readyFile === undefined) return;
    const content: ReadyFile = {
      kubeconfig: data.kubeconfig,
      nodes: this.#tree.nodes.map((node) => ({
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

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, askEveryMs));
}

/** Number of nodes that the message names. If many nodes are missing, most of them wait for the first few. */
const namedMax = 5;

function notReady(waiting: ReadonlyMap<string, string>, nodes: number, timeoutMs: number): string {
  const named = [...waiting].slice(0, namedMax).map(([id, reason]) => `${shownPath(id)}: ${reason}`);
  const more = waiting.size > namedMax ? [`and ${waiting.size - namedMax} more`] : [];
  const list = [...named, ...more].join('; ');
  return `not ready after ${durationText(timeoutMs)}: ${waiting.size} of ${nodes} nodes have not joined (${list})`;
}
