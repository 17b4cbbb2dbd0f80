/** CertificateSigningRequests of users, with stock kubectl and openssl's format of requests: asked, approved, signed, used, denied. */
import 'reflect-metadata';
import { generateKeyPairSync, webcrypto, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { withoutKubectl } from '../support/kubectl.ts';
import { banyan, LocalTree, until } from './local-tree.ts';
import { certificateUser, grant, People } from './people.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const center = 'node/center';
const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const clientSigner = 'kubernetes.io/kube-apiserver-client';

describe.skipIf(withoutKubectl)(`a CertificateSigningRequest${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-csr-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const people = new People(tree, directory);
  const as = people.as.bind(people);
  const request = (name: string, pem: string, spec: object = {}) => ({
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name },
    spec: { request: Buffer.from(pem).toString('base64'), signerName: clientSigner, usages: ['client auth'], ...spec },
  });
  let files = 0;
  const file = (object: object) => {
    const path = join(directory, `${files++}.json`);
    writeFileSync(path, JSON.stringify(object));
    return path;
  };
  const of = (name: string, path: string, context = center) =>
    tree.kubectl(context, ['get', 'csr', name, '-o', `jsonpath=${path}`]).stdout;

  beforeAll(async () => {
    const topology = {
      apiVersion: 'banyan.io/v1alpha1',
      kind: 'Topology',
      metadata: { name: 'csr' },
      spec: {
        center: { spaces: [{ name: 'retail' }] },
        relays: [{ name: 'eu' }],
        clusters: [{ name: 'rivoli', parent: 'eu' }],
      },
    };
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up();
    for (const name of ['asker', 'approver']) people.add(name, '--group', `${name}s`);
    const role = (name: string, rules: object[]) => [
      { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }],
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      },
    ];
    const csr = (resources: string[], verbs: string[], more: object = {}) => ({
      apiGroups: ['certificates.k8s.io'],
      resources,
      verbs,
      ...more,
    });
    const [all, approval, status] = ['', '/approval', '/status'].map((end) => `certificatesigningrequests${end}`);
    const items = [
      ...role('asker', [csr([all!], ['create', 'get', 'list', 'watch']), csr([approval!, status!], ['update'])]),
      ...role('approver', [
        csr([all!], ['get', 'list', 'watch']),
        csr([approval!], ['update']),
        csr(['signers'], ['approve'], { resourceNames: ['kubernetes.io/*'] }),
      ]),
    ];
    const { code, out } = tree.apply(center, { apiVersion: 'v1', kind: 'List', items });
    expect(code, out).toBe(0);
    // An AccessGrant for the person whose certificate does not exist yet.
    tree.apply(center, grant('jane', { kind: 'Group', name: 'tills' }, 'view', { space: { name: 'retail' } }));
  });
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('is approved by somebody with the verb, signed, and its certificate has the rights of the user', async () => {
    const { pem, keyPem } = await requestOf('CN=jane, O=tills');
    expect(
      as('asker', center, 'create', '-f', file(request('jane', pem, { username: 'admin', expirationSeconds: 3_600 })))
        .out,
    ).toBe('certificatesigningrequest.certificates.k8s.io/jane created\n');
    expect([of('jane', '{.spec.username}'), of('jane', '{.spec.groups}')]).toEqual([
      'asker',
      '["askers","system:authenticated"]',
    ]);
    expect(as('asker', center, 'get', 'csr', 'jane').out).toMatch(/jane\s+\S+\s+\S+client\s+asker\s+60m\s+Pending/);
    expect(as('asker', center, 'certificate', 'approve', 'jane').out).toContain(
      `user not permitted to approve requests with signerName "${clientSigner}"`,
    );
    expect(as('approver', center, 'certificate', 'approve', 'jane').out).toContain(
      'certificatesigningrequest.certificates.k8s.io/jane approved',
    );
    await until('it is signed', () => of('jane', '{.status.certificate}') !== '');
    expect(as('asker', center, 'get', 'csr', 'jane').out).toContain('Approved,Issued');
    const certPem = Buffer.from(of('jane', '{.status.certificate}'), 'base64').toString();
    const certificate = new X509Certificate(certPem);
    expect(certificate.subject).toBe('O=tills\nCN=jane');
    expect(Date.parse(certificate.validTo) - Date.now()).toBeLessThan(3_600_000 + 1_000);
    people.identify('jane', certificateUser(certPem, keyPem));
    // Not by `auth whoami`: kubectl 1.27 asks for it in a version that Kubernetes has removed.
    expect(as('jane', center, 'get', 'secrets').out).toContain('User "jane" cannot list');
    expect(as('jane', 'space/center/retail', 'get', 'configmaps', '-A').code).toBe(0);
    expect(as('jane', 'space/center/retail', 'create', 'namespace', 'x').out).toContain('User "jane" cannot create');
    // All nodes know the authority of users.
    expect(as('jane', 'node/eu', 'get', 'secrets').out).toContain('User "jane" cannot list');
  });

  it('for a user who was revoked gives a certificate that is good', async () => {
    expect(banyan('user', 'revoke', 'joe', '--data', tree.data).code).toBe(0);
    const { pem, keyPem } = await requestOf('CN=joe');
    tree.ok(center, 'create', '-f', file(request('joe', pem)));
    tree.ok(center, 'certificate', 'approve', 'joe');
    await until('it is signed', () => of('joe', '{.status.certificate}') !== '');
    const certPem = Buffer.from(of('joe', '{.status.certificate}'), 'base64').toString();
    people.identify('joe', certificateUser(certPem, keyPem));
    await until('the certificate begins', () => as('joe', center, 'get', '--raw', '/version').code === 0);
  });

  it('that was denied is never signed, and its decision stays', async () => {
    const { pem } = await requestOf('CN=eve');
    tree.ok(center, 'create', '-f', file(request('eve', pem)));
    tree.ok(center, 'certificate', 'deny', 'eve');
    const denied = JSON.parse(tree.ok(center, 'get', 'csr', 'eve', '-o', 'json'));
    const decide = (type: string, kept: object[]) => {
      const conditions = [...kept, { type, status: 'True', reason: 'r', message: 'm' }];
      const body = file({ ...denied, status: { conditions } });
      return tree.kubectl(center, ['replace', '--raw', `${requests}/eve/approval`, '-f', body]).out;
    };
    expect(decide('Approved', denied.status.conditions)).toContain('mutually exclusive');
    expect(decide('Approved', [])).toContain('updates may not remove a condition of type "Denied"');
    const { pem: other } = await requestOf('CN=later');
    tree.ok(center, 'create', '-f', file(request('later', other)));
    tree.ok(center, 'certificate', 'approve', 'later');
    await until('a later one is signed', () => of('later', '{.status.certificate}') !== '');
    expect([of('eve', '{.status.certificate}'), of('eve', '{.status.conditions[*].type}')]).toEqual(['', 'Denied']);
  });

  it('that no user may have is refused, or fails with the reason', async () => {
    const { pem: master } = await requestOf('CN=eve, O=system:masters');
    expect(tree.kubectl(center, ['create', '-f', file(request('master', master))]).out).toContain(
      `use of ${clientSigner} signer with system:masters group is not allowed`,
    );
    const { pem } = await requestOf('CN=eve');
    const refused = (spec: object, text = pem) =>
      tree.kubectl(center, ['create', '-f', file(request('wrong', text, spec))]).out;
    expect(refused({}, 'no request')).toContain('PEM block type must be CERTIFICATE REQUEST');
    expect(refused({ expirationSeconds: 60 })).toContain('may not specify a duration less than 600 seconds');
    expect(refused({ usages: ['client auth', 'flying'] })).toContain('spec.usages[1]: Unsupported value: "flying"');
    expect(refused({ usages: [] })).toContain('spec.usages: Required value');
    expect(refused({ signerName: 'nobody' })).toContain('must be a fully qualified domain and path');
    tree.ok(center, 'create', '-f', file(request('server', pem, { usages: ['server auth'] })));
    tree.ok(center, 'certificate', 'approve', 'server');
    await until('it has failed', () => of('server', '{.status.conditions[*].type}') === 'Approved Failed');
    expect(of('server', '{.status.conditions[?(@.type=="Failed")].message}')).toBe(
      'invalid usage for client certificate: server auth',
    );
  });

  it('for a signer of Kubernetes that no node has is stored with a warning', async () => {
    const { pem } = await requestOf('CN=system:node:x, O=system:nodes');
    const signerName = 'kubernetes.io/kube-apiserver-client-kubelet';
    expect(tree.kubectl(center, ['create', '-f', file(request('kubelet', pem, { signerName }))]).out).toContain(
      `Warning: spec.signerName: no node signs for "${signerName}"; for a user, write ${clientSigner}`,
    );
  });

  it('for another signer is stored and unsigned, and only somebody with the verb may sign it', async () => {
    const { pem } = await requestOf('CN=other');
    tree.ok(center, 'create', '-f', file(request('other', pem, { signerName: 'example.com/own' })));
    tree.ok(center, 'certificate', 'approve', 'other');
    const current = JSON.parse(tree.ok(center, 'get', 'csr', 'other', '-o', 'json'));
    const certificate = readFileSync(join(tree.data, 'pki/users_ca.crt')).toString('base64');
    const signed = file({ ...current, status: { ...current.status, certificate } });
    const url = `${requests}/other/status`;
    expect(as('asker', center, 'replace', '--raw', url, '-f', signed).out).toContain(
      'user not permitted to sign requests with signerName "example.com/own"',
    );
    expect(tree.kubectl(center, ['replace', '--raw', url, '-f', signed]).code).toBe(0);
    expect(of('other', '{.status.certificate}')).toBe(certificate);
  });

  it('at a node without the key is stored with a warning, and in a workload space is cargo', async () => {
    const { pem } = await requestOf('CN=jane');
    expect(tree.kubectl('node/eu', ['create', '-f', file(request('jane', pem))]).out).toContain(
      "Warning: this node has no key of the users' authority",
    );
    tree.ok('node/eu', 'certificate', 'approve', 'jane');
    const retail = 'space/center/retail';
    tree.ok(retail, 'create', '-f', file(request('jane', pem, { username: 'somebody' })));
    expect(of('jane', '{.spec.username}', retail)).toBe('somebody');
    // An approval there is a condition of the cargo. Nobody signs.
    tree.ok(retail, 'certificate', 'approve', 'jane');
    expect(of('jane', '{.status.certificate}', retail)).toBe('');
    expect(of('jane', '{.status.certificate}', 'node/eu')).toBe('');
  });
});

/** A request with a new RSA key, as openssl makes it by default. */
async function requestOf(subject: string): Promise<{ pem: string; keyPem: string }> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const rsa = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  const keys = {
    privateKey: await webcrypto.subtle.importKey(
      'pkcs8',
      new Uint8Array(privateKey.export({ type: 'pkcs8', format: 'der' })),
      rsa,
      true,
      ['sign'],
    ),
    publicKey: await webcrypto.subtle.importKey(
      'spki',
      new Uint8Array(publicKey.export({ type: 'spki', format: 'der' })),
      rsa,
      true,
      ['verify'],
    ),
  };
  x509.cryptoProvider.set(webcrypto as Crypto);
  const made = await x509.Pkcs10CertificateRequestGenerator.create({ name: subject, keys, signingAlgorithm: rsa });
  return {
    pem: `${made.toString('pem')}\n`,
    keyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}
