/** A tree with the two spaces of docs/operations/tenants.md, an owner for each, and the objects that one of them keeps from the other. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { getObject } from '../support/kept-api/kept-api.ts';
import { kubectlBy, LocalTree, type Ran, until } from './local-tree.ts';
import { grant, People } from './people.ts';

export type Tenant = 'tills' | 'signs';
const owners: Readonly<Record<Tenant, string>> = { tills: 'tess', signs: 'sid' };
const page = readFileSync('docs/operations/tenants.md', 'utf8');
const [spec = ''] = blocks('yaml');
/** The commands of the page. */
export const commands = blocks('sh').flatMap((text) => text.trim().split('\n'));
/** The site to which both deliver. */
const site = 'eu:rivoli';
/** A word in the data of tills. No command of signs has the word. */
export const jewel = 'sapphire';

function blocks(language: string): string[] {
  return [...page.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, text]) => text!);
}

export const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
export const map = (ns: string, name: string, data: Record<string, string>, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: ns, ...metadata },
  data,
});
export const placement = (name: string, more: object) => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name },
  spec: { locationSelectors: [{ matchLabels: { region: 'eu' } }], ...more },
});
export const all = { downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['*'] }] };

export interface PlacementStatus {
  readonly display?: string;
  readonly failures?: readonly { readonly object: string; readonly reason: string; readonly message: string }[];
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
}

export interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: string;
}

export interface TwoTenantsOptions {
  /** The kubeconfigs of real API servers, by the names of the page's clusters. All others are embedded. */
  readonly real?: Readonly<Record<string, string>>;
  /** True: the spaces and the sites have no bounds, the center calls every address, and the owner of signs has all rights everywhere. */
  readonly isUnbounded?: boolean;
}

interface Topology {
  readonly spec: {
    readonly center: { readonly spaces: { delivery?: object }[]; egress?: object };
    readonly clusters: { readonly name: string; provider?: object; accept?: object }[];
  };
}

export class TwoTenants implements AsyncDisposable {
  readonly tree: LocalTree;
  readonly #directory = mkdtempSync(join(tmpdir(), 'banyan-tenants-'));
  readonly #people: People;
  readonly #options: TwoTenantsOptions;

  constructor(options: TwoTenantsOptions = {}) {
    this.#options = options;
    this.tree = new LocalTree(join(this.#directory, 'topology.yaml'));
    this.#people = new People(this.tree, this.#directory);
  }

  async start(): Promise<void> {
    writeFileSync(join(this.#directory, 'topology.yaml'), stringify(this.#topology()));
    await this.tree.up();
    for (const [space, user] of Object.entries(owners)) {
      this.#people.add(user);
      this.grant(user, space as Tenant, 'cluster-admin', { space: { name: space } });
    }
    if (this.#options.isUnbounded) this.#giveAllRights();
    const a = map('till-1', 'a', { of: 'tills', jewel });
    const kept = { ...a, kind: 'Secret', data: undefined, stringData: { jewel } };
    ok(this.apply('tills', namespace('till-1'), namespace('till-2'), a, kept, map('till-2', 'b', { of: 'tills' })));
    const motd = [namespace('shared'), map('shared', 'motd', { of: 'tills', jewel })];
    ok(this.apply('tills', ...motd, placement('tills', { ...all, priority: 1 })));
    await until('the first has the namespace of both', () => this.dataAtSite('shared', 'motd') !== undefined);
    ok(this.apply('signs', namespace('sign-1'), map('sign-1', 'a', { of: 'signs' }), placement('signs', all)));
    await until('both are delivered', () =>
      [this.dataAtSite('till-1', 'a'), this.dataAtSite('till-2', 'b'), this.dataAtSite('sign-1', 'a')].every(
        (one) => one,
      ),
    );
  }

  #topology(): object {
    const head = { apiVersion: 'banyan.io/v1alpha1', kind: 'Topology', metadata: { name: 'tenants' } };
    const { spec: rest } = parse(spec) as Topology;
    const { center, clusters } = rest;
    for (const cluster of clusters) {
      const path = this.#options.real?.[cluster.name];
      if (path !== undefined) cluster.provider = { kubeconfig: { path } };
    }
    if (this.#options.isUnbounded) {
      for (const space of center.spaces) delete space.delivery;
      for (const cluster of clusters) delete cluster.accept;
      center.egress = { allow: ['127.0.0.1'] };
    }
    return { ...head, spec: rest };
  }

  #giveAllRights(): void {
    const subjects = [{ kind: 'User', name: owners.signs }];
    const metadata = { name: 'unbounded' };
    const binding = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata,
      subjects,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    };
    for (const node of ['center', 'eu']) ok(this.tree.apply(`node/${node}`, binding));
    for (const node of ['center', 'eu'])
      this.grant('unbounded', 'signs', 'cluster-admin', { subtree: { path: node } }, node);
  }

  /** Gives the owner of a space a role somewhere. */
  grant(name: string, tenant: Tenant, role: string, scope: object, node = 'center'): void {
    ok(this.tree.apply(`node/${node}`, grant(name, { kind: 'User', name: owners[tenant] }, role, scope)));
  }

  configOf(tenant: Tenant): string {
    return this.#people.fileOf(owners[tenant]);
  }

  kubectl(tenant: Tenant, args: readonly string[], input?: object): Ran {
    return kubectlBy(this.configOf(tenant), args, input && JSON.stringify(input));
  }

  /** kubectl at the tenant's own space. */
  as(tenant: Tenant, ...args: string[]): Ran {
    return this.kubectl(tenant, ['--context', `space/center/${tenant}`, ...args]);
  }

  apply(tenant: Tenant, ...items: object[]): Ran {
    return this.applyAt(tenant, `space/center/${tenant}`, ...items);
  }

  applyAt(tenant: Tenant, context: string, ...items: object[]): Ran {
    const list = { apiVersion: 'v1', kind: 'List', items };
    return this.kubectl(tenant, ['--context', context, 'apply', '-f', '-'], list);
  }

  /** The arguments of kubectl for the edge cluster at a path, through the center. */
  cluster(tenant: Tenant, path: string): string[] {
    return ['--context', 'node/center', '-s', `${this.#kubeconfig(tenant, 'center').server}/tree/${path}/cluster`];
  }

  /** An object at the site to which both deliver, read by those who run the site. */
  atSite<T>(...args: string[]): T | undefined {
    const real = this.#realSite;
    return real === undefined ? this.tree.json<T>(`cluster/${site}`, ...args) : getObject<T>(real, args);
  }

  dataAtSite(ns: string, name: string): Readonly<Record<string, string>> | undefined {
    return this.atSite<{ data: Record<string, string> }>('configmap', name, '-n', ns)?.data;
  }

  /** As those who run the site, with kubectl. */
  applyAtSite(object: object): void {
    const real = this.#realSite;
    const input = JSON.stringify(object);
    ok(
      real === undefined
        ? this.tree.kubectl(`cluster/${site}`, ['apply', '-f', '-'], input)
        : kubectlBy(real, ['apply', '-f', '-'], input),
    );
  }

  /** The copies that the tenant sees of the ConfigMaps in a namespace. */
  fleetOf(tenant: Tenant, ns: string): string {
    return ok(this.kubectl(tenant, ['--context', `fleet/center/${tenant}`, 'get', 'cm', '-n', ns, '-o', 'yaml']));
  }

  placed(tenant: Tenant, name: string): PlacementStatus | undefined {
    return this.tree.json<{ status?: PlacementStatus }>(`space/center/${tenant}`, 'epl', name)?.status;
  }

  hasFailure(tenant: Tenant, name: string, reason: string): boolean {
    return this.placed(tenant, name)?.failures?.some((one) => one.reason === reason) ?? false;
  }

  /** A request with the certificate of the tenant, without the retries of kubectl. The path is sent as it is. */
  get(tenant: Tenant, path: string, headers: Readonly<Record<string, string>> = {}, node = 'center'): Promise<Answer> {
    const { server, ...tls } = this.#kubeconfig(tenant, node);
    return new Promise((resolve, reject) => {
      const asked = request(server, { ...tls, path, headers, agent: false }, (response) => {
        let body = '';
        response.on('data', (chunk: Buffer) => {
          body += chunk;
        });
        const answered = () =>
          resolve({ status: response.statusCode!, retryAfter: response.headers['retry-after'], body });
        response.on('end', answered);
      });
      asked.on('error', reject);
      asked.on('upgrade', (response, socket) => {
        socket.destroy();
        resolve({ status: response.statusCode!, retryAfter: undefined, body: '' });
      });
      asked.end();
    });
  }

  get #realSite(): string | undefined {
    return this.#options.real?.[site.slice(site.indexOf(':') + 1)];
  }

  /** The address of a node's API, with what the tenant needs to sign in. */
  #kubeconfig(tenant: Tenant, node: string) {
    const { clusters, users, contexts } = parse(readFileSync(this.configOf(tenant), 'utf8')) as {
      clusters: { name: string; cluster: { server: string; 'certificate-authority-data': string } }[];
      contexts: { name: string; context: { cluster: string } }[];
      users: { user: Record<string, string> }[];
    };
    const decoded = (text: string) => Buffer.from(text, 'base64').toString();
    const { user } = users[0]!;
    const named = contexts.find(({ name }) => name === `node/${node}`)!.context.cluster;
    const { cluster } = clusters.find(({ name }) => name === named)!;
    return {
      server: cluster.server,
      ca: decoded(cluster['certificate-authority-data']),
      cert: decoded(user['client-certificate-data']!),
      key: decoded(user['client-key-data']!),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tree[Symbol.asyncDispose]();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** The output of a command that succeeds. */
export function ok({ code, out }: Ran): string {
  if (code !== 0) throw new Error(out);
  return out;
}
