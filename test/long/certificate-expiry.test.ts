import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issueNode } from '../../core/identity/authority.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { LocalTree, until } from '../e2e/local-tree.ts';

const topology = join(tmpdir(), `banyan-expiry-${process.pid}.yaml`);
writeFileSync(
  topology,
  `apiVersion: banyan.io/v1alpha1
kind: Topology
metadata: {name: expiry}
spec:
  center: {spaces: [{name: retail}]}
  clusters: [{name: till}]
`,
);
/** Enough for a process to start and attach. */
const lastsMs = 25_000;

describe('a certificate that expires while its node is connected', () => {
  const tree = new LocalTree(topology);
  beforeAll(() => tree.up());
  afterAll(() => tree[Symbol.asyncDispose]());

  const pki = (file: string) => join(tree.data, 'pki', file);
  const centerLog = () => readFileSync(join(tree.data, 'logs', 'center.log'), 'utf8').split('\n');
  const attached = () => centerLog().filter((line) => line.includes('a child is attached')).length;
  const expired = () =>
    centerLog().filter((line) => line.includes('a child is detached') && line.includes('expired on'));

  const read = (file: string) => readFileSync(pki(file), 'utf8');
  function write(file: string, pem: string): void {
    writeFileSync(`${pki(file)}.new`, pem, { mode: 0o600 });
    renameSync(`${pki(file)}.new`, pki(file));
  }

  /** The present certificate of the agent, with an earlier end. */
  async function shorten(): Promise<void> {
    x509.cryptoProvider.set(webcrypto as Crypto);
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
    const key = x509.PemConverter.decodeFirst(read('ca.key'));
    const { subjectName, notBefore, publicKey, extensions } = new x509.X509Certificate(read('till.crt'));
    const shorter = await x509.X509CertificateGenerator.create({
      serialNumber: '01',
      subject: subjectName,
      issuer: new x509.X509Certificate(read('ca.crt')).subjectName,
      notBefore,
      notAfter: new Date(Date.now() + lastsMs),
      publicKey,
      extensions,
      signingAlgorithm: algorithm,
      signingKey: await webcrypto.subtle.importKey('pkcs8', key, algorithm, false, ['sign']),
    });
    write('till.crt', shorter.toString('pem'));
  }

  async function issueTill(): Promise<void> {
    const authority = { certPem: read('ca.crt'), keyPem: read('ca.key') };
    const node = { tree: 'expiry', path: 'till', role: 'agent' as const, hosts: ['127.0.0.1'] };
    const { certPem, keyPem } = await issueNode(authority, node, { clock: systemClock, random: systemRandom });
    write('till.key', keyPem);
    write('till.crt', certPem);
  }

  it('ends the session with a message, and the node comes back with renewed files without a restart', async () => {
    await shorten();
    const before = attached();
    tree.kill('till');
    await until('the agent is back with the short certificate', () => attached() > before);
    const pid = tree.pid('till');
    await issueTill();
    await until('the session has ended', () => expired().length > 0);
    expect(expired()[0]).toContain('the certificate spiffe://expiry/node/agent/till expired on');
    await until('the agent is attached again', () => attached() > before + 1);
    expect(tree.pid('till')).toBe(pid);
    const metrics = tree.ok('node/center', 'get', '--raw', '/metrics');
    expect(metrics).toContain('banyan_session_ends_total{peer="child",reason="CertificateExpired"} 1');
  });
});
