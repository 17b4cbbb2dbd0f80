/** The authority that a center without a supervisor makes: its files, the names in its certificate, and what it refuses. */
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { makeAuthority, withOwnAuthority } from '../../../../center/supervisor/own-authority.ts';
import { hostsNotPermitted } from '../../../../core/identity/authority.ts';
import { hostsMissing } from '../../../../core/identity/certificate-hosts.ts';
import { leafMs } from '../../../../core/identity/certificate-validity.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { nodeConfigSchema } from '../../../../relay/config/config.ts';
import { unreadableFiles } from '../../../../relay/config/config-files.ts';

const root = mkdtempSync(join(tmpdir(), 'banyan-own-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const configIn = (folder: string, own: object = {}, more: object = {}) =>
  nodeConfigSchema.parse({
    path: '',
    data: join(root, folder),
    pki: { tree: 'retail', names: ['center.example.com', 'fd00::1'], ...own },
    api: { host: '::', port: 6443 },
    mesh: {},
    spaces: [{ name: 'shop', type: 'Workload' }],
    ...more,
  });
type Config = ReturnType<typeof configIn>;
const made = (config: Config, clock = new VirtualClock(Date.now())) =>
  makeAuthority(config, config.pki as { tree: string; names: string[] }, clock) as Promise<
    Extract<Config['pki'], { cert: string }>
  >;
const certificate = (file: string) => new X509Certificate(readFileSync(file));

it('has the names of the configuration, and gives relays any hosts', async () => {
  const pki = await made(configIn('names'));
  expect(hostsMissing(certificate(pki.cert), ['center.example.com', 'fd00::1', 'localhost', '127.0.0.1'])).toEqual([]);
  const certPem = readFileSync(pki.subtreeIssuer!.cert, 'utf8');
  expect(hostsNotPermitted({ certPem }, ['elsewhere.example.org', '10.1.2.3'])).toEqual([]);
  for (const file of ['pki/ca.key', 'pki/users_ca.key', 'kubeconfig']) {
    expect(statSync(join(root, 'names', file)).mode & 0o077).toBe(0);
  }
  const { contexts, clusters } = parse(readFileSync(join(root, 'names/kubeconfig'), 'utf8')) as {
    contexts: { name: string }[];
    clusters: { cluster: { server: string } }[];
  };
  expect(contexts.map(({ name }) => name)).toEqual(['node/center', 'space/center/shop', 'fleet/center/shop']);
  expect(clusters[1]?.cluster.server).toBe('https://localhost:6443/spaces/shop');
});

it('keeps its authority over a start, and makes another certificate for further names', async () => {
  const first = await made(configIn('again'));
  const [ca, cert] = [readFileSync(first.ca, 'utf8'), readFileSync(first.cert, 'utf8')];
  await made(configIn('again'));
  expect(readFileSync(first.cert, 'utf8')).toBe(cert);
  await made(configIn('again', { names: ['other.example.com'] }));
  expect(hostsMissing(certificate(first.cert), ['other.example.com'])).toEqual([]);
  expect(readFileSync(first.ca, 'utf8')).toBe(ca);
});

it('replaces its certificate while it runs, when two thirds of the time are over', async () => {
  const config = configIn('runs');
  const clock = new VirtualClock(Date.now());
  const { pki } = await withOwnAuthority(config, config.pki as { tree: string; names: string[] }, silentLogger, clock);
  const file = (pki as { cert: string }).cert;
  const before = certificate(file).fingerprint256;
  clock.advance(leafMs * 0.7);
  // Each look begins the wait for the next one.
  const dayLater = () => {
    clock.advance(86_400_000);
    return certificate(file).fingerprint256;
  };
  await expect.poll(dayLater, { timeout: 10_000 }).not.toBe(before);
});

it.each([
  ['another name of the tree', { tree: 'other' }, {}, /pki\.tree: "other": .* has the authority of the tree "retail"/],
  ['a relay', {}, { path: 'eu' }, /path: "eu": only the center/],
  ['no port', {}, { api: {} }, /api\.port is missing or 0: .*such as 6443/],
])('refuses %s', async (_what, own, more, message) => {
  await made(configIn('refused'));
  const before = readFileSync(join(root, 'refused/pki/center.crt'), 'utf8');
  await expect(made(configIn('refused', own, more))).rejects.toMatchObject({
    code: 'BadRequest',
    message: expect.stringMatching(message),
  });
  expect(readFileSync(join(root, 'refused/pki/center.crt'), 'utf8')).toBe(before);
});

it('needs no file before its first start', () => {
  expect(unreadableFiles(configIn('none'))).toEqual([]);
});
