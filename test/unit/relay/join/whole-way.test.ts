/** From a token to a certificate and its renewal, over TLS, between the agent's code and the relay's. Only the processes are missing. */
import { X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import { Revocations } from '../../../../core/access/revocations.ts';
import { createIssuer } from '../../../../core/identity/authority.ts';
import { newKey, requestFor } from '../../../../core/identity/certificate-request.ts';
import { hashOfSecret, newJoinToken } from '../../../../core/identity/join-token.ts';
import { systemClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { systemRandom } from '../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { linkOptionsSchema } from '../../../../core/wire/dialer/link-options.ts';
import { joinParent, renewAtParent } from '../../../../core/wire/join/join-client.ts';
import { listenMesh } from '../../../../core/wire/network/mesh-listener.ts';
import { Admissions } from '../../../../relay/join/admissions.ts';
import { issuerSigner } from '../../../../relay/join/signer.ts';
import { openSpace } from '../../../../relay/spaces/own-spaces.ts';
import { TestTree } from '../../../support/test-tree.ts';

const ports = { clock: systemClock, random: systemRandom, log: silentLogger };
const path = 'eu:till';

it('an agent joins with a token, renews its certificate, and is refused when its SyncTarget is gone', async () => {
  const tree = await TestTree.create('shop');
  const store = new MemoryStore();
  const { space } = openSpace({ ...ports, store, defer: () => {}, path: 'eu' }, 'system', 'System', () => {});
  const issuer = await createIssuer(tree.authority, { tree: 'shop', path: 'eu' }, ports);
  const signer = issuerSigner('eu', {
    authority: () => tree.authority.certPem,
    issuer: () => issuer,
    subtreeIssuer: () => undefined,
    ...ports,
  });
  const joins = new Admissions({
    ...ports,
    path: 'eu',
    space,
    store,
    signer,
    endSession: () => {},
    revocations: new Revocations(),
    revoke: () => {},
  });
  const accept = () => {
    throw new Error('no session is begun here');
  };
  const credentials = await tree.credentials('eu', 'relay');
  const listener = await listenMesh({ host: '127.0.0.1', port: 0, credentials, accept, joins, log: silentLogger });
  const { name, secret, pin } = newJoinToken(tree.authority.certPem, systemRandom);
  const expires = new Date(Date.now() + 60_000).toISOString();
  const make = (kind: string, group: string, of: string, spec: object) =>
    space.create({ apiVersion: `${group}/v1alpha1`, kind, metadata: { name: of }, spec });
  make('SyncTarget', 'inventory.banyan.io', 'till', {});
  make('JoinToken', 'mesh.banyan.io', name, { path, expires, hash: hashOfSecret(secret) });

  const parent = { address: listener.address, path: 'eu' };
  const line = { parent, link: linkOptionsSchema.parse({}), environment: {}, clock: systemClock };
  const keyPem = newKey();
  const request = await requestFor(path, keyPem);
  const first = await joinParent(line, pin, { name, secret, path, request });
  expect(first.authority).toBe(tree.authority.certPem);
  const joined = tree.with({ certPem: first.certificate, keyPem });
  const next = await renewAtParent(line, joined, request);
  const [before, after] = [first, next].map(({ certificate }) => new X509Certificate(certificate));
  expect(after!.subjectAltName).toBe('URI:spiffe://shop/node/agent/eu/till');
  expect(after!.serialNumber).not.toBe(before!.serialNumber);
  await expect(renewAtParent(line, joined, await requestFor(path, newKey()))).rejects.toMatchObject({
    code: 'Forbidden',
    message: expect.stringMatching(/renewed only for the key of the certificate that the node has shown/),
  });
  space.delete({ group: 'inventory.banyan.io', resource: 'synctargets', namespace: '', name: 'till' });
  await expect(renewAtParent(line, joined, request)).rejects.toMatchObject({
    code: 'Forbidden',
    message: expect.stringMatching(/there is no SyncTarget of "eu:till" here/),
  });
  await listener[Symbol.asyncDispose]();
});
