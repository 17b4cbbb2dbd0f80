import { expect, test } from 'vitest';
import { errorOfStatus } from '../../../../../edge-agent/cluster/kubernetes/status-error.ts';

const server = 'https://10.0.0.1:443';
const status = (fields: object) => JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', ...fields });

test('a Status keeps its reason, its message and its causes', () => {
  const message = 'configmaps is forbidden: User "agent" cannot patch resource "configmaps" in API group ""';
  const error = errorOfStatus(403, status({ reason: 'Forbidden', message }), undefined, server);
  expect(error).toMatchObject({ code: 'Forbidden', message });
  const cause = { reason: 'FieldValueInvalid', message: 'immutable', field: 'spec.selector' };
  const invalid = errorOfStatus(422, status({ reason: 'Invalid', details: { causes: [cause] } }), undefined, server);
  expect(invalid).toMatchObject({ code: 'Invalid', details: { causes: [cause] } });
});

test('conflicts and existing names are distinguished by their reason', () => {
  expect(errorOfStatus(409, status({ reason: 'AlreadyExists' }), undefined, server).code).toBe('AlreadyExists');
  expect(errorOfStatus(409, status({ reason: 'Conflict' }), undefined, server).code).toBe('Conflict');
});

test('an answer that is no Status gives the sender and the code', () => {
  const error = errorOfStatus(502, '<html>bad gateway</html>', undefined, server);
  expect(error).toMatchObject({ code: 'Unavailable', message: `${server} answered 502: <html>bad gateway</html>` });
  expect(errorOfStatus(418, '', undefined, server)).toMatchObject({
    code: 'BadRequest',
    message: `${server} answered 418`,
  });
  expect(errorOfStatus(500, 'null', undefined, server).code).toBe('Internal');
});

test.each([
  'default backend - 404',
  '404 page not found\n',
  '',
  status({ message: 'no reason' }),
  '{"reason":"NotFound"}',
])('a 404 that does not say that an object is gone is not treated as that: %j', (body) => {
  expect(errorOfStatus(404, body, undefined, server)).toMatchObject({ code: 'Unavailable', retry: 'backoff' });
  expect(errorOfStatus(404, status({ reason: 'NotFound' }), undefined, server).code).toBe('NotFound');
});

test('the error of such a 404 names the sender, and where to look', () => {
  expect(errorOfStatus(404, 'default backend - 404', undefined, server).message).toMatch(
    /^https:\/\/10\.0\.0\.1:443 answered 404: default backend - 404 \(an API server does not report .* check where the address/,
  );
});

test('the waiting time is read from the Status or the header, if the server asks for one', () => {
  const asked = status({ reason: 'TooManyRequests', details: { retryAfterSeconds: 3 } });
  expect(errorOfStatus(429, asked, '7', server).details.retryAfterSeconds).toBe(3);
  expect(errorOfStatus(429, '', '7', server).details.retryAfterSeconds).toBe(7);
  expect(errorOfStatus(503, '', 'Fri, 01 Jan 2027', server).details.retryAfterSeconds).toBeUndefined();
  expect(errorOfStatus(404, asked, undefined, server).details.retryAfterSeconds).toBeUndefined();
});
