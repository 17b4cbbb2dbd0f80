import { describe, expect, it } from 'vitest';
import { failureOf, kubernetesStatusOf, successStatus } from '../../../../../core/apiserver/http/status.ts';
import { BanyanError, errorTable } from '../../../../../core/runtime/errors.ts';

describe('an error as a Status', () => {
  it('has the HTTP code and the reason that clients look for', () => {
    const expected = [
      ['BadRequest', 400, 'BadRequest'],
      ['Unauthorized', 401, 'Unauthorized'],
      ['Forbidden', 403, 'Forbidden'],
      ['NotFound', 404, 'NotFound'],
      ['MethodNotAllowed', 405, 'MethodNotAllowed'],
      ['NotAcceptable', 406, 'NotAcceptable'],
      ['AlreadyExists', 409, 'AlreadyExists'],
      ['Conflict', 409, 'Conflict'],
      ['Gone', 410, 'Gone'],
      ['Expired', 410, 'Expired'],
      ['TooLarge', 413, 'RequestEntityTooLarge'],
      ['UnsupportedMediaType', 415, 'UnsupportedMediaType'],
      ['Invalid', 422, 'Invalid'],
      ['TooManyRequests', 429, 'TooManyRequests'],
      ['Timeout', 504, 'Timeout'],
      ['Unavailable', 503, 'ServiceUnavailable'],
    ] as const;
    for (const [code, http, reason] of expected) {
      expect(kubernetesStatusOf(new BanyanError(code, 'why'))).toEqual({
        http,
        body: {
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Failure',
          message: 'why',
          reason,
          // Never absent: kubectl debug reads the field without a check.
          details: {},
          code: http,
        },
      });
    }
  });

  it('is a server failure for every code without a Kubernetes reason', () => {
    const own = Object.values(errorTable).filter(({ reason }) => reason === 'InternalError');
    for (const { http } of own) expect(http).toBeGreaterThanOrEqual(500);
    expect(own.length).toBeGreaterThan(0);
  });

  it('has the causes, and only the details that are known', () => {
    const causes = [{ reason: 'FieldValueInvalid', message: 'Invalid value: 0', field: 'spec.limit' }];
    const { body } = kubernetesStatusOf(
      new BanyanError('Invalid', 'why', { group: '', kind: 'Pod', name: 'a', causes }),
    );
    expect(body).toMatchObject({ details: { name: 'a', kind: 'Pod', causes } });
    expect(body).not.toHaveProperty('details.group');
  });

  it('has a cause without a field, and not with an empty field', () => {
    const causes = [{ reason: 'ResourceVersionTooLarge', message: 'why', field: '' }];
    const { body } = kubernetesStatusOf(new BanyanError('Timeout', 'why', { causes }));
    expect(body).toMatchObject({ details: { causes: [{ reason: 'ResourceVersionTooLarge', message: 'why' }] } });
    expect(body).not.toHaveProperty('details.causes.0.field');
  });

  it('states when to retry, for the header too', () => {
    const { body, retryAfterSeconds } = kubernetesStatusOf(
      new BanyanError('TooManyRequests', 'why', { retryAfterSeconds: 3 }),
    );
    expect(body).toMatchObject({ details: { retryAfterSeconds: 3 } });
    expect(retryAfterSeconds).toBe(3);
  });

  it('is InternalError for any other thrown value', () => {
    expect(kubernetesStatusOf(new ReferenceError('x is not defined'))).toMatchObject({
      http: 500,
      body: {
        reason: 'InternalError',
        code: 500,
        message: 'ReferenceError: x is not defined',
        details: { causes: [{ message: 'ReferenceError: x is not defined' }] },
      },
    });
    expect(kubernetesStatusOf('broken').body).toMatchObject({
      message: 'a value was thrown that is no error (string)',
    });
  });
});

describe('the answer to a request that failed', () => {
  const error = new BanyanError('TooManyRequests', 'why', { retryAfterSeconds: 3 });

  it('is a Status', () => {
    const { status, body, headers } = failureOf(error, 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json');
    expect([status, JSON.parse(body.toString())]).toEqual([429, kubernetesStatusOf(error).body]);
    expect(headers).toEqual({ 'retry-after': '3' });
  });

  it('is only the message for a discovery request: kubectl shows no Status there', () => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';
    const { status, body, headers } = failureOf(error, accept);
    expect([status, body.toString()]).toEqual([429, 'why\n']);
    expect(headers).toEqual({ 'retry-after': '3', 'content-type': 'text/plain; charset=utf-8' });
  });

  it.each(['NotFound', 'BadRequest'] as const)('shows the message to discovery: client-go hides that of %s', (code) => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';
    const { status, body } = failureOf(new BanyanError(code, 'there is no space "retial" here'), accept);
    expect([status, body.toString()]).toEqual([403, 'there is no space "retial" here\n']);
  });
});

describe('success', () => {
  it('names the deleted object', () => {
    expect(successStatus('deployments', 'apps', 'a', 'uid-1')).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name: 'a', group: 'apps', kind: 'deployments', uid: 'uid-1' },
    });
  });
});
