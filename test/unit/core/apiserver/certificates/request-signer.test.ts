/** The signer and the cleanup of CertificateSigningRequests, over a real system space. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import {
  type RequestControllers,
  requestControllers,
} from '../../../../../core/apiserver/certificates/request-controllers.ts';
import type { SigningRequest } from '../../../../../core/apiserver/certificates/signing-request.ts';
import type { Space } from '../../../../../core/apiserver/space.ts';
import type { UserSigner } from '../../../../../core/identity/user-signer.ts';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../../core/store/memory/memory-store.ts';
import { openSpace } from '../../../../../relay/spaces/own-spaces.ts';

let clock: VirtualClock;
let space: Space;
let controllers: RequestControllers;
let signed: string[];
let sign: UserSigner['sign'];
beforeEach(() => {
  clock = new VirtualClock(Date.UTC(2030, 0, 1));
  const ports = { store: new MemoryStore(), clock, random: new SeededRandom(1), log: silentLogger, path: '' };
  ({ space } = openSpace({ ...ports, defer: () => {} }, 'system', 'System', () => {}));
  signed = [];
  sign = async ({ pem }) => {
    signed.push(pem);
    return `certificate for ${pem}`;
  };
  const signer: UserSigner = { sign: (asked) => sign(asked) };
  controllers = requestControllers({ space, signer, clock, log: silentLogger, revokedAtMs: () => undefined });
});
afterEach(() => controllers.stop());

const keyOf = (name: string) => ({
  group: 'certificates.k8s.io',
  resource: 'certificatesigningrequests',
  namespace: '',
  name,
});
const read = (name: string) => space.get(keyOf(name)) as SigningRequest | undefined;
const create = (name: string, spec: object = {}) =>
  space.create({
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name },
    spec: {
      request: Buffer.from(name).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client',
      usages: ['client auth'],
      ...spec,
    },
  });
const approve = (name: string) => {
  const lastUpdateTime = new Date(clock.wallMs()).toISOString();
  const conditions = [{ type: 'Approved', status: 'True', lastUpdateTime }];
  space.update({ ...read(name)!, status: { conditions } }, { subresource: 'status' });
};
const certificateOf = (name: string) => Buffer.from(read(name)?.status?.certificate ?? '', 'base64').toString();
const conditionsOf = (name: string) => read(name)?.status?.conditions?.map(({ type }) => type);

it('signs what was approved before the start and after the start, and nothing else', async () => {
  for (const name of ['before', 'pending']) create(name);
  create('other', { signerName: 'example.com/own' });
  approve('before');
  approve('other');
  controllers.start();
  create('after');
  approve('after');
  await vi.waitFor(() => expect(certificateOf('after')).toBe('certificate for after'));
  expect(signed).toEqual(['before', 'after']);
  expect([certificateOf('pending'), certificateOf('other')]).toEqual(['', '']);
});

it('writes why a request can not be signed', async () => {
  sign = async () => {
    throw new BanyanError('Invalid', 'it is bad');
  };
  controllers.start();
  create('bad');
  approve('bad');
  create('wrong', { usages: ['server auth'] });
  approve('wrong');
  await vi.waitFor(() => expect(conditionsOf('wrong')).toEqual(['Approved', 'Failed']));
  expect(read('bad')?.status?.conditions?.[1]).toMatchObject({
    reason: 'SignerValidationFailure',
    message: 'it is bad',
  });
});

it('tries again after a minute if the reason is not in the request', async () => {
  const good = sign;
  let tries = 0;
  sign = async () => {
    tries += 1;
    throw new BanyanError('Unavailable', 'expired');
  };
  controllers.start();
  create('jane');
  approve('jane');
  await vi.waitFor(() => expect(tries).toBe(1));
  await new Promise((done) => setImmediate(done));
  sign = good;
  clock.advance(59_999);
  expect(signed).toEqual([]);
  await new Promise((done) => setImmediate(done));
  clock.advance(1);
  await vi.waitFor(() => expect(certificateOf('jane')).toBe('certificate for jane'));
});

it('writes no certificate into another request of the same name', async () => {
  let go = () => {};
  sign = ({ pem }) => new Promise((done) => (go = () => done(`certificate for ${pem}`)));
  controllers.start();
  create('jane');
  approve('jane');
  await vi.waitFor(() => expect(go).not.toBe(undefined));
  space.delete(keyOf('jane'));
  create('jane', { request: Buffer.from('another').toString('base64') });
  go();
  await new Promise((done) => setImmediate(done));
  expect(certificateOf('jane')).toBe('');
});

it('deletes old requests every hour, also after many', async () => {
  controllers.start();
  for (let i = 0; i < 600; i++) create(`r${i}`);
  const left = () =>
    space.storage.scan({ group: 'certificates.k8s.io', resource: 'certificatesigningrequests' }).length;
  clock.advance(24 * 3_600_000);
  expect(left()).toBe(600);
  clock.advance(3_600_000);
  expect(left()).toBe(0);
  expect(signed).toEqual([]);
});
