/** A node that was revoked stays out: behind a load balancer that ends TLS, and at nodes that were restored from a copy. Real processes. */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { createAuthority, issueNode } from '../../core/identity/authority.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { enroll } from '../e2e/agent-process.ts';
import { JoinedNodes } from '../e2e/joined-nodes.ts';
import { LocalTree, until } from '../e2e/local-tree.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { type TlsTerminator, tlsTerminator } from '../support/tls-terminator.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const topology = {
  apiVersion: 'banyan.io/v1alpha1',
  kind: 'Topology',
  metadata: { name: 'revocations' },
  spec: { center: {}, relays: [{ name: 'eu', listen: { terminatedTls: true } }], clusters: [] },
};

describe.skipIf(withoutKubectl)(`a revocation${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-revocations-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const nodes = new JoinedNodes(directory, tree);
  let balancer: TlsTerminator | undefined;

  beforeAll(async () => {
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up();
    nodes.writeKubeconfig();
  });
  afterAll(async () => {
    await nodes[Symbol.asyncDispose]();
    await balancer?.[Symbol.asyncDispose]();
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const revoke = (path: string) => {
    const { code, out } = nodes.command('revoke', path);
    expect(code, out).toBe(0);
  };
  const edge = () => nodes.parentAt('edge', 'edge');
  const startEdge = async () => {
    nodes.start('edge', { program: 'relay', path: 'edge', parent: nodes.center() });
    await nodes.serves('edge');
  };
  /** What somebody gets who dials the relay `edge` with the copied identity of the agent. */
  const dialEdge = () => nodes.dial(edge().address, 'edge:till', 'agent', nodes.identityOf('till'));
  const restore = (from: string, to: string) => {
    rmSync(to, { recursive: true });
    cpSync(from, to, { recursive: true });
  };

  it('ends the session of a node behind a load balancer that ends TLS, and refuses it from then on', async () => {
    const issuing = { clock: systemClock, random: systemRandom };
    const gateway = await createAuthority('gateway', issuing);
    const own = { tree: 'gateway', path: 'eu', role: 'relay', hosts: ['127.0.0.1'] } as const;
    const { certPem, keyPem } = await issueNode(gateway, own, issuing);
    writeFileSync(join(directory, 'gateway.crt'), gateway.certPem);
    const [caPem, cert, key] = [gateway.certPem, certPem, keyPem].map((pem) => Buffer.from(pem));
    const target = `127.0.0.1:${nodes.portsOf('eu').mesh}`;
    balancer = await tlsTerminator(target, { caPem: caPem!, certPem: cert!, keyPem: key! });
    for (const [name, transport] of [
      ['shop', 'grpc'],
      ['kiosk', 'websocket'],
    ] as const) {
      const files = enroll(tree, name, nodes.at(name, 'pki'));
      const link = { transport, terminatedTls: true, ca: join(directory, 'gateway.crt') };
      const parent = { address: balancer.address, path: 'eu' };
      nodes.start(name, { program: 'edge-agent', path: `eu:${name}`, parent, files, link });
      await until(`${name} is attached`, () => nodes.isConnected('node/eu', `eu:${name}`));
    }
    const before = Date.now();
    revoke('eu:shop');
    await until('its session has ended', () => !nodes.isConnected('node/eu', 'eu:shop'), 5);
    expect(Date.now() - before).toBeLessThan(5_000);
    await until('its next dial was refused', () =>
      /the certificate of \\?"eu:shop\\?" was revoked/.test(nodes.log('shop')),
    );
    expect(nodes.isConnected('node/eu', 'eu:kiosk')).toBe(true);
    // A new certificate is good again.
    await nodes.end('shop');
    const files = enroll(tree, 'shop', nodes.at('shop', 'pki'), '--again');
    const link = { transport: 'grpc', terminatedTls: true, ca: join(directory, 'gateway.crt') };
    const parent = { address: balancer.address, path: 'eu' };
    nodes.start('shop', { program: 'edge-agent', path: 'eu:shop', parent, files, link });
    await until('it is attached again', () => nodes.isConnected('node/eu', 'eu:shop'));
  });

  it('holds at a relay that was restored from a copy, also while the center is away', async () => {
    const token = nodes.tokenFor('edge', '--relay', '--host', '127.0.0.1');
    nodes.start('edge', { program: 'relay', path: 'edge', parent: nodes.center(), token });
    await nodes.serves('edge');
    nodes.writeKubeconfig(['edge', 'edge']);
    const till = nodes.tokenFor('edge:till');
    nodes.start('till', { program: 'edge-agent', path: 'edge:till', parent: edge(), token: till });
    await until('the agent is attached', () => nodes.isConnected('node/edge', 'edge:till'));
    await nodes.end('edge');
    cpSync(nodes.at('edge', 'data'), nodes.at('before'), { recursive: true });
    await startEdge();
    await nodes.end('till');
    nodes.writeKubeconfig(['edge', 'edge']);
    expect(await dialEdge()).toBe('attached');
    revoke('edge:till');
    await expect.poll(dialEdge).toMatch(/the certificate of "edge:till" was revoked/);
    await nodes.end('edge');
    cpSync(nodes.at('edge', 'data'), nodes.at('after'), { recursive: true });
    await tree.down();
    restore(nodes.at('after'), nodes.at('edge', 'data'));
    await startEdge();
    expect(await dialEdge()).toMatch(/was revoked/);
    await nodes.end('edge');
  });

  it('comes back from the center to a relay that was restored from a copy of before', async () => {
    restore(nodes.at('before'), nodes.at('edge', 'data'));
    await tree.up();
    await startEdge();
    nodes.writeKubeconfig(['edge', 'edge']);
    await until('the relay is attached', () => nodes.isConnected('node/center', 'edge'));
    await expect.poll(dialEdge, { timeout: 10_000 }).toMatch(/was revoked/);
  });

  it('holds at a center that was restored from a copy', async () => {
    const store = join(tree.data, 'nodes', 'center');
    const stolen = nodes.identityOf('edge');
    revoke('edge');
    await until('its session has ended', () => !nodes.isConnected('node/center', 'edge'), 5);
    await nodes.end('edge');
    await tree.down();
    cpSync(store, nodes.at('center-after'), { recursive: true });
    restore(nodes.at('center-after'), store);
    await tree.up();
    const dialCenter = () => nodes.dial(nodes.center().address, 'edge', 'relay', stolen);
    expect(await dialCenter()).toMatch(/the certificate of "edge" was revoked/);
  });
});
