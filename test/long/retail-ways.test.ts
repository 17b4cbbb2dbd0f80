/** The whole retail tree three times, each time with every link through the same kind of proxy, which is killed during changes. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture, LocalTree, until } from '../e2e/local-tree.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { RealProxies, withoutProxies } from '../support/real-proxies.ts';
import { type Fronts, frontsOfParents, gatewayFiles, retailTopology } from '../support/retail-ways.ts';

const lacking = [withoutProxies, withoutKubectl].filter((reason) => reason !== undefined).join('; ');
const why = lacking === '' ? '' : ` [not run: ${lacking}]`;
const space = 'space/center/retail';
const stores = ['eu:paris:rivoli', 'eu:paris:bastille', 'eu:berlin:mitte', 'us:market', 'hq'];
const password = 'sesame-7';

interface Shown {
  readonly metadata: { readonly uid: string; readonly annotations?: Record<string, string> };
  readonly status?: { readonly summary?: Record<string, number> };
}
interface ShownNode {
  readonly spec: { readonly path: string };
  readonly status: { readonly session?: { readonly state?: string; readonly transport?: string } };
}

interface Way {
  readonly name: string;
  /** The program through which all links go, and the name of such a link in Node objects. */
  readonly program: string;
  readonly transport: string;
  topology(proxies: RealProxies): Promise<string>;
}

const frontOf = (fronts: readonly Fronts[], path: string) => fronts.find(({ parent }) => parent === path)!;

const ways: Way[] = [
  {
    name: 'through squid with a password',
    program: 'squid',
    transport: 'grpc+proxy',
    async topology(proxies) {
      const { front } = (await frontsOfParents())[0]!;
      await proxies.squid('squid', front, ['http_access allow known'], `store:${password}`);
      return retailTopology(() => ({ transport: 'grpc', proxy: `http://store:${password}@127.0.0.1:${front}` }));
    },
  },
  {
    name: 'over WebSocket only, through a load balancer',
    program: 'haproxy',
    transport: 'websocket',
    async topology(proxies) {
      const fronts = await frontsOfParents();
      const listens = fronts.map(
        ({ meshPort, front }) => `listen f${front}\n  bind 127.0.0.1:${front}\n  server parent 127.0.0.1:${meshPort}`,
      );
      await proxies.haproxy(
        fronts.map(({ front }) => front),
        listens.join('\n'),
      );
      return retailTopology(
        (parent) => ({ transport: 'websocket', endpoint: `127.0.0.1:${frontOf(fronts, parent).front}` }),
        (path) => {
          const front = fronts.find(({ parent }) => parent === path);
          return front ? { meshPort: front.meshPort } : undefined;
        },
      );
    },
  },
  {
    name: 'behind nginx that terminates TLS',
    program: 'nginx',
    transport: 'grpc+terminated',
    async topology(proxies) {
      const fronts = await frontsOfParents();
      const { cert, key, ca } = await gatewayFiles(proxies);
      const servers = fronts.map(
        ({ meshPort, front }) => `server { listen 127.0.0.1:${front} ssl http2;
  ssl_certificate ${cert}; ssl_certificate_key ${key}; client_max_body_size 0;
  location / { grpc_pass grpcs://127.0.0.1:${meshPort}; grpc_ssl_protocols TLSv1.3; grpc_read_timeout 1h; grpc_send_timeout 1h; } }`,
      );
      await proxies.nginx(
        fronts.map(({ front }) => front),
        servers.join('\n'),
      );
      return retailTopology(
        (parent) => ({
          transport: 'grpc',
          endpoint: `127.0.0.1:${frontOf(fronts, parent).front}`,
          terminatedTls: true,
          ca,
        }),
        (path) => {
          const front = fronts.find(({ parent }) => parent === path);
          return front ? { meshPort: front.meshPort, terminatedTls: true } : undefined;
        },
      );
    },
  },
];

describe.skipIf(lacking !== '').each(ways)(`the retail tree with every link $name${why}`, (way) => {
  const proxies = new RealProxies();
  let tree: LocalTree;

  const configMapAt = (cluster: string) =>
    tree.json<Shown>(`cluster/${cluster}`, 'configmap', 'greeting', '-n', 'guestbook')?.metadata;
  const uids = () => stores.map((cluster) => configMapAt(cluster)?.uid);
  const summary = () => tree.json<Shown>(space, 'epl', 'guestbook')?.status?.summary ?? {};
  const note = (text: string) =>
    tree.ok(space, 'annotate', '--overwrite', 'cm', 'greeting', '-n', 'guestbook', `note=${text}`);
  const arrived = (text: string) => stores.every((cluster) => configMapAt(cluster)?.annotations?.note === text);
  /** Every link, by the path of its child. */
  const links = () => {
    const lists = ['center', 'eu', 'us', 'eu:paris', 'eu:berlin'].map(
      (node) => tree.json<{ items: ShownNode[] }>(`node/${node}`, 'nodes.mesh.banyan.io')?.items ?? [],
    );
    const entries = lists.flat().map(({ spec, status }) => [spec.path, status.session] as const);
    return new Map(entries.filter(([path, session]) => path !== '' && session?.transport !== undefined));
  };

  beforeAll(async () => {
    tree = new LocalTree(proxies.write('topology.yaml', await way.topology(proxies)));
    await tree.up('--no-restart');
  });
  afterAll(async () => {
    await tree?.[Symbol.asyncDispose]();
    await proxies[Symbol.asyncDispose]();
  });

  it('carries a placement to five clusters, and a later change of it', async () => {
    tree.ok(space, 'apply', '-f', fixture('docs/examples/guestbook.yaml'));
    tree.ok(space, 'wait', 'epl/guestbook', '--for=condition=Ready', '--timeout=60s');
    expect(summary()).toMatchObject({ expected: 5, available: 5 });
    note('first');
    await until('the edit is everywhere', () => arrived('first'));
  });

  it('shows the way of all ten links', async () => {
    await until('all are shown', () => links().size === 10);
    for (const [path, session] of links()) expect(session, path).toMatchObject({ transport: way.transport });
  });

  it('recovers by itself when the proxy is killed and restarted, and nothing is deleted', async () => {
    const before = uids();
    await proxies.kill(way.program);
    await until('all links are down', () => [...links().values()].every((session) => session?.state !== 'Connected'));
    note('while away');
    expect(uids()).toEqual(before);
    await proxies.restart(way.program);
    await until('the edit is everywhere', () => arrived('while away'));
    await until('all are available', () => summary().available === 5 && summary().fresh === 5);
    expect(uids()).toEqual(before);
  });
});
