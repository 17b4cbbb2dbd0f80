/** A relay `eu` below a center with a space `retail`, a real control plane, and one enrolled agent `rivoli` between them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { AgentProcess, enroll } from './agent-process.ts';
import { kubectlBy, LocalTree, type Ran } from './local-tree.ts';

/** The control plane's programs are built on the first run of all. */
export const buildMsMax = 3_600_000;
const name = 'rivoli';

export class OneSite implements AsyncDisposable {
  readonly directory: string;
  readonly tree: LocalTree;
  readonly plane: ControlPlane;
  readonly agent: AgentProcess;

  private constructor(directory: string, tree: LocalTree, plane: ControlPlane) {
    this.directory = directory;
    this.tree = tree;
    this.plane = plane;
    const own = join(directory, 'agent');
    const cluster = { kubernetes: { kubeconfig: plane.kubeconfig } };
    this.agent = new AgentProcess({ tree, directory: own, name, pki: enroll(tree, name, own), cluster });
  }

  /** Its agent does not run yet. */
  static async start(title: string): Promise<OneSite> {
    const directory = mkdtempSync(join(tmpdir(), `banyan-${title}-`));
    const topology = join(directory, 'topology.yaml');
    writeFileSync(topology, stringify(topologyOf(title)));
    const tree = new LocalTree(topology);
    const [plane] = await Promise.all([ControlPlane.start({ directory: join(directory, 'plane') }), tree.up()]);
    return new OneSite(directory, tree, plane);
  }

  /** `limits`: its agent's limits of requests to the API server. */
  startAgent(limits: object): void {
    this.agent.start({ cluster: { kubernetes: { kubeconfig: this.plane.kubeconfig, limits } } });
  }

  kubectl(...args: string[]): Ran {
    return kubectlBy(this.plane.kubeconfig, args);
  }

  /** The message of a condition of its SyncTarget while it is True. */
  condition(type: string): string | undefined {
    return trueCondition(this.tree.json('node/eu', 'synctarget', name), type)?.message;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.agent.stop();
    await this.tree[Symbol.asyncDispose]();
    await this.plane[Symbol.asyncDispose]();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

export interface TrueCondition {
  readonly reason: string;
  readonly message: string;
}

/** The message of a condition of an object at a relay; undefined if the condition is not True. */
export function trueCondition(object: object | undefined, type: string): TrueCondition | undefined {
  const { status } = (object ?? {}) as { status?: { conditions?: (TrueCondition & Record<string, string>)[] } };
  return status?.conditions?.find((one) => one.type === type && one.status === 'True');
}

function topologyOf(title: string): object {
  return {
    apiVersion: 'banyan.io/v1alpha1',
    kind: 'Topology',
    metadata: { name: title },
    spec: { center: { spaces: [{ name: 'retail', type: 'Workload' }] }, relays: [{ name: 'eu' }], clusters: [] },
  };
}
