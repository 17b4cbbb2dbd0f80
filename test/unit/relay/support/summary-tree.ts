/** A tree of nodes on memory stores, with scripted agents, and a space with a placement and its summarizers. */

import { entryKey } from '../../../../core/entries/entry-keys.ts';
import { parseKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import type { Labels } from '../../../../core/object/selector.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { asText, text } from '../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { ordinaryStanding, withoutReplicas } from '../../../../relay/replicas/replicas.ts';
import { GatherNode, state } from '../../../support/gather-node.ts';

const apiVersion = 'edge.banyan.io/v1alpha1';
export const labels: Labels = { env: 'prod' };

export interface Shown {
  readonly rows: { columns: unknown[] }[];
  readonly total: number;
  readonly dropped?: number;
  readonly errorBound?: number;
  readonly rowErrors: { count: number; sample: { path: string; field: string; message: string }[] };
  readonly completeness: { expected: number; fresh: number; never: number; outdated: number };
}

export function webOf(name: string, image = 'web:1'): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'shop' },
    spec: {
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'c', image }] } },
    },
  };
}

export class SummaryTree {
  readonly clock = new VirtualClock();
  /** Relays below the center with replicas: their contribution does not change; their rows are of two histories. */
  readonly frozen = new Set<string>();
  readonly mixed = new Set<string>();
  readonly #random = new SeededRandom(1);
  readonly #turns: (() => void)[] = [];
  readonly #nodes = new Map<string, GatherNode>();
  #revision = 0;

  /** Paths of the relays, parents first, and of the agents. */
  constructor(relays: readonly string[], agents: readonly string[]) {
    this.#nodes.set('', this.#node(''));
    for (const path of relays) this.#nodes.set(path, this.#node(path));
    for (const path of relays) {
      const leaves = agents.filter((agent) => agent.startsWith(`${path}:`)).length;
      this.#parentOf(path).relay(nameOf(path), this.at(path), leaves, labels);
    }
    for (const path of agents) this.#parentOf(path).agent(nameOf(path), labels);
    for (const node of this.#nodes.values()) node.start();
    this.at('').space.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
  }

  at(path: string): GatherNode {
    return this.#nodes.get(path)!;
  }

  summarizer(name: string, spec: object): void {
    const object = { apiVersion, kind: 'StatusSummarizer', metadata: { name }, spec };
    this.at('').space.apply(object, { fieldManager: 'test', force: true });
  }

  placement(...statusSummarizers: string[]): void {
    this.place({ statusSummarizers });
  }

  place({
    statusSummarizers = [],
    upsync = [],
    associated = [],
  }: {
    statusSummarizers?: string[];
    upsync?: object[];
    associated?: object[];
  }): void {
    const item = { apiGroup: 'apps', resources: ['deployments'], namespaces: ['shop'], statusSummarizers };
    const spec = { locationSelectors: [{ matchLabels: labels }], downsync: [item], upsync, associated };
    const object = { apiVersion, kind: 'EdgePlacement', metadata: { name: 'shop' }, spec };
    this.at('').space.apply(object, { fieldManager: 'test', force: true });
  }

  apply(object: KubeObject): void {
    this.at('').space.apply(object, { fieldManager: 'test', force: true });
  }

  delete(kind: 'edgeplacements' | 'statussummarizers', name: string): void {
    this.at('').space.delete({ group: 'edge.banyan.io', resource: kind, namespace: '', name });
  }

  agent(path: string): void {
    this.#parentOf(path).agent(nameOf(path), labels);
  }

  leave(path: string): void {
    this.#parentOf(path).leave(nameOf(path));
  }

  /** An agent reports the state of an object of the name. */
  report(agent: string, object: string, status: object, more: object = {}): void {
    const key = { group: 'apps', resource: 'deployments', namespace: 'shop', name: object };
    const node = this.#parentOf(agent);
    node.report(nameOf(agent), [state(key, more, status), node.partial(true)], ++this.#revision);
  }

  /** The same of many objects, in one batch. */
  reportMany(agent: string, statuses: readonly (readonly [object: string, status: object])[]): void {
    const node = this.#parentOf(agent);
    const states = statuses.map(([name, status]) =>
      state({ group: 'apps', resource: 'deployments', namespace: 'shop', name }, {}, status),
    );
    node.report(nameOf(agent), [...states, node.partial(true)], ++this.#revision);
  }

  /** A ConfigMap of the name that was created at the agent's cluster. */
  born(agent: string, name: string, data: object): void {
    const body = { metadata: { name, namespace: 'shop' }, apiVersion: 'v1', kind: 'ConfigMap', data };
    const attributes = { refs: ['shop'], namespaced: true, returnTo: 'Parent' };
    const content = {
      key: bornKey(agent, name),
      attributes: text(JSON.stringify(attributes)),
      body: text(JSON.stringify(body)),
    };
    this.#parentOf(agent).report(nameOf(agent), [content], ++this.#revision);
  }

  /** An object that the web server owns at its cluster. */
  owned(agent: string, resource: string, kind: string, name: string, status: object, refs?: readonly string[]): void {
    const group = resource.split('/')[0];
    const apiVersion = group === '' ? 'v1' : `${group}/v1`;
    const body = { metadata: { name, namespace: 'shop' }, apiVersion, kind, status };
    const attributes = { owner: 'apps/deployments/shop/web', namespaced: true, ...(refs ? { refs } : {}) };
    const content = {
      key: ownedKey(resource, name),
      attributes: text(JSON.stringify(attributes)),
      body: text(JSON.stringify(body)),
    };
    this.#parentOf(agent).report(nameOf(agent), [content], ++this.#revision);
  }

  ownedGone(agent: string, resource: string, name: string): void {
    this.#parentOf(agent).withdraw(nameOf(agent), ownedKey(resource, name), ++this.#revision);
  }

  gone(agent: string, name: string): void {
    this.#parentOf(agent).withdraw(nameOf(agent), bornKey(agent, name), ++this.#revision);
  }

  restart(path: string): void {
    const node = this.at(path).restarted();
    this.#nodes.set(path, node);
    if (path !== '') this.#parentOf(path).replace(nameOf(path), node);
  }

  /** Runs both directions until nothing changes any more, with time enough for every rate. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 2; ) {
      await this.at('').down();
      this.#turn();
      let moved = false;
      for (const node of [...this.#nodes.values()].reverse()) {
        moved = (await node.up()) || moved;
        this.#turn();
      }
      this.clock.advance(10_000);
      this.#turn();
      quiet = moved ? 0 : quiet + 1;
    }
  }

  /** At the center from its space, elsewhere from the read-only space. */
  summary(path: string, name: string): Shown | undefined {
    const node = this.at(path);
    const key = { group: 'edge.banyan.io', resource: 'statussummaries', namespace: '', name };
    if (path === '') return node.space.get(key) as Shown | undefined;
    const body = node.summaries.writer.shownOne('center.retail', name);
    return body && (JSON.parse(asText(body)) as Shown);
  }

  rows(path: string, name: string): unknown[][] | undefined {
    return this.summary(path, name)?.rows.map(({ columns }) => columns);
  }

  condition(type: string): { status: string; message: string } | undefined {
    const key = { group: 'edge.banyan.io', resource: 'edgeplacements', namespace: '', name: 'shop' };
    const { status } = this.at('').space.get(key) as {
      status?: { conditions: { type: string; status: string; message: string }[] };
    };
    return status?.conditions.find((one) => one.type === type);
  }

  #turn(): void {
    for (let turn = this.#turns.shift(); turn; turn = this.#turns.shift()) turn();
  }

  #parentOf(path: string): GatherNode {
    return this.at(path.split(':').slice(0, -1).join(':'));
  }

  #node(path: string): GatherNode {
    return new GatherNode(path, {
      store: new MemoryStore(),
      clock: this.clock,
      random: this.#random,
      defer: (run) => this.#turns.push(run),
      replicas: {
        ...withoutReplicas,
        standing: (child) => ({
          ...ordinaryStanding,
          isFrozen: path === '' && this.frozen.has(child),
          isMixed: path === '' && this.mixed.has(child),
        }),
      },
    });
  }
}

function bornKey(agent: string, name: string): string {
  return entryKey.upsynced('center.retail', agent, { group: '', resource: 'configmaps', namespace: 'shop', name });
}

/** `resource` with its group, such as `apps/replicasets`. */
function ownedKey(resource: string, name: string): string {
  return entryKey.associated('center.retail', parseKey(`${resource}/shop/${name}`));
}

function nameOf(path: string): string {
  return path.split(':').at(-1)!;
}
