/** A tree of one relay and one agent, and an operator that two spaces may place. Tests do what the program of the operator would do. */
import { expect } from 'vitest';
import { definitions, harbour, operator, tank } from '../support/operator.ts';
import { LocalTree, until } from './local-tree.ts';

export const retail = 'space/center/retail';
export const platform = 'space/center/platform';
export const rivoli = 'cluster/eu:rivoli';

interface Shown {
  readonly metadata: { readonly deletionTimestamp?: string };
  readonly status?: { readonly display?: string };
}
/** Type, name and, if there is one, namespace, as `kubectl get` takes them. */
type Names = readonly string[];

export const controllers: readonly Names[] = [
  ['deploy', 'tank-operator', '-n', 'op'],
  ['serviceaccount', 'tank-operator', '-n', 'op'],
  ['clusterrole', 'tank-operator'],
  ['clusterrolebinding', 'tank-operator'],
];
export const containers: readonly Names[] = [
  ['crd', 'tanks.op.example.com'],
  ['crd', 'harbours.op.example.com'],
  ['namespace', 'op'],
];
export const north: Names = ['tank', 'north', '-n', 'op'];
export const main: Names = ['harbour', 'main'];

export class OperatorTree extends LocalTree {
  constructor() {
    super('test/e2e/removal-order-topology.yaml');
  }

  /** Starts the tree. Both spaces have the operator afterwards, and `retail` also has its objects. No space has a placement. */
  async start(): Promise<void> {
    await this.up();
    for (const space of [retail, platform]) {
      this.put(space, ...definitions, operator[0]!);
      await until('the kinds are served', () => this.kubectl(space, ['get', 'tanks,harbours', '-A']).code === 0);
    }
    this.put(retail, ...operator, tank, harbour);
    this.put(platform, ...operator);
  }

  at(names: Names): Shown | undefined {
    return this.json<Shown>(rivoli, ...names);
  }

  there(...names: Names[]): readonly Names[] {
    return names.filter((one) => this.at(one) !== undefined);
  }

  put(space: string, ...items: readonly object[]): void {
    const { code, out } = this.kubectl(
      space,
      ['apply', '-f', '-'],
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    );
    expect(code, out).toBe(0);
  }

  setFinalizers(names: Names, finalizers: readonly string[] | null): void {
    this.ok(rivoli, 'patch', ...names, '--type=merge', '-p', JSON.stringify({ metadata: { finalizers } }));
  }

  available(space: string, name: string): Promise<void> {
    const display = () => this.json<Shown>(space, 'epl', name)?.status?.display;
    return until(`${name} is available`, () => display() === 'available 1/1');
  }

  withdraw(space: string, name: string): void {
    this.ok(space, 'delete', 'epl', name, '--wait=false');
  }

  isBeingDeleted(names: Names): boolean {
    return this.at(names)?.metadata.deletionTimestamp !== undefined;
  }

  allGone(): Promise<void> {
    return until('everything has gone', () => this.there(...controllers, ...containers, north, main).length === 0);
  }
}

/** Longer than the time for which controllers stay in any case. */
export const aWhile = () => new Promise((done) => setTimeout(done, 8_000));
