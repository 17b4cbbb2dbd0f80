/** A workload space, and a real control plane with the controllers that a space has too: whoever asks both the same gets the same answers. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { likeSpaces } from '../support/command-session.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { LocalTree } from './local-tree.ts';

export class SpaceAndPlane implements AsyncDisposable {
  /** Kubeconfigs of administrators: the space, then the control plane. */
  readonly kubeconfigs: readonly [space: string, plane: string];
  readonly #directory: string;
  readonly #tree: LocalTree;
  readonly #plane: ControlPlane;

  static async start(name: string): Promise<SpaceAndPlane> {
    const directory = mkdtempSync(join(tmpdir(), `banyan-${name}-`));
    const spec = { center: { spaces: [{ name, type: 'Workload' }] } };
    const topology = { apiVersion: 'banyan.io/v1alpha1', kind: 'Topology', metadata: { name }, spec };
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    const tree = new LocalTree(join(directory, 'topology.yaml'));
    const [plane] = await Promise.all([
      ControlPlane.start({ directory: join(directory, 'plane'), ...likeSpaces }),
      tree.up(),
    ]);
    return new SpaceAndPlane(directory, tree, plane, tree.kubeconfigOf(`space/center/${name}`));
  }

  /** The program of the version of the control plane. */
  get kubectl(): string {
    return this.#plane.kubectl;
  }

  private constructor(directory: string, tree: LocalTree, plane: ControlPlane, space: string) {
    this.#directory = directory;
    this.#tree = tree;
    this.#plane = plane;
    this.kubeconfigs = [space, plane.kubeconfig];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tree[Symbol.asyncDispose]();
    await this.#plane[Symbol.asyncDispose]();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
