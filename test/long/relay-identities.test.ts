/** A relay that joins with a token, admits nodes while the center is away, and is revoked; and what a thief of its key can do. With real processes. */
import { X509Certificate } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { KeyAndCertificate } from '../../core/identity/authority.ts';
import { JoinedNodes } from '../e2e/joined-nodes.ts';
import { kubectlBy, LocalTree, until } from '../e2e/local-tree.ts';
import { forged as forgedBy } from '../support/forged.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const topology = {
  apiVersion: 'banyan.io/v1alpha1',
  kind: 'Topology',
  metadata: { name: 'identities' },
  spec: { center: {}, relays: [{ name: 'us' }], clusters: [] },
};

describe.skipIf(withoutKubectl)(`a relay with a join token${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-relays-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const nodes = new JoinedNodes(directory, tree);
  const { kubeconfig } = nodes;

  beforeAll(async () => {
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up();
  });
  afterAll(async () => {
    await nodes[Symbol.asyncDispose]();
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  // ------------------------------------------------------------------------------------------------ joining

  it('gets a certificate and an authority for its subtree, with a key that it has made', async () => {
    nodes.writeKubeconfig();
    const token = nodes.tokenFor('edge', '--relay', '--host', '127.0.0.1');
    nodes.start('edge', { program: 'relay', path: 'edge', parent: nodes.center(), token });
    await nodes.serves('edge');
    await until('the relay is attached', () => nodes.isConnected('node/center', 'edge'));
    const kept = nodes.at('edge', 'data/identity');
    expect(readdirSync(kept).sort()).toEqual(['ca.crt', 'issuer.crt', 'tls.crt', 'tls.key']);
    for (const file of readdirSync(kept)) expect(statSync(join(kept, file)).mode & 0o777).toBe(0o600);
    const own = new X509Certificate(readFileSync(join(kept, 'tls.crt')));
    expect(own.subjectAltName).toBe('URI:spiffe://identities/node/relay/edge, IP Address:127.0.0.1');
    // Stock kubectl accepts the certificate of the relay's API.
    nodes.writeKubeconfig(['edge', 'edge']);
    expect(nodes.nodeAt('node/edge', 'edge')?.spec?.role).toBe('Relay');
  });

  it('admits an agent and a relay while the center is away, and that relay admits an agent too', async () => {
    await tree.down();
    nodes.start('till', {
      program: 'edge-agent',
      path: 'edge:till',
      parent: nodes.parentAt('edge', 'edge'),
      token: nodes.tokenFor('edge:till'),
    });
    const sub = nodes.tokenFor('edge:sub', '--relay', '--host', '127.0.0.1');
    nodes.start('sub', { program: 'relay', path: 'edge:sub', parent: nodes.parentAt('edge', 'edge'), token: sub });
    await nodes.serves('sub');
    nodes.writeKubeconfig(['edge', 'edge'], ['sub', 'edge:sub']);
    const deep = nodes.tokenFor('edge:sub:deep');
    nodes.start('deep', {
      program: 'edge-agent',
      path: 'edge:sub:deep',
      parent: nodes.parentAt('sub', 'edge:sub'),
      token: deep,
    });
    await until('all are attached', () =>
      [
        nodes.isConnected('node/edge', 'edge:till'),
        nodes.isConnected('node/edge', 'edge:sub'),
        nodes.isConnected('node/edge:sub', 'edge:sub:deep'),
      ].every(Boolean),
    );
    await tree.up();
    await until(
      'the center knows them',
      () => nodes.isConnected('node/center', 'edge') && nodes.isConnected('node/center', 'edge:sub'),
    );
  });

  it('is no agent, and refuses a wrong host, a token of the other role, and a name that is taken', async () => {
    expect(nodes.command('join-token', 'edge', '--relay').out).toMatch(/"edge" is taken at node\/center/);
    expect(nodes.command('join-token', 'edge:till', '--relay').out).toMatch(/is that of an agent/);
    expect(nodes.command('join-token', 'edge:x', '--host', 'a.example.com').out).toMatch(
      /--host: only the certificate of a relay/,
    );
    const wrong = nodes.tokenFor('edge:wrong', '--relay', '--host', 'center.example.com');
    nodes.start('wrong', {
      program: 'relay',
      path: 'edge:wrong',
      parent: nodes.parentAt('edge', 'edge'),
      token: wrong,
    });
    await until('it is refused', () => nodes.log('wrong').includes('is no host for which the authority of'));
    const agent = nodes.tokenFor('edge:kiosk');
    nodes.start('kiosk', {
      program: 'relay',
      path: 'edge:kiosk',
      parent: nodes.parentAt('edge', 'edge'),
      token: agent,
    });
    await until('it is refused too', () => /this join token is for the agent/.test(nodes.log('kiosk')));
  });

  // ------------------------------------------------------------------------------------------------ a thief

  const authorityOf = (name: string): KeyAndCertificate => ({
    certPem: readFileSync(nodes.at(name, 'data/identity/issuer.crt'), 'utf8'),
    keyPem: readFileSync(nodes.at(name, 'data/identity/tls.key'), 'utf8'),
  });

  /** Whatever the thief of an authority writes. */
  const forged = (by: KeyAndCertificate, id: string, subject = 'OU=below-banyan-issuer, CN=x', isCa = false) =>
    forgedBy(by, { subject, isCa, names: id === '' ? [] : [{ type: 'url', value: id }] });
  /** The key and certificate in a copy of the files of a node. */
  const keyIn = (name: string, folder = '') => ({
    certPem: readFileSync(join(nodes.at(name, folder), 'tls.crt'), 'utf8'),
    keyPem: readFileSync(join(nodes.at(name, folder), 'tls.key'), 'utf8'),
  });
  /** The old key in `folder` is refused, and so is a node that the thief admits with the authority there. `now`: the relay with the new key. */
  async function staysRefused(folder: string, now: string): Promise<void> {
    const stolen = keyIn(folder);
    expect(await nodes.dial(nodes.parentAt('edge', 'edge').address, 'edge:sub', 'relay', stolen)).toMatch(
      /was revoked/,
    );
    const authority = { certPem: readFileSync(nodes.at(folder, 'issuer.crt'), 'utf8'), keyPem: stolen.keyPem };
    const child = await forged(authority, 'spiffe://identities/node/agent/edge/sub/deep');
    await expect
      .poll(() => nodes.dial(nodes.parentAt(now, 'edge:sub').address, 'edge:sub:deep', 'agent', child))
      .toContain('whose authority was revoked');
  }
  const ca = () => readFileSync(join(tree.data, 'pki', 'ca.crt'), 'utf8');

  it('can use its authority nowhere but below itself', async () => {
    const edge = authorityOf('edge');
    const usMesh = `127.0.0.1:${nodes.portsOf('us').mesh}`;
    const doesNotCount = /does not count|was not signed by the authority of this tree/;
    const id = (role: string, path: string) => `spiffe://identities/node/${role}/${path}`;
    expect(await nodes.dial(nodes.center().address, 'us', 'relay', await forged(edge, id('relay', 'us')))).toMatch(
      doesNotCount,
    );
    expect(await nodes.dial(nodes.center().address, 'edge', 'relay', await forged(edge, id('relay', 'edge')))).toMatch(
      doesNotCount,
    );
    expect(await nodes.dial(usMesh, 'us:till', 'agent', await forged(edge, id('agent', 'us/till')))).toMatch(
      doesNotCount,
    );
    const us = await forged(edge, '', 'OU=below-banyan-issuer, CN=spiffe://identities/node/relay/us', true);
    expect(await nodes.dial(usMesh, 'us:till', 'agent', await forged(us, id('agent', 'us/till')))).toMatch(
      doesNotCount,
    );
    const admin = await forged(edge, '', 'O=system:masters, CN=admin');
    const statusFor = (port: number) =>
      new Promise((resolve, reject) => {
        const options = { ca: ca(), cert: admin.certPem, key: admin.keyPem, agent: false };
        get(`https://127.0.0.1:${port}/api/v1/namespaces`, options, (response) =>
          resolve(response.resume().statusCode),
        ).on('error', reject);
      });
    expect(await statusFor(nodes.portsOf('').api)).toBe(401);
    expect(await statusFor(nodes.portsOf('us').api)).toBe(401);
    // Below itself, its certificates count: the relay is known there, and the place is not.
    expect(
      await nodes.dial(
        nodes.parentAt('edge', 'edge').address,
        'edge:x',
        'agent',
        await forged(edge, id('agent', 'edge/x')),
      ),
    ).toMatch(/unknown_child|not in the inventory|SyncTarget/);
  });

  // ------------------------------------------------------------------------------------------------ revocation

  it('is refused with all that it has signed within 5 s after it was revoked', async () => {
    cpSync(nodes.at('sub', 'data/identity'), nodes.at('stolen'), { recursive: true });
    const before = Date.now();
    const { code, out } = nodes.command('revoke', 'edge:sub');
    expect(code, out).toBe(0);
    await until('its session has ended', () => !nodes.isConnected('node/edge', 'edge:sub'), 5);
    await until('its own agent has left it', () => /was revoked/.test(nodes.log('deep')), 5);
    expect(Date.now() - before).toBeLessThan(5_000);
    const stolen = keyIn('stolen');
    expect(await nodes.dial(nodes.parentAt('edge', 'edge').address, 'edge:sub', 'relay', stolen)).toMatch(
      /revoked: the certificate of "edge:sub" was revoked/,
    );
    // The siblings of the relay go on.
    expect(nodes.isConnected('node/edge', 'edge:till')).toBe(true);
  });

  it('stays refused over restarts: at itself while its parent is away, and at its parent while the center is away', async () => {
    const above = nodes.parentAt('edge', 'edge');
    await nodes.end('edge', 'SIGKILL');
    await nodes.end('sub', 'SIGKILL');
    await tree.down();
    nodes.start('sub', { program: 'relay', path: 'edge:sub', parent: above });
    await nodes.serves('sub');
    const deep = keyIn('deep', 'data/identity');
    expect(await nodes.dial(nodes.parentAt('sub', 'edge:sub').address, 'edge:sub:deep', 'agent', deep)).toMatch(
      /signed by the relay "edge:sub", whose authority was revoked/,
    );
    nodes.start('edge', { program: 'relay', path: 'edge', parent: nodes.center() });
    await nodes.serves('edge');
    const stolen = keyIn('stolen');
    expect(await nodes.dial(nodes.parentAt('edge', 'edge').address, 'edge:sub', 'relay', stolen)).toMatch(
      /was revoked/,
    );
    await tree.up();
    for (const name of ['sub', 'deep']) await nodes.end(name);
    nodes.writeKubeconfig(['edge', 'edge']);
    await until('the relay is attached', () => nodes.isConnected('node/center', 'edge'));
  });

  it('is good again with a new key, while the old key and what it has signed stay refused', async () => {
    const token = nodes.tokenFor('edge:sub', '--relay', '--again');
    nodes.start('sub2', { program: 'relay', path: 'edge:sub', parent: nodes.parentAt('edge', 'edge'), token });
    await nodes.serves('sub2');
    await until('it is attached', () => nodes.isConnected('node/edge', 'edge:sub'));
    await staysRefused('stolen', 'sub2');
  });

  it('loses its session and its authority when its Node object is deleted, and its old key does not come back', async () => {
    cpSync(nodes.at('sub2', 'data/identity'), nodes.at('stolen2'), { recursive: true });
    expect(kubectlBy(kubeconfig, ['--context', 'node/edge', 'delete', 'nodes.mesh.banyan.io', 'edge.sub']).code).toBe(
      0,
    );
    await until('its session has ended', () => !nodes.isConnected('node/edge', 'edge:sub'), 5);
    await nodes.end('sub2');
    const token = nodes.tokenFor('edge:sub', '--relay');
    nodes.start('sub3', { program: 'relay', path: 'edge:sub', parent: nodes.parentAt('edge', 'edge'), token });
    await nodes.serves('sub3');
    await until('the new one is attached', () => nodes.isConnected('node/edge', 'edge:sub'));
    await staysRefused('stolen2', 'sub3');
  });

  it('that somebody else has used first, reads so; after a revocation, the thief is out and the honest relay is in', async () => {
    const path = 'edge:depot';
    const parent = nodes.parentAt('edge', 'edge');
    const token = nodes.tokenFor(path, '--relay', '--host', '127.0.0.1');
    nodes.start('thief', { program: 'relay', path, parent, token });
    await nodes.serves('thief');
    await until('the thief is attached', () => nodes.isConnected('node/edge', path));
    nodes.start('depot', { program: 'relay', path, parent, token });
    await until('the honest relay reads who was first', () =>
      /was used by another key from 127\.0\.0\.1:\d+ at .*if that was not this relay, delete its Node object/.test(
        nodes.log('depot'),
      ),
    );
    await nodes.ended('depot');

    expect(nodes.command('revoke', path).code).toBe(0);
    await until('the session of the thief has ended', () => !nodes.isConnected('node/edge', path), 5);
    const again = nodes.tokenFor(path, '--relay', '--again');
    nodes.start('depot', { program: 'relay', path, parent, token: again });
    await until('the honest relay is back', () => nodes.isConnected('node/edge', path), 30);
    await until('the thief reads that it is out', () => /was revoked/.test(nodes.log('thief')));
    const stolen = keyIn('thief', 'data/identity');
    expect(await nodes.dial(parent.address, path, 'relay', stolen)).toMatch(/was revoked|has another key now/);
    expect(nodes.isConnected('node/edge', path)).toBe(true);
  });

  it('whose key is used at two places at once gives neither place the other one, and another key ends the copy', async () => {
    const path = 'edge:depot';
    const parent = nodes.parentAt('edge', 'edge');
    await nodes.end('depot');
    await until('the relay is away', () => !nodes.isConnected('node/edge', path));
    cpSync(nodes.at('depot', 'data'), nodes.at('copy', 'data'), { recursive: true });
    nodes.start('depot', { program: 'relay', path, parent });
    await until('the relay is attached', () => nodes.isConnected('node/edge', path));
    nodes.start('copy', { program: 'relay', path, parent });
    await until('the copy of the store is known as a copy', () =>
      /two nodes run with one identity; end one, or give it an identity of its own/.test(nodes.log('copy')),
    );
    expect(nodes.isConnected('node/edge', path)).toBe(true);
    const token = nodes.tokenFor(path, '--relay', '--again');
    await nodes.end('depot');
    await until('nobody is attached', () => !nodes.isConnected('node/edge', path));
    rmSync(nodes.at('depot', 'data/identity'), { recursive: true });
    nodes.start('depot', { program: 'relay', path, parent, token });
    await until('the relay is back with another key', () => nodes.isConnected('node/edge', path), 30);
    await until('the copy is shut out', () => /was revoked|has another key now/.test(nodes.log('copy')));
    expect(nodes.isConnected('node/edge', path)).toBe(true);
  });
});
