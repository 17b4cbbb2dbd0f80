import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issueNode } from '../../core/identity/authority.ts';
import { leafDays } from '../../core/identity/certificate-validity.ts';
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

  async function issueTill(clock = systemClock): Promise<void> {
    const read = (file: string) => readFileSync(pki(file), 'utf8');
    const authority = { certPem: read('ca.crt'), keyPem: read('ca.key') };
    const node = { tree: 'expiry', path: 'till', role: 'agent' as const, hosts: ['127.0.0.1'] };
    const { certPem, keyPem } = await issueNode(authority, node, { clock, random: systemRandom });
    for (const [file, pem] of [['till.key', keyPem] as const, ['till.crt', certPem] as const]) {
      writeFileSync(`${pki(file)}.new`, pem, { mode: 0o600 });
      renameSync(`${pki(file)}.new`, pki(file));
    }
  }

  it('ends the session with a message, and the node comes back with renewed files without a restart', async () => {
    const issuedMs = Date.now() + lastsMs - leafDays * 86_400_000;
    await issueTill({ ...systemClock, wallMs: () => issuedMs });
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
