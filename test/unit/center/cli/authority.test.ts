/** `banyan authority`: what the command writes into the center's Node object, and what it refuses. */
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { addAuthority, dropAuthority, showAuthorities, useAuthority } from '../../../../center/cli/authority.ts';
import { trustInKubeconfig } from '../../../../center/cli/trusted-kubeconfig.ts';
import { AuthorityFiles } from '../../../../center/supervisor/authority-files.ts';
import { createAuthority } from '../../../../core/identity/authority.ts';
import { authorityId } from '../../../../core/identity/peer-identity.ts';
import { readBundle } from '../../../../core/identity/trusted-authorities.ts';
import { systemClock } from '../../../../core/runtime/clock.ts';
import { systemRandom } from '../../../../core/runtime/random.ts';
import type { ShownAuthority } from '../../../../relay/inventory-status/authority-dependents.ts';

const issuing = { clock: systemClock, random: systemRandom };
let folder: string;
let files: AuthorityFiles;
let caPem: string;
let former: string;
let shown: ShownAuthority[] | undefined;
let written: string | undefined;
let kubeconfig: string;

const api = {
  contexts: () => ['node/center'],
  get: async () =>
    ({ metadata: { name: 'center' }, spec: { authorities: written }, status: { authorities: shown } }) as never,
  write: async (_context: string, _method: string, _path: string, sent: object) => {
    written = (sent as { spec: { authorities: string } }).spec.authorities;
    const read = readBundle(written);
    if ('flaw' in read) throw new Error(read.flaw);
    shown = read.authorities.map((one) =>
      trusted(
        one.toString(),
        shown?.find(({ id }) => id === authorityId(one)),
      ),
    );
    return { object: { metadata: {} } as never };
  },
};
/** An authority as the center shows it. */
const trusted = (certificate: string, present: Partial<ShownAuthority> = {}): ShownAuthority => ({
  inUse: false,
  nodes: 0,
  ...present,
  id: authorityId(new X509Certificate(certificate)),
  certificate,
});
const writtenIds = () => {
  const read = readBundle(written ?? '');
  return 'flaw' in read ? read.flaw : [...read.authorities.map(authorityId), read.introductions.length];
};
const newKubeconfig = (pem: string) => {
  kubeconfig = pem;
};
const silent = () => {};

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'banyan-authority-'));
  files = new AuthorityFiles(folder, issuing);
  const authority = await createAuthority('shop', issuing);
  caPem = authority.certPem;
  writeFileSync(join(folder, 'ca.crt'), caPem);
  writeFileSync(join(folder, 'ca.key'), authority.keyPem);
  former = authorityId(new X509Certificate(caPem));
  shown = [
    trusted(caPem, {
      subject: 'CN=banyan shop',
      notAfter: '2036-01-01T00:00:00Z',
      inUse: true,
      nodes: 3,
      sample: ['', 'eu'],
    }),
  ];
  [written, kubeconfig] = [undefined, ''];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('prints the authorities as a table and as objects', async () => {
  const { text, data, names } = await showAuthorities(api);
  expect(text).toMatch(/in use\s+2036-01-01T00:00:00Z\s+3\s+center, eu and 1 more\s+CN=banyan shop/);
  expect([data, names]).toEqual([shown, [`authority/${former}`]]);
});

it('adds the next authority with its introduction, lets it sign, and drops the former one', async () => {
  await addAuthority(api, files);
  const next = authorityId(files.next!);
  expect(writtenIds()).toEqual([former, next, 1]);
  await addAuthority(api, files);
  expect(writtenIds()).toEqual([former, next, 1]);
  const warned: string[] = [];
  await useAuthority(api, files, (line) => warned.push(line), newKubeconfig);
  expect(writtenIds()).toEqual([next, former, 1]);
  expect(warned).toEqual([expect.stringMatching(/the certificates of the center are not in/)]);
  expect(kubeconfig.match(/BEGIN/g)).toHaveLength(2);
  shown = [trusted(files.authorities[0]!.toString(), { inUse: true, nodes: 3 }), trusted(caPem)];
  await dropAuthority(api, files, { id: former, force: false }, newKubeconfig);
  expect(writtenIds()).toEqual([next, 1]);
  expect(kubeconfig.match(/BEGIN/g)).toHaveLength(1);
});

it('does not drop an authority that is in use, unknown, or needed by a node, and then changes nothing', async () => {
  const drop = (id: string, force = false) => dropAuthority(api, files, { id, force }, newKubeconfig);
  await addAuthority(api, files);
  const before = written;
  await expect(drop(former)).rejects.toThrow(
    /the certificate of the center, or one of its issuers, leads to .*authority use/,
  );
  await expect(drop(former, true)).rejects.toThrow(/leads to/);
  await expect(drop('abc')).rejects.toThrow(/trusts no authority "abc"; it trusts/);
  shown = [
    trusted(files.next!.toString(), { inUse: true, nodes: 1 }),
    trusted(caPem, { nodes: 7, sample: ['eu:till', 'eu:shop'] }),
  ];
  await expect(drop(former)).rejects.toThrow(/7 nodes still depend on .*: eu:till, eu:shop and 5 more: wait/);
  expect([written, kubeconfig]).toEqual([before, '']);
  await drop(former, true);
  expect(writtenIds()).toEqual([authorityId(files.next!), 1]);
});

it('refuses a fourth authority, and an authority that the center does not trust', async () => {
  const others = await Promise.all([1, 2].map(() => createAuthority('shop', issuing)));
  shown = [caPem, ...others.map(({ certPem }) => certPem)].map((pem) => trusted(pem));
  await expect(addAuthority(api, files)).rejects.toThrow(
    /a tree has at most 3 authorities, and has .*: drop one first/,
  );
  expect([written, files.next]).toEqual([undefined, undefined]);
  shown = [trusted(others[0]!.certPem)];
  await files.add();
  await expect(useAuthority(api, files, silent, newKubeconfig)).rejects.toThrow(
    /does not trust the authority .*authority add/,
  );
  expect(files.next).toBeDefined();
});

it('says what is missing: a context of the center, or a center that shows its authorities', async () => {
  await expect(showAuthorities({ ...api, contexts: () => ['node/eu'] })).rejects.toThrow(/no context node\/center/);
  shown = undefined;
  await expect(showAuthorities(api)).rejects.toThrow(/the center does not show its authorities/);
});

it('changes only those clusters of a kubeconfig that are of this tree', async () => {
  const file = join(folder, 'kubeconfig');
  const stranger = (await createAuthority('other', issuing)).certPem;
  const base64 = (pem: string) => Buffer.from(pem).toString('base64');
  const cluster = (name: string, data?: string) => ({
    name,
    cluster: {
      server: `https://${name}`,
      ...(data === undefined ? {} : { 'certificate-authority-data': base64(data) }),
    },
  });
  const clusters = [cluster('node/center', caPem), cluster('eks', stranger), cluster('plain'), cluster('odd', 'x')];
  writeFileSync(file, stringify({ kind: 'Config', clusters, contexts: [], users: [{ name: 'me' }] }));
  trustInKubeconfig(file, 'new', [new X509Certificate(caPem)]);
  const changed = parse(readFileSync(file, 'utf8')) as { clusters: unknown; users: unknown };
  expect(changed.clusters).toEqual([cluster('node/center', 'new'), ...clusters.slice(1)]);
  expect(changed.users).toEqual([{ name: 'me' }]);
});
