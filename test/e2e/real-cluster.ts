/** A tree whose only cluster `rivoli` is a real control plane, below a center with a space `retail`: started together, with a running agent. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { furnish } from '../support/control-plane/furniture.ts';
import { getObject } from '../support/kept-api/kept-api.ts';
import { kubectlBy, LocalTree } from './local-tree.ts';

export interface RealClusterOptions {
  /** Relays between the center and the cluster; absent: none. */
  readonly relay?: string;
  /** Nodes of the cluster, on which pods become ready; none: only the API is needed. */
  readonly nodes?: number;
  /** Each request to the API server is recorded. */
  readonly audit?: boolean;
}

export class RealCluster implements AsyncDisposable {
  /** Folders of the cluster in `plane`, and of the tree beside it; removed in the end. */
  readonly directory: string;
  readonly tree: LocalTree;
  readonly plane: ControlPlane;

  private constructor(directory: string, tree: LocalTree, plane: ControlPlane) {
    this.directory = directory;
    this.tree = tree;
    this.plane = plane;
  }

  static async start(
    title: string,
    { relay, nodes = 0, audit = false }: RealClusterOptions = {},
  ): Promise<RealCluster> {
    const directory = mkdtempSync(join(tmpdir(), `banyan-${title}-`));
    const tree = new LocalTree(join(directory, 'topology.yaml'));
    const plane = await ControlPlane.start({ directory: join(directory, 'plane'), audit });
    const cluster = new RealCluster(directory, tree, plane);
    try {
      if (nodes > 0) furnish(plane, { nodes, volumes: 0 });
      writeFileSync(join(directory, 'topology.yaml'), stringify(topologyOf(title, plane.kubeconfig, relay)));
      await tree.up('--no-restart');
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
    return cluster;
  }

  /** kubectl at the cluster, with the objects as its input; throws when it fails. */
  kubectl(args: readonly string[], ...items: object[]): string {
    const input = items.length === 0 ? undefined : JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    const { code, out } = kubectlBy(this.plane.kubeconfig, args, input);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${out}`);
    return out;
  }

  /** An object of the cluster, as `kubectl get` names it. */
  there<T>(...names: string[]): T | undefined {
    return getObject<T>(this.plane.kubeconfig, names);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tree[Symbol.asyncDispose]();
    await this.plane[Symbol.asyncDispose]();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

function topologyOf(title: string, path: string, relay: string | undefined): object {
  const below = relay === undefined ? {} : { parent: relay };
  return {
    apiVersion: 'banyan.io/v1alpha1',
    kind: 'Topology',
    metadata: { name: title },
    spec: {
      center: { spaces: [{ name: 'retail', type: 'Workload' }] },
      ...(relay === undefined ? {} : { relays: [{ name: relay }] }),
      clusters: [{ name: 'rivoli', ...below, labels: { env: 'prod' }, provider: { kubeconfig: { path } } }],
    },
  };
}
