/** CertificateSigningRequests and Secrets with tokens at a node and at a real API server: the same requests get the same answers. */
import 'reflect-metadata';
import { webcrypto, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { newKey, requestFor } from '../../core/identity/certificate-request.ts';
import { kubectlBy, LocalTree, until } from '../e2e/local-tree.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { withoutKubectl } from '../support/kubectl.ts';

x509.cryptoProvider.set(webcrypto as Crypto);
const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const signer = 'kubernetes.io/kube-apiserver-client';

interface Answer {
  readonly code: number;
  readonly out: string;
}

describe.skipIf(missing)(`as Kubernetes${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-csr-as-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  let plane: ControlPlane;
  let pem = '';
  let files = 0;
  const file = (object: object) => {
    const path = join(directory, `${files++}.json`);
    writeFileSync(path, JSON.stringify(object));
    return path;
  };
  const own = (...args: string[]) => tree.kubectl('node/center', args);
  const real = (...args: string[]) => kubectlBy(plane.kubeconfig, args);
  const both = (...args: string[]): Answer[] =>
    [own, real].map((ask) => {
      const { code, out } = ask(...args);
      // Our messages about names leave the example out.
      return { code, out: out.replaceAll(/ \(e\.g\. [^)]*'.*?\)(?=[\n,\]])/g, '') };
    });
  const same = (...args: string[]): Answer => {
    const [ours, theirs] = both(...args);
    expect(ours, args.join(' ')).toEqual(theirs);
    return ours!;
  };
  const request = (name: string, spec: object = {}) => ({
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name },
    spec: { request: Buffer.from(pem).toString('base64'), signerName: signer, usages: ['client auth'], ...spec },
  });
  const conditionsOf = (ask: typeof own, name: string) => {
    const { conditions = [] } = JSON.parse(ask('get', 'csr', name, '-o', 'json').stdout).status as {
      conditions?: { type: string; status: string; reason: string; lastUpdateTime?: string }[];
    };
    return conditions.map(({ type, status, reason, ...times }) => [type, status, reason, Object.keys(times).sort()]);
  };

  beforeAll(async () => {
    plane = await ControlPlane.start({ directory: join(directory, 'plane') });
    const topology = {
      apiVersion: 'banyan.io/v1alpha1',
      kind: 'Topology',
      metadata: { name: 'csr' },
      spec: { center: { spaces: [{ name: 'retail' }] } },
    };
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up();
    pem = await requestFor('jane', newKey());
  });
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('wrong requests are refused with the same words', () => {
    const specs: object[] = [
      { expirationSeconds: 60 },
      { usages: [] },
      { usages: ['client auth', 'client auth'] },
      { usages: ['client auth', 'flying'] },
      { signerName: 'nobody' },
      { signerName: 'example.com/' },
      { signerName: 'com/own' },
      { signerName: 'Example.com/own' },
      { signerName: 'example.com/Own' },
      { signerName: 'example.com/a/b' },
      { signerName: 'kubernetes.io/legacy-unknown' },
      { signerName: '' },
      { request: Buffer.from('nothing').toString('base64') },
      { request: Buffer.from(pem.replaceAll('CERTIFICATE REQUEST', 'CERTIFICATE')).toString('base64') },
    ];
    for (const spec of specs) expect(same('create', '-f', file(request('wrong', spec))).code).not.toBe(0);
  });

  it('decisions have the same conditions, and are final in the same words', async () => {
    for (const name of ['jane', 'eve', 'other']) {
      const spec = name === 'other' ? { signerName: 'example.com/own' } : {};
      same('create', '-f', file(request(name, spec)));
    }
    same('certificate', 'deny', 'eve');
    same('certificate', 'approve', 'other');
    same('certificate', 'approve', 'eve');
    for (const name of ['eve', 'other']) expect(conditionsOf(own, name)).toEqual(conditionsOf(real, name));
    const write = (name: string, subresource: string, status: object) => {
      const answers = [own, real].map((ask) => {
        const current = JSON.parse(ask('get', 'csr', name, '-o', 'json').stdout) as object;
        const url = `${requests}/${name}/${subresource}`;
        const { code, out } = ask('replace', '--raw', url, '-f', file({ ...current, status }));
        return [code, code === 0 ? '' : out];
      });
      expect(answers[0], JSON.stringify(status)).toEqual(answers[1]);
      return answers[0]![1];
    };
    const condition = (type: string, status = 'True') => ({ type, status, reason: 'r', message: 'm' });
    write('eve', 'approval', { conditions: [condition('Approved')] });
    write('eve', 'approval', { conditions: [condition('Denied'), condition('Approved')] });
    write('jane', 'approval', { conditions: [condition('Approved', 'False')] });
    write('jane', 'approval', { conditions: [condition('Own', 'Maybe')] });
    write('jane', 'approval', { conditions: [condition(''), condition('Own'), condition('Own')] });
    write('jane', 'status', { certificate: Buffer.from('nothing').toString('base64') });
    write('jane', 'status', { conditions: [condition('Approved')] });
    expect(write('jane', 'status', { conditions: [condition('Own', 'False')] })).toBe('');
    expect(conditionsOf(own, 'jane')).toEqual(conditionsOf(real, 'jane'));
  });

  it('the certificate for a request with alternative names has the same names, and the same use', async () => {
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
    const made = await x509.Pkcs10CertificateRequestGenerator.create({
      name: 'O=tills, CN=jane',
      keys: (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair,
      signingAlgorithm: algorithm,
      extensions: [
        new x509.SubjectAlternativeNameExtension([
          { type: 'upn', value: 'jane' },
          { type: 'url', value: 'https://example.com/j' },
          { type: 'ip', value: '10.0.0.7' },
          { type: 'ip', value: '2001:db8::1' },
          { type: 'email', value: 'j@example.com' },
          { type: 'id', value: '1.2.3' },
          { type: 'dns', value: 'a.example.com' },
          { type: 'dns', value: 'b' },
        ]),
        new x509.BasicConstraintsExtension(true, undefined, true),
      ],
    });
    pem = made.toString('pem');
    same('create', '-f', file(request('named', { usages: ['client auth', 'key encipherment'] })));
    same('certificate', 'approve', 'named');
    const certificates: X509Certificate[] = [];
    for (const ask of [own, real]) {
      const signed = () => ask('get', 'csr', 'named', '-o', 'jsonpath={.status.certificate}').stdout;
      await until('it is signed', () => signed() !== '');
      certificates.push(new X509Certificate(Buffer.from(signed(), 'base64')));
    }
    const shown = ({ subject, subjectAltName, keyUsage, ca }: X509Certificate) => [
      subject,
      subjectAltName,
      keyUsage,
      ca,
    ];
    expect(shown(certificates[0]!)).toEqual(shown(certificates[1]!));
    expect(certificates[0]!.subjectAltName).toContain('DNS:b, email:j@example.com');
  });

  it('a change of the spec changes nothing, and labels may change', () => {
    const patch = JSON.stringify({ metadata: { labels: { a: 'b' } }, spec: { signerName: 'example.com/own' } });
    same('patch', 'csr', 'jane', '--type=merge', '-p', patch);
    same('get', 'csr', 'jane', '-o', 'jsonpath={.spec.signerName} {.spec.usages} {.metadata.labels}');
  });

  it('a Secret for a ServiceAccount has the same fields, and goes with the account', async () => {
    same('create', 'serviceaccount', 'robot', '-n', 'default');
    const secret = (name: string, annotations: object) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/service-account-token',
      metadata: { name, namespace: 'default', annotations },
    });
    const account = (name: string) => ({ 'kubernetes.io/service-account.name': name });
    same('create', '-f', file(secret('held', account('robot'))));
    expect(same('create', '-f', file(secret('wrong', {}))).code).not.toBe(0);
    const read = (ask: typeof own) => {
      const { stdout } = ask('get', 'secret', 'held', '-n', 'default', '-o', 'json');
      const { data = {}, metadata } = JSON.parse(stdout) as {
        data?: object;
        metadata: { annotations: Record<string, string> };
      };
      return [Object.keys(data).sort(), Object.keys(metadata.annotations).sort()];
    };
    for (const ask of [own, real]) await until('it is filled in', () => read(ask)[0]!.length === 3);
    expect(read(own)).toEqual(read(real));
    same('delete', 'serviceaccount', 'robot', '-n', 'default');
    for (const ask of [own, real])
      await until('it is gone', () => !ask('get', 'secrets', '-n', 'default').out.includes('held'));
  });
});
