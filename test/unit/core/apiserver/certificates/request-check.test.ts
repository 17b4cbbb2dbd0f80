import { describe, expect, it } from 'vitest';
import {
  checkCertificate,
  checkConditions,
  checkNewRequest,
  usageProblem,
  withTimes,
} from '../../../../../core/apiserver/certificates/request-check.ts';
import {
  awaitsSignature,
  isRequestOver,
  type SigningRequest,
} from '../../../../../core/apiserver/certificates/signing-request.ts';

const request = (spec: object = {}, status?: SigningRequest['status']): SigningRequest => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name: 'jane', creationTimestamp: '2030-01-01T00:00:00Z' },
  spec: {
    request: '',
    signerName: 'kubernetes.io/kube-apiserver-client',
    usages: ['client auth'],
    ...spec,
  },
  ...(status ? { status } : {}),
});
const condition = (type: string, status = 'True', lastUpdateTime = '2030-01-01T00:00:00Z') => ({
  type,
  status,
  lastUpdateTime,
});

describe('the fields of a new request', () => {
  it.each([
    [{}, []],
    [{ usages: [] }, ['spec.usages']],
    [{ usages: ['client auth', 'client auth'] }, ['spec.usages[1]']],
    [{ usages: ['flying'] }, ['spec.usages[0]']],
    [{ signerName: '' }, ['spec.signerName']],
    [{ signerName: 'kubernetes.io/legacy-unknown' }, ['spec.signerName']],
    [{ signerName: 'nobody' }, ['spec.signerName']],
    [{ signerName: 'example.com/a/b' }, ['spec.signerName']],
    [{ signerName: 'Example.com/a' }, ['spec.signerName']],
    [{ signerName: 'example.com/own-1.x' }, []],
    [{ signerName: 'example.com/Own' }, ['spec.signerName']],
    [{ signerName: 'com/own' }, ['spec.signerName']],
    [{ signerName: `example.com/${'a.'.repeat(400)}a` }, ['spec.signerName']],
    [{ expirationSeconds: 599 }, ['spec.expirationSeconds']],
    [{ expirationSeconds: 600 }, []],
  ])('%j: %j', (spec, fields) => {
    expect(checkNewRequest(request(spec)).map(({ field }) => field)).toEqual(fields);
  });
});

it.each([
  [['client auth'], undefined],
  [['digital signature', 'key encipherment', 'client auth'], undefined],
  [['digital signature'], 'missing required usage for client certificate: client auth'],
  [['client auth', 'server auth'], 'invalid usage for client certificate: server auth'],
])('the usages %j of a certificate of a user: %s', (usages, problem) => {
  expect(usageProblem(usages)).toBe(problem);
});

describe('conditions', () => {
  it.each([
    [['Approved'], [], []],
    [['Approved', 'Denied'], [], ['status.conditions']],
    [['Denied'], ['Approved'], ['status.conditions']],
    [[], ['Failed'], ['status.conditions']],
    [['Own', 'Own'], [], ['status.conditions[1].type']],
    [[], ['Own'], []],
  ])('%j after %j: %j', (next, before, fields) => {
    const all = (types: readonly string[]) => types.map((type) => condition(type));
    expect(checkConditions(all(next), all(before)).map(({ field }) => field)).toEqual(fields);
  });

  it('that are decisions are true', () => {
    expect(checkConditions([condition('Approved', 'False')], []).map(({ field }) => field)).toEqual([
      'status.conditions[0].status',
    ]);
    expect(checkConditions([condition('Own', 'False')], [])).toEqual([]);
  });

  it('get the times that their writer leaves out', () => {
    const old = [{ type: 'Own', status: 'True', lastUpdateTime: 'a', lastTransitionTime: 'b' }];
    expect(
      withTimes(
        [
          { type: 'Own', status: 'True' },
          { type: 'New', status: 'True', lastUpdateTime: 'x' },
        ],
        old,
        'now',
      ),
    ).toEqual([
      { type: 'Own', status: 'True', lastUpdateTime: 'now', lastTransitionTime: 'b' },
      { type: 'New', status: 'True', lastUpdateTime: 'x', lastTransitionTime: 'now' },
    ]);
  });
});

it('a certificate is written once, and is one', () => {
  const text = Buffer.from('nothing').toString('base64');
  const broken = Buffer.from('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----').toString('base64');
  const messages = (next: string | undefined, old?: string) =>
    checkCertificate(next, old).map(({ message }) => message);
  expect([messages(undefined), messages(text, text)]).toEqual([[], []]);
  expect(messages(text)).toEqual([expect.stringContaining('at least one CERTIFICATE PEM block')]);
  expect(messages(broken)).toEqual([expect.stringMatching(/^Invalid value: "<certificate data>"/)]);
  for (const next of [undefined, broken])
    expect(messages(next, text)).toEqual(['Forbidden: updates may not change existing certificate content']);
});

it.each([
  ['nothing', [], '', false],
  ['an approval', ['Approved'], '', true],
  ['a refusal', ['Denied'], '', false],
  ['an approval and a failure', ['Approved', 'Failed'], '', false],
  ['an approval and a certificate', ['Approved'], 'c', false],
])('a request with %s waits for a signature: %s', (_, types, certificate, waits) => {
  const status = { conditions: types.map((type) => condition(type)), ...(certificate ? { certificate } : {}) };
  expect(awaitsSignature(request({}, status))).toBe(waits);
  expect(awaitsSignature(request({ signerName: 'example.com/own' }, status))).toBe(false);
});

describe('a request is deleted', () => {
  const startMs = Date.UTC(2030, 0, 1);
  const hourMs = 3_600_000;
  const over = (status: SigningRequest['status'], hours: number, endHours?: number) =>
    isRequestOver(
      request({}, status),
      startMs + hours * hourMs,
      endHours === undefined ? undefined : startMs + endHours * hourMs,
    );
  it.each([
    ['a day after it was made, if nobody has decided', undefined, 24],
    ['an hour after the refusal', { conditions: [condition('Denied')] }, 1],
    ['an hour after the failure', { conditions: [condition('Approved'), condition('Failed')] }, 1],
    ['an hour after the approval, if it was signed', { conditions: [condition('Approved')], certificate: 'c' }, 1],
  ])('%s', (_, status, hours) => {
    expect([over(status, hours), over(status, hours + 0.01)]).toEqual([false, true]);
  });

  it('when its certificate has ended, and never while its signer is away', () => {
    const late = condition('Approved', 'True', '2030-01-02T00:00:00Z');
    expect(over({ conditions: [late], certificate: 'c' }, 24, 23)).toBe(true);
    expect(over({ conditions: [condition('Approved')] }, 10_000)).toBe(false);
  });
});
