/** ConfigMaps in one namespace that a placement sends to every cluster of `env: prod`: written into one space, read by path at any context. */
import type { NodeApiClient } from '../../center/cli/api-client.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { placedInProduction } from './placements.ts';

const namespace = 'till';

/** One List to begin with: the namespace, a ConfigMap `word` with the value `first`, and the placement. */
export function tillAtFirst(): object {
  const placement = placedInProduction(namespace);
  const items = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    configMap('word', 'first'),
    placement,
  ];
  return { apiVersion: 'v1', kind: 'List', items };
}

export class Till {
  readonly #api: NodeApiClient;
  readonly #space: string;

  constructor(api: NodeApiClient, space: string) {
    this.#api = api;
    this.#space = space;
  }

  write(name: string, text: string): Promise<KubeObject> {
    return this.#api.apply(this.#space, pathOf(name), configMap(name, text));
  }

  async text(context: string, name: string): Promise<string | undefined> {
    const found = await this.#api.get(context, pathOf(name));
    return (found?.data as { text?: string } | undefined)?.text;
  }

  async uid(context: string, name: string): Promise<string | undefined> {
    return (await this.#api.get(context, pathOf(name)))?.metadata.uid;
  }
}

function pathOf(name: string): string {
  return `/api/v1/namespaces/${namespace}/configmaps/${name}`;
}

function configMap(name: string, text: string): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: { text } };
}

/** A topology with an agent below a relay, and one below the center. */
export function shopAndHq(name: string): string {
  return `apiVersion: banyan.io/v1alpha1
kind: Topology
metadata: {name: ${name}}
spec:
  center: {spaces: [{name: retail}]}
  relays: [{name: eu}]
  clusters:
    - {name: shop, parent: eu, labels: {env: prod}}
    - {name: hq, labels: {env: prod}}
`;
}
