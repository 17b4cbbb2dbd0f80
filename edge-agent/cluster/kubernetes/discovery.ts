/**
 * Finds the kinds that the cluster serves, by its aggregated discovery (https://kep.k8s.io/3352): two requests for all kinds. Asks again when definitions
 * change, and when a requested kind is missing.
 */
import { formatGroupResource, type GroupResource } from '../../../core/object/key.ts';
import { formatApiVersion, parseApiVersion } from '../../../core/object/meta.ts';
import type { Clock } from '../../../core/runtime/clock.ts';
import { BanyanError } from '../../../core/runtime/errors.ts';
import type { ServedResource } from '../cluster.ts';
import type { ClusterApiClient } from './api-client.ts';

const accept =
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';
/** Shortest time between two requests because of missing kinds: many objects of a missing kind cause one request together. */
const askAgainMs = 2_000;
/** The served kinds are old after this time. A refresh is two requests of a few hundred kilobytes. Each start of kubectl makes larger requests. */
const refreshMs = 600_000;
/**
 * Shortest time between two requests while discovery is incomplete. After a boot, aggregated API servers become available within minutes, and no event
 * reports this. Each description checks this, about once a minute.
 */
const partialRetryMs = 30_000;
/** The verbs that an agent needs for the objects of a resource. The agent can't use a resource with fewer verbs. */
const neededVerbs = ['get', 'list', 'watch', 'patch', 'delete'];

interface GroupDiscovery {
  readonly metadata?: { readonly name?: string };
  readonly versions?: readonly {
    readonly version: string;
    readonly freshness?: 'Current' | 'Stale';
    readonly resources?: readonly {
      readonly resource: string;
      readonly responseKind?: { readonly kind?: string };
      readonly scope?: 'Namespaced' | 'Cluster';
      readonly verbs?: readonly string[];
    }[];
  }[];
}

export class Discovery {
  readonly #client: ClusterApiClient;
  readonly #clock: Clock;
  #served: Promise<Served> | undefined;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #refreshedAtMs: number;
  /** True: discovery had no answer for some group. */
  #isPartial = false;

  constructor(client: ClusterApiClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
    this.#refreshedAtMs = clock.monotonicMs();
  }

  /** Makes the next call ask the cluster. */
  changed(): void {
    this.#served = undefined;
  }

  /**
   * Forgets the served kinds if they are old or incomplete. No event reports changes of aggregated API servers, or of definitions that the agent is not
   * allowed to watch. Returns true if the kinds were old: then the caller should also ask again for everything else that it knows about the server.
   */
  refresh(): boolean {
    const nowMs = this.#clock.monotonicMs();
    const isOld = nowMs - this.#refreshedAtMs >= refreshMs;
    if (isOld) this.#refreshedAtMs = nowMs;
    if (isOld || (this.#isPartial && nowMs - this.#askedAtMs >= partialRetryMs)) this.changed();
    return isOld;
  }

  async all(): Promise<readonly ServedResource[]> {
    return (await this.#current()).all;
  }

  /** The resource of the group and kind, if the cluster serves this version of it. */
  async byKind(apiVersion: string, kind: string): Promise<ServedResource | undefined> {
    const { group, version } = parseApiVersion(apiVersion);
    const find = ({ all }: Served) =>
      all.find((one) => one.group === group && one.kind === kind && one.versions.includes(version));
    return find(await this.#current()) ?? find(await this.#again());
  }

  /** Groups of aggregated API servers for which discovery has no answer. Nobody knows which resources these servers serve. */
  async unknownGroups(): Promise<ReadonlySet<string>> {
    return (await this.#current()).unknownGroups;
  }

  /** Returns the resource. Throws NotFound if the cluster does not serve it now, and Unavailable if this is not known. */
  async byResource(resource: GroupResource): Promise<ServedResource> {
    const name = formatGroupResource(resource);
    const found = (await this.#current()).byName.get(name) ?? (await this.#again()).byName.get(name);
    if (found) return found;
    if ((await this.unknownGroups()).has(resource.group))
      throw new BanyanError('Unavailable', staleGroupMessage(resource.group));
    throw new BanyanError('NotFound', `the cluster does not serve ${name}`);
  }

  #current(): Promise<Served> {
    if (!this.#served) {
      this.#askedAtMs = this.#clock.monotonicMs();
      const asking = this.#ask();
      this.#served = asking;
      asking.catch(() => {
        if (this.#served === asking) this.#served = undefined;
      });
    }
    return this.#served;
  }

  #again(): Promise<Served> {
    if (this.#clock.monotonicMs() - this.#askedAtMs >= askAgainMs) this.changed();
    return this.#current();
  }

  async #ask(): Promise<Served> {
    const lists = await Promise.all(
      ['/api', '/apis'].map((path) => this.#client.json({ path, accept }) as Promise<{ items?: GroupDiscovery[] }>),
    );
    if (lists.some(({ items }) => items === undefined)) {
      throw new BanyanError(
        'Unavailable',
        `${this.#client.server} has no aggregated discovery; Kubernetes 1.27 or later is needed`,
      );
    }
    const served = new Served(lists.flatMap(({ items = [] }) => items));
    this.#isPartial = served.unknownGroups.size > 0;
    return served;
  }
}

class Served {
  readonly all: readonly ServedResource[];
  readonly byName: ReadonlyMap<string, ServedResource>;

  readonly unknownGroups: ReadonlySet<string>;

  constructor(groups: readonly GroupDiscovery[]) {
    this.all = groups.flatMap(resourcesOf);
    this.byName = new Map(this.all.map((resource) => [formatGroupResource(resource), resource]));
    this.unknownGroups = new Set(groups.filter(hasNoAnswer).map(({ metadata }) => metadata?.name ?? ''));
  }
}

/** Whether discovery has no answer for the group. For a server that has answered once and is unreachable now, discovery still has the last answer. */
function hasNoAnswer({ versions = [] }: GroupDiscovery): boolean {
  return versions.some(({ freshness, resources = [] }) => freshness === 'Stale' && resources.length === 0);
}

export function staleGroupMessage(group: string): string {
  return `the kinds that the cluster serves in ${group} are not known: the server of its APIService does not answer`;
}

/** The resources of a group. The versions of each are in the order of preference. */
function resourcesOf({ metadata, versions = [] }: GroupDiscovery): ServedResource[] {
  const group = metadata?.name ?? '';
  const found = new Map<string, ServedResource & { versions: string[] }>();
  for (const { version, resources = [] } of versions) {
    for (const { resource, responseKind, scope, verbs = [] } of resources) {
      if (!neededVerbs.every((verb) => verbs.includes(verb)) || !responseKind?.kind) continue;
      const known = found.get(resource);
      if (known) known.versions.push(version);
      else {
        const { kind } = responseKind;
        found.set(resource, { group, resource, kind, versions: [version], namespaced: scope === 'Namespaced' });
      }
    }
  }
  return [...found.values()];
}

/** For example `/apis/apps/v1/namespaces/shop/deployments/till`. Without a name: the path of the collection. */
export function urlPathOf(
  { group, resource }: GroupResource,
  version: string,
  { namespace, name }: { readonly namespace?: string; readonly name?: string } = {},
): string {
  const parts = [
    group === '' ? 'api' : 'apis',
    ...formatApiVersion(group, version).split('/'),
    ...(namespace ? ['namespaces', namespace] : []),
    resource,
    ...(name ? [name] : []),
  ];
  return `/${parts.map(encodeURIComponent).join('/')}`;
}

/**
 * Why the cluster can't have this object. Undefined: it can. The site may have its own definition of the kind, with the other scope. The API server's answer
 * to such an object is no clearer than the answer of a misconfigured proxy.
 */
export function misplaced(
  { kind, namespaced, ...resource }: ServedResource,
  { namespace = '' }: { readonly namespace?: string },
): string | undefined {
  if (namespaced === (namespace !== '')) return undefined;
  const [scope, object] = namespaced
    ? ['namespaced', 'has no namespace']
    : ['cluster-scoped', `is in namespace ${namespace}`];
  return `on this cluster ${kind} (${formatGroupResource(resource)}) is ${scope}, and this object ${object}: check the cluster's definition of ${kind}`;
}
