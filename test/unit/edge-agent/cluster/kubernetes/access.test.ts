import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { afterAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { accessOf } from '../../../../../edge-agent/cluster/kubernetes/access.ts';

const directory = mkdtempSync(join(tmpdir(), 'banyan-access-'));
afterAll(() => rmSync(directory, { recursive: true }));
const noPod = { host: undefined, port: undefined, directory: join(directory, 'none') };
const base64 = (text: string) => Buffer.from(text).toString('base64');

let files = 0;
function fileOf(content: object | string): string {
  const file = join(directory, `kubeconfig-${files++}`);
  writeFileSync(file, typeof content === 'string' ? content : stringify(content));
  return file;
}

function configOf(cluster: object, user: object, more: object = {}): string {
  return fileOf({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'shop',
    contexts: [{ name: 'shop', context: { cluster: 'shop', user: 'agent' } }],
    clusters: [{ name: 'shop', cluster: { server: 'https://10.0.0.1:6443', ...cluster } }],
    users: [{ name: 'agent', user }],
    ...more,
  });
}

async function asText(file: string, context?: string) {
  const access = await accessOf({ kubeconfig: file, context }, noPod);
  return { server: access.server.href, ...texts(await access.credentials()) };
}

function texts(credentials: object) {
  return Object.fromEntries(
    Object.entries(credentials).map(([name, value]) => [name, Buffer.isBuffer(value) ? value.toString() : value]),
  );
}

describe('access to a real cluster', () => {
  writeFileSync(join(directory, 'ca.pem'), 'CA');
  writeFileSync(join(directory, 'cert.pem'), 'CERT');
  writeFileSync(join(directory, 'key.pem'), 'KEY');
  writeFileSync(join(directory, 'token'), 'from a file\n');

  it.each([
    [
      'data',
      { 'certificate-authority-data': base64('CA') },
      { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY') },
    ],
    [
      'files beside it',
      { 'certificate-authority': 'ca.pem' },
      { 'client-certificate': 'cert.pem', 'client-key': 'key.pem' },
    ],
    ['a token', { 'insecure-skip-tls-verify': true, 'tls-server-name': 'api.shop' }, { token: 'secret' }],
  ])('reads the same from a file as the Kubernetes client: %s', async (_, cluster, user) => {
    const file = configOf(cluster, user);
    const client = new KubeConfig();
    client.loadFromFile(file);
    const theirs: Record<string, unknown> = {};
    await client.applyToHTTPSOptions(theirs);
    const { agent: _agent, headers, ...expected } = theirs;
    const withHeaders = Object.keys(headers ?? {}).length > 0 ? { ...expected, headers } : expected;
    expect(await asText(file)).toEqual({ server: 'https://10.0.0.1:6443/', ...texts(withHeaders) });
  });

  it('prefers inline data to named files, and a renewed token to a fixed one', async () => {
    const cluster = { 'certificate-authority': 'ca.pem', 'certificate-authority-data': base64('CA of the file') };
    const names = { 'client-certificate': 'cert.pem', 'client-key': 'key.pem' };
    const data = { 'client-certificate-data': base64('C'), 'client-key-data': base64('K') };
    writeFileSync(join(directory, 'renewed'), 'renewed');
    const token = { token: 'old', tokenFile: join(directory, 'renewed') };
    expect(await asText(configOf(cluster, { ...names, ...data, ...token }))).toMatchObject({
      ca: 'CA of the file',
      cert: 'C',
      key: 'K',
      headers: { Authorization: 'Bearer renewed' },
    });
  });

  it('reads a token file for each request', async () => {
    const file = configOf({}, { tokenFile: join(directory, 'token') });
    const access = await accessOf({ kubeconfig: file }, noPod);
    expect((await access.credentials()).headers).toEqual({ Authorization: 'Bearer from a file' });
    writeFileSync(join(directory, 'token'), 'another');
    expect((await access.credentials()).headers).toEqual({ Authorization: 'Bearer another' });
  });

  it('reads a kubeconfig again when it has changed, with its inline data', async () => {
    const file = configOf({ 'certificate-authority-data': base64('CA') }, { token: 'old' });
    const access = await accessOf({ kubeconfig: file }, noPod);
    expect(texts(await access.credentials())).toEqual({ ca: 'CA', headers: { Authorization: 'Bearer old' } });
    renameSync(configOf({ 'certificate-authority-data': base64('CA2') }, { token: 'new' }), file);
    expect(texts(await access.credentials())).toEqual({ ca: 'CA2', headers: { Authorization: 'Bearer new' } });
  });

  it('continues with its last data while the file is unusable, and reports this once', async () => {
    const unusable: string[] = [];
    const file = configOf({}, { token: 'old' });
    const access = await accessOf({ kubeconfig: file }, noPod, { unusable: (why) => unusable.push(why) });
    writeFileSync(file, 'half a fi');
    expect((await access.credentials()).headers).toEqual({ Authorization: 'Bearer old' });
    expect((await access.credentials()).headers).toEqual({ Authorization: 'Bearer old' });
    expect(unusable).toEqual([expect.stringMatching(/not a kubeconfig: /)]);
    renameSync(configOf({}, { token: 'new' }), file);
    expect((await access.credentials()).headers).toEqual({ Authorization: 'Bearer new' });
  });

  it('asks no server other than the first, and reports that the agent has to be restarted', async () => {
    const moved: string[] = [];
    const file = configOf({}, { token: 'old' });
    const access = await accessOf({ kubeconfig: file }, noPod, { moved: (why) => moved.push(why) });
    renameSync(configOf({ server: 'https://10.0.0.2:6443' }, { token: 'new' }), file);
    await expect(access.credentials()).rejects.toMatchObject({ code: 'Unavailable' });
    expect(access.server.href).toBe('https://10.0.0.1:6443/');
    expect(moved).toEqual([
      `${file} names another API server now (https://10.0.0.2:6443/, before: https://10.0.0.1:6443/)`,
    ]);
  });

  it('uses the named context', async () => {
    const other = {
      contexts: [
        { name: 'shop', context: { cluster: 'shop', user: 'agent' } },
        { name: 'other', context: { cluster: 'other', user: 'agent' } },
      ],
      clusters: [
        { name: 'shop', cluster: { server: 'https://10.0.0.1' } },
        { name: 'other', cluster: { server: 'https://10.0.0.2' } },
      ],
    };
    expect(await asText(configOf({}, { token: 'secret' }, other), 'other')).toMatchObject({
      server: 'https://10.0.0.2/',
    });
  });

  it('signs in with a program', async () => {
    const credential = {
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token: 'T' },
    };
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: 'echo',
      args: [JSON.stringify(credential)],
      interactiveMode: 'Never',
    };
    expect(await asText(configOf({}, { exec }))).toMatchObject({ headers: { Authorization: 'Bearer T' } });
  });

  it('uses the service account in a pod', async () => {
    const account = join(directory, 'account');
    mkdirSync(account);
    writeFileSync(join(account, 'ca.crt'), 'CA');
    writeFileSync(join(account, 'token'), 'T');
    const { server, credentials } = await accessOf({}, { host: 'fd00::1', port: '443', directory: account });
    expect(server.href).toBe('https://[fd00::1]/');
    expect(texts(await credentials())).toEqual({ ca: 'CA', headers: { Authorization: 'Bearer T' } });
  });

  it('reports missing credentials, and reads them once they exist', async () => {
    const file = configOf({}, { tokenFile: 'later' });
    const access = await accessOf({ kubeconfig: file }, noPod);
    await expect(access.credentials()).rejects.toThrow(/credentials can't be read: .*later/);
    writeFileSync(join(directory, 'later'), 'T');
    expect((await access.credentials()).headers).toEqual({ Authorization: 'Bearer T' });
  });

  it.each([
    ['a file that is not there', join(directory, 'nowhere'), /nowhere: not a kubeconfig: ENOENT/],
    ['another file', fileOf('just words'), /not a kubeconfig: the file must be a map/],
    ['a cluster without an address', configOf({ server: undefined }, {}), /clusters\[0\]\.cluster\.server is missing/],
    ['an address that is none', configOf({ server: 'shop' }, {}), /clusters\[shop\]\.cluster\.server is no URL: shop/],
    ['no current context', configOf({}, {}, { 'current-context': '' }), /no context .* name one .* by cluster/],
    ['a context without a user', configOf({}, {}, { users: [] }), /there is no context shop with a cluster and a user/],
    ['a proxy', configOf({ 'proxy-url': 'http://p:1' }, {}), /proxy-url is http:\/\/p:1: .* remove the field/],
  ])('reports the error of %s', async (_, file, message) => {
    await expect(accessOf({ kubeconfig: file }, noPod)).rejects.toMatchObject({
      code: 'BadRequest',
      message: expect.stringMatching(message),
    });
  });

  it('reports outside of a pod that a kubeconfig is needed', async () => {
    await expect(accessOf({}, noPod)).rejects.toThrow(/kubeconfig is absent, and this is no pod .* name a kubeconfig/);
  });
});
