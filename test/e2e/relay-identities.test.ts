/** A relay that joins with a token, admits nodes while the center is away, and is revoked; and what a thief of its key can do. With real processes. */
import 'reflect-metadata';
import { type ChildProcess, spawn } from 'node:child_process';
import { webcrypto, X509Certificate } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import type { KeyAndCertificate } from '../../core/identity/authority.ts';
import { Kept, Outsider } from '../protocol/outsider.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { banyan, fixture, kubectlBy, LocalTree, until } from './local-tree.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const topology = {
  apiVersion: 'banyan.io/v1alpha1',
  kind: 'Topology',
  metadata: { name: 'identities' },
  spec: { center: {}, relays: [{ name: 'us' }], clusters: [] },
};

interface Shown {
  readonly spec?: { readonly role?: string };
  readonly status?: { readonly session?: { readonly state?: string } };
}

describe.skipIf(withoutKubectl)(`a relay with a join token${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-relays-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const processes = new Map<string, ChildProcess>();
  const kubeconfig = join(directory, 'kubeconfig');
  const at = (name: string, file = '') => join(directory, name, file);
  const log = (name: string) => (existsSync(at(name, 'log')) ? readFileSync(at(name, 'log'), 'utf8') : '');

  beforeAll(async () => {
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up();
  });
  afterAll(async () => {
    for (const process_ of processes.values()) process_.kill('SIGKILL');
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const portsOf = (id: string) =>
    (JSON.parse(readFileSync(join(tree.data, 'ports.json'), 'utf8')) as Record<string, { mesh: number; api: number }>)[
      id
    ]!;
  const status = (name: string) =>
    JSON.parse(readFileSync(at(name, 'status.json'), 'utf8')) as { url: string; meshAddress: string };

  /** The contexts of the tree, and those of the relays that have joined. */
  function writeKubeconfig(...relays: readonly [name: string, path: string][]): void {
    const config = parse(readFileSync(join(tree.data, 'kubeconfig'), 'utf8')) as {
      clusters: { name: string; cluster: object }[];
      contexts: { name: string; context: { user: string } }[];
    };
    const [{ context }] = config.contexts as unknown as [{ context: { user: string } }];
    const ca = readFileSync(join(tree.data, 'pki', 'ca.crt')).toString('base64');
    for (const [name, path] of relays) {
      const shown = `node/${path}`;
      config.clusters.push({
        name: shown,
        cluster: { server: status(name).url, 'certificate-authority-data': ca },
      });
      config.contexts.push({ name: shown, context: { ...context, cluster: shown } as { user: string } });
    }
    writeFileSync(kubeconfig, stringify(config));
  }
  const command = (...args: string[]) => banyan(...args, '--kubeconfig', kubeconfig);
  function tokenFor(path: string, ...args: string[]): string {
    const { code, out, stdout } = command('join-token', path, ...args, '-o', 'json');
    expect(code, out).toBe(0);
    return (JSON.parse(stdout) as { token: string }).token;
  }
  const nodeAt = (context: string, path: string): Shown | undefined => {
    const args = ['--context', context, 'get', 'nodes.mesh.banyan.io', path.replaceAll(':', '.'), '-o', 'json'];
    const { code, stdout } = kubectlBy(kubeconfig, args);
    return code === 0 ? (JSON.parse(stdout) as Shown) : undefined;
  };
  const isConnected = (context: string, path: string) => nodeAt(context, path)?.status?.session?.state === 'Connected';

  interface Start {
    readonly program: 'relay' | 'edge-agent';
    readonly path: string;
    readonly parent: { readonly address: string; readonly path: string };
    /** Absent: the node continues without a token. */
    readonly token?: string;
  }

  /** The data are in the folder `name`. A later start of that name continues with them. */
  function start(name: string, { program, path, parent, token }: Start): void {
    mkdirSync(at(name), { recursive: true });
    if (token === undefined) rmSync(at(name, 'token'), { force: true });
    else writeFileSync(at(name, 'token'), token);
    const common = {
      path,
      data: at(name, 'data'),
      logFile: at(name, 'log'),
      statusFile: at(name, 'status.json'),
      parent,
    };
    const own = program === 'relay' ? { api: {}, mesh: {} } : { cluster: { embedded: {} } };
    // The same authority signs the users of all nodes.
    const { users } = (parse(readFileSync(join(tree.data, 'config', 'us.yaml'), 'utf8')) as { pki: { users: object } })
      .pki;
    writeFileSync(
      at(name, 'config.yaml'),
      stringify({
        ...common,
        ...own,
        pki: { joinToken: at(name, 'token'), ...(program === 'relay' ? { users } : {}) },
      }),
    );
    rmSync(at(name, 'log'), { force: true });
    rmSync(at(name, 'status.json'), { force: true });
    const args = [fixture(`${program}/main.ts`), '--config', at(name, 'config.yaml')];
    processes.set(name, spawn(process.execPath, args, { stdio: 'ignore' }));
  }
  async function end(name: string, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const process_ = processes.get(name)!;
    const ended = new Promise((done) => process_.once('exit', done));
    process_.kill(signal);
    await ended;
    processes.delete(name);
  }
  const serves = (name: string) =>
    until(`${name} serves`, () => {
      try {
        return status(name).meshAddress !== '';
      } catch {
        return false;
      }
    });
  const center = () => ({ address: `127.0.0.1:${portsOf('').mesh}`, path: '' });
  const parentAt = (name: string, path: string) => ({ address: status(name).meshAddress, path });

  // ------------------------------------------------------------------------------------------------ joining

  it('gets a certificate and an authority for its subtree, with a key that it has made', async () => {
    writeKubeconfig();
    const token = tokenFor('edge', '--relay', '--host', '127.0.0.1');
    start('edge', { program: 'relay', path: 'edge', parent: center(), token });
    await serves('edge');
    await until('the relay is attached', () => isConnected('node/center', 'edge'));
    const kept = at('edge', 'data/identity');
    expect(readdirSync(kept).sort()).toEqual(['ca.crt', 'issuer.crt', 'tls.crt', 'tls.key']);
    for (const file of readdirSync(kept)) expect(statSync(join(kept, file)).mode & 0o777).toBe(0o600);
    const own = new X509Certificate(readFileSync(join(kept, 'tls.crt')));
    expect(own.subjectAltName).toBe('URI:spiffe://identities/node/relay/edge, IP Address:127.0.0.1');
    // Stock kubectl accepts the certificate of the relay's API.
    writeKubeconfig(['edge', 'edge']);
    expect(nodeAt('node/edge', 'edge')?.spec?.role).toBe('Relay');
  });

  it('admits an agent and a relay while the center is away, and that relay admits an agent too', async () => {
    await tree.down();
    start('till', {
      program: 'edge-agent',
      path: 'edge:till',
      parent: parentAt('edge', 'edge'),
      token: tokenFor('edge:till'),
    });
    const sub = tokenFor('edge:sub', '--relay', '--host', '127.0.0.1');
    start('sub', { program: 'relay', path: 'edge:sub', parent: parentAt('edge', 'edge'), token: sub });
    await serves('sub');
    writeKubeconfig(['edge', 'edge'], ['sub', 'edge:sub']);
    const deep = tokenFor('edge:sub:deep');
    start('deep', { program: 'edge-agent', path: 'edge:sub:deep', parent: parentAt('sub', 'edge:sub'), token: deep });
    await until('all are attached', () =>
      [
        isConnected('node/edge', 'edge:till'),
        isConnected('node/edge', 'edge:sub'),
        isConnected('node/edge:sub', 'edge:sub:deep'),
      ].every(Boolean),
    );
    await tree.up();
    await until(
      'the center knows them',
      () => isConnected('node/center', 'edge') && isConnected('node/center', 'edge:sub'),
    );
  });

  it('is no agent, and refuses a wrong host, a token of the other role, and a name that is taken', async () => {
    expect(command('join-token', 'edge', '--relay').out).toMatch(/"edge" is taken at node\/center/);
    expect(command('join-token', 'edge:till', '--relay').out).toMatch(/is that of an agent/);
    expect(command('join-token', 'edge:x', '--host', 'a.example.com').out).toMatch(
      /--host: only the certificate of a relay/,
    );
    const wrong = tokenFor('edge:wrong', '--relay', '--host', 'center.example.com');
    start('wrong', { program: 'relay', path: 'edge:wrong', parent: parentAt('edge', 'edge'), token: wrong });
    await until('it is refused', () => log('wrong').includes('is no host for which the authority of'));
    const agent = tokenFor('edge:kiosk');
    start('kiosk', { program: 'relay', path: 'edge:kiosk', parent: parentAt('edge', 'edge'), token: agent });
    await until('it is refused too', () => /this join token is for the agent/.test(log('kiosk')));
  });

  // ------------------------------------------------------------------------------------------------ a thief

  const authorityOf = (name: string): KeyAndCertificate => ({
    certPem: readFileSync(at(name, 'data/identity/issuer.crt'), 'utf8'),
    keyPem: readFileSync(at(name, 'data/identity/tls.key'), 'utf8'),
  });

  /** Whatever the thief of an authority writes. */
  async function forged(
    by: KeyAndCertificate,
    id: string,
    subject = 'OU=below-banyan-issuer, CN=x',
    isCa = false,
  ): Promise<KeyAndCertificate> {
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
    const keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
    const key = x509.PemConverter.decodeFirst(by.keyPem);
    const { serverAuth, clientAuth } = x509.ExtendedKeyUsage;
    const certificate = await x509.X509CertificateGenerator.create({
      subject,
      issuer: new x509.X509Certificate(by.certPem).subjectName,
      notBefore: new Date(Date.now() - 60_000),
      notAfter: new Date(Date.now() + 3_600_000),
      signingAlgorithm: algorithm,
      publicKey: keys.publicKey,
      signingKey: await webcrypto.subtle.importKey('pkcs8', key, algorithm, false, ['sign']),
      extensions: [
        new x509.BasicConstraintsExtension(isCa, undefined, true),
        new x509.ExtendedKeyUsageExtension([serverAuth, clientAuth]),
        ...(id === '' ? [] : [new x509.SubjectAlternativeNameExtension([{ type: 'url', value: id }])]),
      ],
    });
    const exported = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
    return {
      certPem: `${certificate.toString('pem')}\n${by.certPem}`,
      keyPem: x509.PemConverter.encode(exported, 'PRIVATE KEY'),
    };
  }
  const ca = () => readFileSync(join(tree.data, 'pki', 'ca.crt'), 'utf8');

  /** Dials a parent with this identity. Returns how it ends: with a refusal, or `attached`. */
  async function dial(address: string, path: string, role: 'relay' | 'agent', own: KeyAndCertificate): Promise<string> {
    const identity = { ca: ca(), cert: own.certPem, key: own.keyPem };
    const outsider = new Outsider(new Kept(), { address, path, identity, ...(role === 'relay' ? { role } : {}) });
    await outsider.attach().catch(() => {});
    const result = () => outsider.refused || (outsider.receivedKinds.includes('welcome') ? 'attached' : outsider.ended);
    await until('the dial has ended', () => result() !== undefined);
    const ended = result()!;
    if (ended === 'attached') outsider.close();
    return ended;
  }

  it('can use its authority nowhere but below itself', async () => {
    const edge = authorityOf('edge');
    const usMesh = `127.0.0.1:${portsOf('us').mesh}`;
    const doesNotCount = /does not count|was not signed by the authority of this tree/;
    const id = (role: string, path: string) => `spiffe://identities/node/${role}/${path}`;
    expect(await dial(center().address, 'us', 'relay', await forged(edge, id('relay', 'us')))).toMatch(doesNotCount);
    expect(await dial(center().address, 'edge', 'relay', await forged(edge, id('relay', 'edge')))).toMatch(
      doesNotCount,
    );
    expect(await dial(usMesh, 'us:till', 'agent', await forged(edge, id('agent', 'us/till')))).toMatch(doesNotCount);
    const us = await forged(edge, '', 'OU=below-banyan-issuer, CN=spiffe://identities/node/relay/us', true);
    expect(await dial(usMesh, 'us:till', 'agent', await forged(us, id('agent', 'us/till')))).toMatch(doesNotCount);
    const admin = await forged(edge, '', 'O=system:masters, CN=admin');
    const statusFor = (port: number) =>
      new Promise((resolve, reject) => {
        const options = { ca: ca(), cert: admin.certPem, key: admin.keyPem, agent: false };
        get(`https://127.0.0.1:${port}/api/v1/namespaces`, options, (response) =>
          resolve(response.resume().statusCode),
        ).on('error', reject);
      });
    expect(await statusFor(portsOf('').api)).toBe(401);
    expect(await statusFor(portsOf('us').api)).toBe(401);
    // Below itself, its certificates count: the relay is known there, and the place is not.
    expect(
      await dial(parentAt('edge', 'edge').address, 'edge:x', 'agent', await forged(edge, id('agent', 'edge/x'))),
    ).toMatch(/unknown_child|not in the inventory|SyncTarget/);
  });

  // ------------------------------------------------------------------------------------------------ revocation

  it('is refused with all that it has signed within 5 s after it was revoked', async () => {
    cpSync(at('sub', 'data/identity'), at('stolen'), { recursive: true });
    const before = Date.now();
    const { code, out } = command('revoke', 'edge:sub');
    expect(code, out).toBe(0);
    await until('its session has ended', () => !isConnected('node/edge', 'edge:sub'), 5);
    await until('its own agent has left it', () => /was revoked/.test(log('deep')), 5);
    expect(Date.now() - before).toBeLessThan(5_000);
    const stolen = {
      certPem: readFileSync(at('stolen', 'tls.crt'), 'utf8'),
      keyPem: readFileSync(at('stolen', 'tls.key'), 'utf8'),
    };
    expect(await dial(parentAt('edge', 'edge').address, 'edge:sub', 'relay', stolen)).toMatch(
      /revoked: the certificate of "edge:sub" was revoked/,
    );
    // The siblings of the relay go on.
    expect(isConnected('node/edge', 'edge:till')).toBe(true);
  });

  it('stays refused over restarts: at itself while its parent is away, and at its parent while the center is away', async () => {
    const above = parentAt('edge', 'edge');
    await end('edge', 'SIGKILL');
    await end('sub', 'SIGKILL');
    await tree.down();
    start('sub', { program: 'relay', path: 'edge:sub', parent: above });
    await serves('sub');
    const deep = {
      certPem: readFileSync(at('deep', 'data/identity/tls.crt'), 'utf8'),
      keyPem: readFileSync(at('deep', 'data/identity/tls.key'), 'utf8'),
    };
    expect(await dial(parentAt('sub', 'edge:sub').address, 'edge:sub:deep', 'agent', deep)).toMatch(
      /signed by the relay "edge:sub", whose authority was revoked/,
    );
    start('edge', { program: 'relay', path: 'edge', parent: center() });
    await serves('edge');
    const stolen = {
      certPem: readFileSync(at('stolen', 'tls.crt'), 'utf8'),
      keyPem: readFileSync(at('stolen', 'tls.key'), 'utf8'),
    };
    expect(await dial(parentAt('edge', 'edge').address, 'edge:sub', 'relay', stolen)).toMatch(/was revoked/);
    await tree.up();
    for (const name of ['sub', 'deep']) await end(name);
    writeKubeconfig(['edge', 'edge']);
    await until('the relay is attached', () => isConnected('node/center', 'edge'));
  });

  it('is good again with a new key, while the old key and what it has signed stay refused', async () => {
    const token = tokenFor('edge:sub', '--relay', '--again');
    start('sub2', { program: 'relay', path: 'edge:sub', parent: parentAt('edge', 'edge'), token });
    await serves('sub2');
    await until('it is attached', () => isConnected('node/edge', 'edge:sub'));
    const stolen = {
      certPem: readFileSync(at('stolen', 'tls.crt'), 'utf8'),
      keyPem: readFileSync(at('stolen', 'tls.key'), 'utf8'),
    };
    expect(await dial(parentAt('edge', 'edge').address, 'edge:sub', 'relay', stolen)).toMatch(/was revoked/);
    const authority = { certPem: readFileSync(at('stolen', 'issuer.crt'), 'utf8'), keyPem: stolen.keyPem };
    const child = await forged(authority, 'spiffe://identities/node/agent/edge/sub/deep');
    await expect
      .poll(() => dial(parentAt('sub2', 'edge:sub').address, 'edge:sub:deep', 'agent', child))
      .toContain('whose authority was revoked');
  });

  it('loses its session and its authority when its Node object is deleted, and its old key does not come back', async () => {
    cpSync(at('sub2', 'data/identity'), at('stolen2'), { recursive: true });
    expect(kubectlBy(kubeconfig, ['--context', 'node/edge', 'delete', 'nodes.mesh.banyan.io', 'edge.sub']).code).toBe(
      0,
    );
    await until(
      'its session has ended',
      () => nodeAt('node/edge', 'edge:sub')?.status?.session?.state === 'Disconnected',
      5,
    );
    await end('sub2');
    const token = tokenFor('edge:sub', '--relay', '--again');
    start('sub3', { program: 'relay', path: 'edge:sub', parent: parentAt('edge', 'edge'), token });
    await serves('sub3');
    await until('the new one is attached', () => isConnected('node/edge', 'edge:sub'));
    const stolen = {
      certPem: readFileSync(at('stolen2', 'tls.crt'), 'utf8'),
      keyPem: readFileSync(at('stolen2', 'tls.key'), 'utf8'),
    };
    expect(await dial(parentAt('edge', 'edge').address, 'edge:sub', 'relay', stolen)).toMatch(/was revoked/);
    const authority = { certPem: readFileSync(at('stolen2', 'issuer.crt'), 'utf8'), keyPem: stolen.keyPem };
    const child = await forged(authority, 'spiffe://identities/node/agent/edge/sub/deep');
    await expect
      .poll(() => dial(parentAt('sub3', 'edge:sub').address, 'edge:sub:deep', 'agent', child))
      .toContain('whose authority was revoked');
  });
});
