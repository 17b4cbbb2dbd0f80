/** Nodes of a topology as real processes, as `banyan up` runs them, without the nodes that a benchmark simulates. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DataDirectory } from '../../center/supervisor/data-directory.ts';
import { assignPorts, type NodePortNumbers } from '../../center/supervisor/ports.ts';
import type { ProgramRole } from '../../center/supervisor/programs.ts';
import { ensureKeys } from '../../center/supervisor/sealing-keys.ts';
import { Supervisor } from '../../center/supervisor/supervisor.ts';
import { ensureTreePki, type TreePki } from '../../center/supervisor/tree-pki.ts';
import { type PlannedNode, planOf } from '../../center/topology/plan.ts';
import type { Topology, TopologyCluster, TopologyRelay } from '../../center/topology/topology.ts';
import type { KeyAndCertificate } from '../../core/identity/authority.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import type { NodeCredentials } from '../../core/wire/node-credentials.ts';

const readyWithinMs = 60_000;
/** Time for each further node, for trees of many nodes on few processors. */
const readyWithinMsForNode = 15_000;

interface Started {
  readonly data: DataDirectory;
  readonly nodes: readonly PlannedNode[];
  readonly ports: ReadonlyMap<string, NodePortNumbers>;
  readonly pki: TreePki;
  readonly supervisor: Supervisor;
}

export class LocalNodes implements AsyncDisposable {
  readonly #started: Started;
  readonly #killAll = () => {
    for (const { path } of this.#started.nodes) {
      const pid = this.#started.supervisor.pid(path);
      if (pid !== undefined) process.kill(pid, 'SIGKILL');
    }
  };

  /** Resolves when each of them is ready. */
  static async start(
    directory: string,
    topology: Topology,
    runs: (node: PlannedNode) => boolean,
    programOf?: (role: ProgramRole) => string,
  ): Promise<LocalNodes> {
    const data = new DataDirectory(directory);
    const planned = planOf(topology);
    const nodes = planned.filter(runs);
    const ports = await assignPorts(planned, data);
    ensureKeys(planned, data, systemRandom);
    const pki = await ensureTreePki(data, topology.name, planned, systemClock);
    const options = { nodes, data, ports, pki, clock: systemClock, restart: false, programOf, print() {} };
    const supervisor = new Supervisor(options);
    const started = new LocalNodes({ data, nodes, ports, pki, supervisor });
    const startMs = performance.now();
    supervisor.start();
    try {
      await supervisor.ready(readyWithinMs + nodes.length * readyWithinMsForNode);
    } catch (error) {
      await started[Symbol.asyncDispose]();
      throw error;
    }
    started.#tookMs = performance.now() - startMs;
    return started;
  }

  #tookMs = 0;

  private constructor(started: Started) {
    this.#started = started;
    // When this process ends without a wait, they must not stay.
    process.once('exit', this.#killAll);
  }

  /** The time from the start of the first process until all nodes were ready. */
  get tookMs(): number {
    return this.#tookMs;
  }

  get kubeconfig(): string {
    return this.#started.data.kubeconfig;
  }

  pid(path: string): number {
    const pid = this.#started.supervisor.pid(path);
    if (pid === undefined) throw new Error(`the node "${path}" is not running`);
    return pid;
  }

  /** The address on which the node listens for its children. */
  meshAddress(path: string): string {
    const { host, mesh } = this.#started.ports.get(path)!;
    return `${host}:${mesh}`;
  }

  /** Files of a node of the topology, even if it does not run. */
  credentials(path: string): NodeCredentials {
    const { pki } = this.#started;
    const { cert, key } = pki.nodeFiles(path);
    return { caPem: Buffer.from(pki.caPem), certPem: readFileSync(cert), keyPem: readFileSync(key) };
  }

  /** For certificates of the children that a benchmark simulates. */
  authority(): KeyAndCertificate {
    const { pki, data } = this.#started;
    return { certPem: pki.caPem, keyPem: readFileSync(join(data.pki, 'ca.key'), 'utf8') };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#started.supervisor.end();
    process.off('exit', this.#killAll);
  }
}

export function relayOf(parent: string, name: string): TopologyRelay {
  return { parent, name, labels: {}, spaces: [], replicas: 1 };
}

export function clusterOf(parent: string, name: string, labels: Record<string, string> = {}): TopologyCluster {
  return { parent, name, labels, annotations: {}, properties: {}, provider: { embedded: {} } };
}
