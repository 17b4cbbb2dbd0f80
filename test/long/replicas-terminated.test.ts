/** Two replicas behind load balancers that terminate TLS: Hello and Welcome prove the identities of the ends, at whichever replica a child arrives. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { fixture, LocalTree, until } from '../e2e/local-tree.ts';
import { freePorts } from '../support/free-ports.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { RealProxies, withoutProxies } from '../support/real-proxies.ts';
import { type Gateway, gatewayFiles } from '../support/retail-ways.ts';

const lacking = [withoutProxies, withoutKubectl].filter((reason) => reason !== undefined).join('; ');
const why = lacking === '' ? '' : ` [not run: ${lacking}]`;
/** Behind haproxy with gRPC, and behind nginx with WebSocket. */
const [overGrpc, overWebSocket] = [
  ['till-1', 'till-2'],
  ['kiosk-1', 'kiosk-2'],
];
const stores = [...overGrpc, ...overWebSocket];
const clusters = stores.map((store) => `eu:${store}`);
const replicas = ['eu', 'eu~1'];
const space = 'space/center/retail';

interface Shown {
  readonly metadata: { readonly uid: string; readonly annotations?: Record<string, string> };
  readonly status?: { readonly summary?: Record<string, number>; readonly session?: Session };
}
interface Session {
  readonly state: string;
  readonly transport?: string;
}

describe.skipIf(lacking !== '')(`two replicas behind load balancers that terminate TLS${why}`, () => {
  const proxies = new RealProxies();
  let tree: LocalTree;

  const configMapAt = (cluster: string) =>
    tree.json<Shown>(`cluster/${cluster}`, 'configmap', 'greeting', '-n', 'guestbook')?.metadata;
  const uids = () => clusters.map((cluster) => configMapAt(cluster)?.uid);
  const sessionAt = (replica: string, store: string) =>
    tree.json<Shown>(`node/${replica}`, 'mn', `eu.${store}`)?.status?.session;
  const at = (replica: string) => stores.filter((store) => sessionAt(replica, store)?.state === 'Connected');
  const untilWhole = () =>
    until('all are available, each counted once', () => {
      const { summary = {} } = tree.json<Shown>(space, 'epl', 'guestbook')?.status ?? {};
      expect(summary.expected ?? 0).toBeLessThanOrEqual(stores.length);
      return [summary.expected, summary.fresh, summary.available].every((count) => count === stores.length);
    });

  /** Both distribute connections in turns, and take a server out that does not answer. */
  async function startBalancers(grpc: number, webSocket: number, { cert, key, pair }: Gateway): Promise<void> {
    const files = replicas.map((id) => join(tree.data, 'config', `${id}.yaml`));
    await until('the replicas have their ports', () => files.every((file) => existsSync(file)));
    const ports = files.map((file) => (parse(readFileSync(file, 'utf8')) as { mesh: { port: number } }).mesh.port);
    const servers = ports.map(
      (port, i) => `  server eu${i} 127.0.0.1:${port} ssl verify none alpn h2 check inter 500ms fall 1 rise 1`,
    );
    const front = `listen eu\n  bind 127.0.0.1:${grpc} ssl crt ${pair} alpn h2\n  balance roundrobin\n  option redispatch\n  retries 3`;
    await proxies.haproxy([grpc], [front, ...servers].join('\n'));
    const upstream = ports.map((port) => `server 127.0.0.1:${port} max_fails=1 fail_timeout=2s;`).join(' ');
    await proxies.nginx(
      [webSocket],
      `upstream eu { ${upstream} }
server { listen 127.0.0.1:${webSocket} ssl; ssl_certificate ${cert}; ssl_certificate_key ${key}; ssl_protocols TLSv1.2 TLSv1.3;
  location / { proxy_pass https://eu; proxy_ssl_protocols TLSv1.3; proxy_read_timeout 1h; proxy_http_version 1.1;
    proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; } }`,
    );
  }

  beforeAll(async () => {
    const [grpc, webSocket] = (await freePorts(2)) as [number, number];
    const gateway = await gatewayFiles(proxies);
    const behind = (port: number, transport: string) => (name: string) => ({
      name,
      parent: 'eu',
      labels: { env: 'prod' },
      link: { transport, endpoint: `127.0.0.1:${port}`, terminatedTls: true, ca: gateway.ca },
    });
    const spec = {
      center: { spaces: [{ name: 'retail' }] },
      relays: [{ name: 'eu', replicas: 2, listen: { terminatedTls: true } }],
      clusters: [...overGrpc.map(behind(grpc, 'grpc')), ...overWebSocket.map(behind(webSocket, 'websocket'))],
    };
    const topology = { apiVersion: 'banyan.io/v1alpha1', kind: 'Topology', metadata: { name: 'terminated' }, spec };
    tree = new LocalTree(proxies.write('topology.yaml', JSON.stringify(topology)));
    const up = tree.up('--no-restart');
    await startBalancers(grpc, webSocket, gateway);
    await up;
    tree.ok(space, 'apply', '-f', fixture('docs/examples/guestbook.yaml'));
    await untilWhole();
  });
  afterAll(async () => {
    await tree?.[Symbol.asyncDispose]();
    await proxies[Symbol.asyncDispose]();
  });

  it('serve each child at one of them, under the identity that its signature proves', () => {
    const shown = (store: string) =>
      replicas.map((replica) => sessionAt(replica, store)).filter((session) => session?.state === 'Connected');
    for (const store of overGrpc)
      expect(shown(store)).toEqual([expect.objectContaining({ transport: 'grpc+terminated' })]);
    for (const store of overWebSocket)
      expect(shown(store)).toEqual([expect.objectContaining({ transport: 'websocket+terminated' })]);
  });

  it('take over the children of a killed replica, over either transport, and nothing is made anew', async () => {
    const before = uids();
    expect(before).not.toContain(undefined);
    const [dies, stays] = at('eu').length >= at('eu~1').length ? ['eu', 'eu~1'] : ['eu~1', 'eu'];
    expect(at(dies!).length).toBeGreaterThan(0);
    tree.kill(dies!);
    tree.ok(space, 'annotate', '--overwrite', 'cm', 'greeting', '-n', 'guestbook', 'note=one-left');
    await until('all have the change', () =>
      clusters.every((one) => configMapAt(one)?.annotations?.note === 'one-left'),
    );
    await untilWhole();
    await until('all are shown at the other one', () => at(stays!).join() === stores.join());
    expect(uids()).toEqual(before);
  });
});
