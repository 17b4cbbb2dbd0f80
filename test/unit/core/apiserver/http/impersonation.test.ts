import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { refuseImpersonation } from '../../../../../core/apiserver/http/impersonation.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { ApiBench, answerOf, type Status, tls } from './api-bench.ts';

const configMaps = '/api/v1/namespaces/shop/configmaps';

let api: ApiBench;
/** The targets to which requests were passed on. */
const handedOn: string[] = [];
beforeAll(async () => {
  api = await ApiBench.start({
    tree: (target) => {
      handedOn.push(target);
      return undefined;
    },
  });
});
afterAll(() => api[Symbol.asyncDispose]());

async function asked(path: string, headers: Record<string, string>): Promise<Status & { http: number }> {
  const answer = await answerOf(api.open('GET', path, headers, true));
  return { ...answer.json<Status>(), http: answer.status };
}

describe('a request to act as somebody else is refused', () => {
  it.each([
    [{ 'impersonate-user': 'alice' }, 'users', 'alice', 'Impersonate-User'],
    [{ 'impersonate-user': 'alice', 'impersonate-group': 'dev' }, 'users', 'alice', 'Impersonate-User'],
    [{ 'impersonate-group': 'dev' }, 'groups', 'dev', 'Impersonate-Group'],
    [{ 'impersonate-uid': '7' }, 'uids', '7', 'Impersonate-Uid'],
    [{ 'impersonate-extra-scopes': 'view' }, 'userextras', 'view', 'Impersonate-Extra-Scopes'],
    [{ 'impersonate-user': '' }, 'users', '', 'Impersonate-User'],
  ])('%o', async (headers, kind, name, header) => {
    const status = await asked(configMaps, headers as Record<string, string>);
    expect(status).toMatchObject({ http: 403, code: 403, kind: 'Status', status: 'Failure', reason: 'Forbidden' });
    expect(status.details).toEqual(name === '' ? { kind } : { kind, name });
    expect(status.message).toBe(
      `${kind} ${JSON.stringify(name)} is forbidden: User "jo" cannot impersonate ${kind}: this node offers no impersonation: leave out ${header} (kubectl: --as, --as-group, --as-uid, --as-user-extra)`,
    );
  });

  it.each([
    '/version',
    '/apis',
    '/metrics',
    '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    '/tree/eu:paris:store-17/cluster/api/v1/pods',
  ])('for every URL: %s', async (path) => {
    expect((await asked(path, { 'impersonate-user': 'alice' })).http).toBe(403);
    expect(handedOn).toEqual([]);
  });

  it('also for a change of protocol, as exec does', async () => {
    const { ca, user } = await tls;
    const headers = { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'impersonate-user': 'alice' };
    const path = '/tree/eu:paris:store-17/cluster/api/v1/namespaces/shop/pods/till/exec?command=id';
    const request = get(`${api.url}${path}`, { ca, key: user.keyPem, cert: user.certPem, headers });
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    answer.resume();
    expect(answer.statusCode).toBe(403);
    expect(handedOn).toEqual([]);
  });

  it('but not without these headers', async () => {
    expect((await asked(configMaps, { 'x-impersonate-user': 'alice' })).http).toBe(200);
  });
});

it('with the name of the user, even if the client sent several names', () => {
  const refusal = () => refuseImpersonation({ 'impersonate-group': ['a', 'b'] }, 'jo');
  expect(refusal).toThrow(BanyanError);
  expect(refusal).toThrow(/^groups "a,b" is forbidden: User "jo" cannot impersonate groups/);
});
