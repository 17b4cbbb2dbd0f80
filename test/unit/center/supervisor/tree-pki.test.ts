import { X509Certificate } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { DataDirectory } from '../../../../center/supervisor/data-directory.ts';
import { ensureTreePki } from '../../../../center/supervisor/tree-pki.ts';
import { parseTopology } from '../../../../center/topology/parse.ts';
import { planOf } from '../../../../center/topology/plan.ts';
import { createUserAuthority, hostsNotPermitted, issueUser } from '../../../../core/identity/authority.ts';
import { leadsTo } from '../../../../core/identity/client-authority.ts';
import { certificatesIn } from '../../../../core/identity/pem-certificates.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { systemRandom } from '../../../../core/runtime/random.ts';

const root = mkdtempSync(join(tmpdir(), 'banyan-pki-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const firstDay = Date.UTC(2030, 0, 1);
const dayMs = 86_400_000;

async function pkiOf(folder: string, host = '127.0.0.1', nowMs = firstDay) {
  const parsed = parseTopology(`apiVersion: banyan.io/v1alpha1
kind: Topology
metadata: { name: hosts }
spec:
  center: { listen: { host: "${host}" } }
  clusters: [{ name: constructor }]
`);
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  const data = new DataDirectory(join(root, folder));
  mkdirSync(data.pki, { recursive: true });
  return ensureTreePki(data, 'hosts', planOf(parsed.topology), new VirtualClock(nowMs));
}

async function certificateOf(host: string): Promise<X509Certificate> {
  return new X509Certificate(readFileSync((await pkiOf('hosts', host)).nodeFiles('').cert));
}

it('makes a new certificate when a node gets another host to listen on, and keeps a fitting one', async () => {
  const [first, again] = [await certificateOf('127.0.0.1'), await certificateOf('127.0.0.1')];
  expect(again.fingerprint256).toBe(first.fingerprint256);
  const other = await certificateOf('::1');
  expect([first.checkIP('::1'), other.checkIP('::1')]).toEqual([undefined, '::1']);
});

it('keeps the certificate of a node whose name every JavaScript object inherits as a field', async () => {
  const made = async () => readFileSync((await pkiOf('inherited')).nodeFiles('constructor').cert, 'utf8');
  expect(await made()).toBe(await made());
});

const trustedBy = (file: string) => certificatesIn(readFileSync(file));
const isFrom = (certPem: string, file: string) => leadsTo([new X509Certificate(certPem)], trustedBy(file));

it('signs users with an authority of their own, also in a directory of the time before there was one', async () => {
  const first = await pkiOf('former');
  // As the version before has written the directory: the authority of the nodes has signed the administrator.
  const authority = { certPem: first.caPem, keyPem: readFileSync(join(root, 'former/pki/ca.key'), 'utf8') };
  const issuing = { clock: new VirtualClock(firstDay), random: systemRandom };
  const former = await issueUser(authority, { name: 'admin', groups: ['system:masters'] }, issuing);
  writeFileSync(join(root, 'former/pki/user-admin.crt'), former.certPem);
  writeFileSync(join(root, 'former/pki/user-admin.key'), former.keyPem);
  for (const file of [first.usersFile, first.userSigner.cert, first.userSigner.key]) rmSync(file);

  const pki = await pkiOf('former');
  expect([first, pki, await pkiOf('former')].map(({ refusesFormer }) => refusesFormer)).toEqual([false, true, false]);
  expect(pki.caPem).toBe(first.caPem);
  expect(trustedBy(pki.usersFile)).toHaveLength(1);
  expect([former.certPem, pki.admin.certPem].map((pem) => isFrom(pem, pki.usersFile))).toEqual([false, true]);
  expect(isFrom(pki.admin.certPem, pki.caFile)).toBe(false);
  expect((await pkiOf('former')).admin.certPem).toBe(pki.admin.certPem);
});

it('replaces the authority of users in time, and trusts the one before until that one expires', async () => {
  const first = await pkiOf('rotation');
  const added = await createUserAuthority('added', { clock: new VirtualClock(firstDay), random: systemRandom });
  writeFileSync(first.usersFile, `${readFileSync(first.usersFile, 'utf8')}${added.certPem}`);
  // Two thirds of ten years.
  const next = await pkiOf('rotation', '127.0.0.1', firstDay + 2_500 * dayMs);
  expect(trustedBy(next.usersFile)).toHaveLength(3);
  expect([first.admin.certPem, next.admin.certPem].map((pem) => isFrom(pem, next.usersFile))).toEqual([true, true]);
  const last = await pkiOf('rotation', '127.0.0.1', firstDay + 3_700 * dayMs);
  expect(trustedBy(last.usersFile)).toHaveLength(1);
  expect(isFrom(first.admin.certPem, last.usersFile)).toBe(false);
});

it('gives each relay an authority of its subtree, for the hosts of the relay', async () => {
  const subtree = async (host: string) => {
    const pem = readFileSync((await pkiOf('subtree', host)).subtreeIssuerFiles('').cert);
    return new X509Certificate(pem);
  };
  const [first, again, other] = [await subtree('127.0.0.1'), await subtree('127.0.0.1'), await subtree('10.1.2.3')];
  expect(again.fingerprint256).toBe(first.fingerprint256);
  expect(other.fingerprint256).not.toBe(first.fingerprint256);
  const permits = ({ raw }: X509Certificate) =>
    hostsNotPermitted({ certPem: new X509Certificate(raw).toString() }, ['10.1.2.3', 'localhost']);
  expect([permits(first), permits(other)]).toEqual([['10.1.2.3'], []]);
});

it('needs the key of the authority only while a certificate is due', async () => {
  const first = await pkiOf('offline');
  rmSync(join(root, 'offline/pki/ca.key'));
  expect((await pkiOf('offline')).caPem).toBe(first.caPem);
  rmSync(first.nodeFiles('').cert);
  await expect(pkiOf('offline')).rejects.toMatchObject({
    code: 'NotFound',
    message: expect.stringMatching(/a certificate has to be signed, and there is no .*ca\.key/),
  });
  expect(readFileSync(join(root, 'offline/pki/ca.crt'), 'utf8')).toBe(first.caPem);
});

it('never replaces the authority of nodes by itself, and says when it is due', async () => {
  const first = await pkiOf('due');
  expect(first.isAuthorityDue).toBe(false);
  const later = await pkiOf('due', '127.0.0.1', firstDay + 2_500 * dayMs);
  expect([later.caPem, later.isAuthorityDue]).toEqual([first.caPem, true]);
  expect(isFrom(readFileSync(later.nodeFiles('').cert, 'utf8'), first.caFile)).toBe(true);
});
