/** Proxies and gateways that answer with pages of HTML, and are repaired after a while. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { banyan, fixture, LocalTree, until } from '../e2e/local-tree.ts';
import { freePorts } from '../support/free-ports.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { RealProxies, withoutProxies } from '../support/real-proxies.ts';
import { gatewayFiles } from '../support/retail-ways.ts';

const lacking = [withoutProxies, withoutKubectl].filter((reason) => reason !== undefined).join('; ');
const why = lacking === '' ? '' : ` [not run: ${lacking}]`;
const space = 'space/center/retail';
/** The first is below a relay whose link goes through a proxy; the second comes through a gateway, with WebSocket. */
const clusters = ['eu:shop', 'kiosk'];

interface Shown {
  readonly metadata: { readonly uid: string; readonly annotations?: Record<string, string> };
  readonly status?: { readonly summary?: Record<string, number> };
}

describe.skipIf(lacking !== '')(`proxies and gateways that answer HTML${why}`, () => {
  const proxies = new RealProxies();
  let tree: LocalTree;
  let [center, proxy, gateway, nowhere] = [0, 0, 0, 0];
  let gatewayTo: (port: number) => Promise<void>;

  beforeAll(async () => {
    [center, proxy, gateway, nowhere] = (await freePorts(4)) as [number, number, number, number];
    const { cert, key, ca } = await gatewayFiles(proxies);
    gatewayTo = (port) =>
      proxies.nginx(
        [gateway],
        `server { listen 127.0.0.1:${gateway} ssl; ssl_certificate ${cert}; ssl_certificate_key ${key}; ssl_protocols TLSv1.2 TLSv1.3;
  location / { proxy_pass https://127.0.0.1:${port}; proxy_ssl_protocols TLSv1.3; proxy_read_timeout 1h; proxy_http_version 1.1;
    proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; } }`,
      );
    await proxies.squid('squid', proxy, [`acl mesh port ${center}`, 'http_access allow CONNECT mesh']);
    await gatewayTo(center);
    const labels = { env: 'prod' };
    const spec = {
      center: { spaces: [{ name: 'retail' }], listen: { meshPort: center, terminatedTls: true } },
      relays: [{ name: 'eu', link: { transport: 'grpc', proxy: `http://127.0.0.1:${proxy}` } }],
      clusters: [
        { name: 'shop', parent: 'eu', labels },
        {
          name: 'kiosk',
          labels,
          link: { transport: 'websocket', endpoint: `127.0.0.1:${gateway}`, terminatedTls: true, ca },
        },
      ],
    };
    const topology = { apiVersion: 'banyan.io/v1alpha1', kind: 'Topology', metadata: { name: 'html' }, spec };
    tree = new LocalTree(proxies.write('topology.yaml', JSON.stringify(topology)));
    await tree.up('--no-restart');
    tree.ok(space, 'apply', '-f', fixture('docs/examples/guestbook.yaml'));
    await until('both are available', () => summary().available === 2);
  });
  afterAll(async () => {
    await tree?.[Symbol.asyncDispose]();
    await proxies[Symbol.asyncDispose]();
  });

  const summary = () => tree.json<Shown>(space, 'epl', 'guestbook')?.status?.summary ?? {};
  const configMapAt = (cluster: string) =>
    tree.json<Shown>(`cluster/${cluster}`, 'configmap', 'greeting', '-n', 'guestbook')?.metadata;
  const shown = () => banyan('tree', '--data', tree.data).out;
  const logOf = (node: string) => readFileSync(join(tree.data, 'logs', `${node}.log`), 'utf8');
  const failures = (context: string, reason: string) => {
    const text = tree.ok(context, 'get', '--raw', '/metrics');
    return Number(new RegExp(`^banyan_dial_failures_total\\{reason="${reason}"\\} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
  };
  /** A server in place of the proxy that answers any request with this page. */
  const answering = (name: string, status: number, page: string) =>
    proxies.haproxy(
      [proxy],
      `listen page\n  mode http\n  bind 127.0.0.1:${proxy}\n  http-request return status ${status} content-type text/html string "<html>${page}</html>"`,
      name,
    );

  it('are named with their answer, are counted, and block nothing once they are repaired', async () => {
    const before = clusters.map((cluster) => configMapAt(cluster)?.uid);
    await proxies.kill('squid');
    await proxies.kill('nginx');
    await answering('down', 502, 'The proxy is being repaired.');
    await gatewayTo(nowhere);
    tree.ok(space, 'annotate', '--overwrite', 'cm', 'greeting', '-n', 'guestbook', 'note=unheard');
    const ofProxy = `the proxy http://127.0.0.1:${proxy} does not reach 127.0.0.1:${center} (502 Bad Gateway`;
    await until('the relay says what the proxy answers', () => shown().includes(ofProxy));
    expect(failures('node/eu', 'Unavailable')).toBeGreaterThan(0);
    const ofGateway = 'opens no WebSocket, it answers 502 Bad Gateway: does it pass them on to the parent?';
    await until('the agent says what the gateway answers', () => logOf('kiosk').includes(ofGateway));
    expect(failures('cluster/kiosk', 'Unavailable')).toBeGreaterThan(0);

    await proxies.kill('down');
    await answering('portal', 200, 'Welcome! Accept the terms of this network.');
    await until('the relay says that there is no tunnel', () =>
      /eu +Relay +Disconnected .*the proxy .*before anything was sent/.test(shown()),
    );
    expect(failures('node/eu', 'Protocol')).toBeGreaterThan(0);
    expect(clusters.map((cluster) => configMapAt(cluster)?.annotations?.note)).toEqual([undefined, undefined]);

    await proxies.kill('portal');
    await proxies.kill('nginx');
    await proxies.restart('squid');
    await gatewayTo(center);
    // After so many attempts the next one may be a minute away.
    const isEdited = () => clusters.every((one) => configMapAt(one)?.annotations?.note === 'unheard');
    await until('both have the edit', isEdited, 90);
    await until('both are counted', () => summary().fresh === 2 && summary().available === 2);
    expect(clusters.map((cluster) => configMapAt(cluster)?.uid)).toEqual(before);
  });
});
