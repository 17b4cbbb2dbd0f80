/** A tree of which every link goes another way, each through a real proxy, load balancer or gateway. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../core/runtime/clock.ts';
import type { LinkOptions } from '../../core/wire/dialer/link-options.ts';
import { grpcDialer } from '../../core/wire/grpc/grpc-dialer.ts';
import type { Dialer } from '../../core/wire/link.ts';
import { webSocketDialer } from '../../core/wire/websocket/websocket-dialer.ts';
import { LinkLog } from '../support/link-log.ts';
import { freePorts, RealProxies, withoutProxies } from '../support/real-proxies.ts';
import { TestTree } from '../support/test-tree.ts';
import { wayTo } from '../support/ways.ts';
import { fixture, LocalTree, withoutKubectl } from './local-tree.ts';

const lacking = [withoutProxies, withoutKubectl].filter((reason) => reason !== undefined).join('; ');
const why = lacking === '' ? '' : ` [not run: ${lacking}]`;
const password = 'sesame-7';

interface ShownNode {
  readonly spec: { readonly path: string };
  readonly status: { readonly session?: { readonly transport?: string } };
}

interface Attached {
  readonly child?: string;
  readonly transport?: string;
  readonly msg: string;
}

describe.skipIf(lacking !== '')(`links through real proxies and load balancers${why}`, () => {
  const proxies = new RealProxies();
  let tree: LocalTree;
  let ports: number[];

  beforeAll(async () => {
    ports = await freePorts(9);
    const [center, eu, us, login, open, balancer, secureProxy, h2, h1] = ports as [
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    const gateway = await (await TestTree.create('gateway')).credentials('gateway', 'relay');
    const cert = proxies.write('gateway.crt', gateway.certPem.toString());
    const key = proxies.write('gateway.key', gateway.keyPem.toString());
    const pair = proxies.write('gateway.pem', `${gateway.certPem.toString()}\n${gateway.keyPem.toString()}`);
    const ca = proxies.write('gateway-ca.crt', gateway.caPem.toString());
    await proxies.squid('login', login, ['http_access allow known'], `store:${password}`);
    await proxies.squid('open', open, [
      `acl mesh port 443 ${[center, eu, us].join(' ')}`,
      'http_access allow CONNECT mesh',
    ]);
    await proxies.haproxy(
      [balancer, secureProxy],
      `listen balancer\n  bind 127.0.0.1:${balancer}\n  server eu 127.0.0.1:${eu}
listen secure-proxy\n  bind 127.0.0.1:${secureProxy} ssl crt ${pair}\n  server squid 127.0.0.1:${open}`,
    );
    const tls = `ssl_certificate ${cert}; ssl_certificate_key ${key};`;
    const upgrade =
      'proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;';
    const gatewayTo = (parent: number) =>
      `proxy_pass https://127.0.0.1:${parent}; proxy_ssl_protocols TLSv1.3; ${upgrade}`;
    await proxies.nginx(
      [h2, h1],
      `server { listen 127.0.0.1:${h2} ssl http2; ${tls} client_max_body_size 0;
  location / { grpc_pass grpcs://127.0.0.1:${us}; grpc_ssl_protocols TLSv1.3; grpc_read_timeout 1h; grpc_send_timeout 1h; } }
server { listen 127.0.0.1:${h1} ssl; ${tls} ssl_protocols TLSv1.2 TLSv1.3; proxy_read_timeout 1h;
  location /banyan.mesh.v1/ { ${gatewayTo(center)} } location / { return 404; } }`,
    );
    const node = (name: string, parent: string, link: object) => ({ name, parent, labels: { env: 'prod' }, link });
    const loginProxy = `http://store:${password}@127.0.0.1:${login}`;
    const topology = {
      apiVersion: 'banyan.io/v1alpha1',
      kind: 'Topology',
      metadata: { name: 'ways' },
      spec: {
        center: { spaces: [{ name: 'retail' }], listen: { meshPort: center, terminatedTls: true } },
        relays: [
          { name: 'eu', listen: { meshPort: eu }, link: { transport: 'grpc', proxy: loginProxy } },
          {
            name: 'us',
            listen: { meshPort: us, terminatedTls: true },
            link: { transport: 'websocket', endpoint: `127.0.0.1:${h1}`, terminatedTls: true, ca },
          },
        ],
        clusters: [
          node('squid', 'eu', { proxy: loginProxy }),
          node('balanced', 'eu', { transport: 'grpc', endpoint: `127.0.0.1:${balancer}` }),
          node('secure', 'eu', { transport: 'websocket', proxy: `https://127.0.0.1:${secureProxy}`, ca }),
          node('terminated', 'us', { transport: 'grpc', endpoint: `127.0.0.1:${h2}`, terminatedTls: true, ca }),
          node('found', '', { endpoint: `127.0.0.1:${h1}`, terminatedTls: true, ca }),
        ],
      },
    };
    const file = proxies.write('topology.yaml', JSON.stringify(topology));
    tree = new LocalTree(file);
    await tree.up('--no-restart');
  }, 120_000);
  afterAll(async () => {
    await tree?.[Symbol.asyncDispose]();
    await proxies[Symbol.asyncDispose]();
  }, 60_000);

  const logOf = (path: string) => readFileSync(join(tree.data, 'logs', `${path.replaceAll(':', '.')}.log`), 'utf8');
  /** By which transport each child was attached first, as its parent logs it. */
  function attached(): Record<string, string> {
    const lines = ['center', 'eu', 'us'].flatMap((parent) => logOf(parent).trim().split('\n'));
    const told = lines.map((line) => JSON.parse(line) as Attached).filter(({ msg }) => msg === 'a child is attached');
    return Object.fromEntries(told.map(({ child, transport }) => [child!, transport!]));
  }

  it('carry a placement to each cluster, and its summary back', async () => {
    tree.ok('space/center/retail', 'apply', '-f', fixture('docs/examples/guestbook.yaml'));
    tree.ok('space/center/retail', 'wait', 'epl/guestbook', '--for=condition=Ready', '--timeout=60s');
    const placement = tree.json<{ status: { summary: object } }>('space/center/retail', 'epl', 'guestbook');
    expect(placement?.status.summary).toMatchObject({ expected: 5, available: 5 });
  }, 90_000);

  it('run on the transport that was configured, or on the one that gets through', () => {
    expect(attached()).toEqual({
      eu: 'grpc',
      us: 'websocket+terminated',
      squid: 'grpc',
      balanced: 'grpc',
      secure: 'websocket',
      terminated: 'grpc+terminated',
      found: 'websocket+terminated',
    });
  });

  it('are shown with their way in the status of each node, on every level', () => {
    const shown = (context: string) => {
      const list = tree.json<{ items: ShownNode[] }>(context, 'nodes.mesh.banyan.io')?.items ?? [];
      const entries = list.map(({ spec, status }) => [spec.path, status.session?.transport]);
      return Object.fromEntries(entries.filter(([, transport]) => transport !== undefined)) as Record<string, string>;
    };
    expect(shown('node/center')).toEqual({
      eu: 'grpc+proxy',
      us: 'websocket+terminated',
      found: 'websocket+terminated',
    });
    expect(shown('node/eu')).toEqual({
      'eu:squid': 'grpc+proxy',
      'eu:balanced': 'grpc',
      'eu:secure': 'websocket+proxy',
    });
  });

  it('tell nobody the password', () => {
    for (const path of ['center', 'eu', 'us', 'eu:squid']) expect(logOf(path)).not.toContain(password);
  });

  it.each([
    ['gRPC', grpcDialer, 'who answers there speaks none of h2: use the transport websocket or auto'],
    ['WebSocket', webSocketDialer, 'was not signed by the authority of this tree'],
  ])('over %s say what stands in the way', async (_, makeDialer, ofGateway) => {
    const [center, , , login, open, , , , h1] = ports as number[];
    const pem = (file: string) => readFileSync(join(tree.data, 'pki', file));
    const credentials = { caPem: pem('ca.crt'), certPem: pem('eu.crt'), keyPem: pem('eu.key') };
    const to = (port: number, link: Partial<LinkOptions>): Dialer =>
      makeDialer(wayTo({ address: `127.0.0.1:${port}`, parentPath: '', credentials, clock: systemClock, link }));
    const refusal = async (dialer: Dialer) => String(await dialer.dial(new LinkLog(), 5_000).catch((error) => error));
    const proxy = (port: number, user = '') => ({ proxy: `http://${user}127.0.0.1:${port}` });
    expect(await refusal(to(center!, proxy(login!)))).toMatch(/wants authentication \(407 .*it offers Basic\)/);
    expect(await refusal(to(center!, proxy(login!, 'store:wrong@')))).toMatch(/wants authentication \(407 /);
    expect(await refusal(to(1, proxy(open!)))).toMatch(/does not allow 127\.0\.0\.1:1 \(403 Forbidden\)/);
    expect(await refusal(to(443, proxy(open!)))).toMatch(/does not reach 127\.0\.0\.1:443 \(503 .*ERR_CONNECT_FAIL/);
    expect(await refusal(to(center!, proxy(1)))).toMatch(/through the proxy http:\/\/127\.0\.0\.1:1: .*ECONNREFUSED/);
    expect(await refusal(to(h1!, {}))).toContain(ofGateway);
  });

  it('go where they were told to go', async () => {
    // Squid writes of a tunnel when it is over.
    await tree.down();
    const [center, eu] = ports as [number, number];
    expect(proxies.log('login')).toMatch(new RegExp(`CONNECT 127\\.0\\.0\\.1:${center} store`));
    expect(proxies.log('login')).toMatch(new RegExp(`CONNECT 127\\.0\\.0\\.1:${eu} store`));
    expect(proxies.log('open')).toMatch(new RegExp(`CONNECT 127\\.0\\.0\\.1:${eu} -`));
  });
});
