import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ResourceAttributes } from '../../../../../core/access/attributes.ts';
import { impersonated } from '../../../../../core/apiserver/http/impersonation.ts';
import type { UserInfo } from '../../../../../core/apiserver/space.ts';
import { ApiBench, answerOf, tls } from './api-bench.ts';

const jo: UserInfo = { name: 'jo', groups: ['ops', 'system:authenticated'] };

/** The user as whom jo acts, and what jo needs for it: `resource name`. */
function acting(
  headers: Record<string, string | string[]>,
  allowed: (wanted: ResourceAttributes) => boolean = () => true,
) {
  const needed: string[] = [];
  const user = impersonated(headers, jo, (attributes) => {
    const wanted = attributes as ResourceAttributes;
    const { verb, apiGroup, resource, subresource, namespace, name } = wanted;
    needed.push(
      `${verb} ${[apiGroup, resource, subresource, namespace, name].filter((part) => part !== '').join('/')}`,
    );
    return { allowed: allowed(wanted), reason: '' };
  });
  return { user, needed };
}

describe('a request with headers of impersonation', () => {
  it('acts as the named user, who has only the named groups', () => {
    expect(acting({ 'impersonate-user': 'alice', 'impersonate-group': ['dev', 'tills'] })).toEqual({
      user: { name: 'alice', groups: ['dev', 'tills', 'system:authenticated'] },
      needed: ['impersonate users/alice', 'impersonate groups/dev', 'impersonate groups/tills'],
    });
  });

  it('acts as a ServiceAccount with its own groups', () => {
    const name = 'system:serviceaccount:shop:robot';
    expect(acting({ 'impersonate-user': name })).toEqual({
      user: { name, groups: ['system:serviceaccounts', 'system:serviceaccounts:shop', 'system:authenticated'] },
      needed: ['impersonate serviceaccounts/shop/robot'],
    });
  });

  it('needs a right for the uid and for each extra', () => {
    const headers = {
      'impersonate-user': 'alice',
      'impersonate-uid': '7',
      'impersonate-extra-acme.com%2Fproject': ['a', 'b'],
    };
    expect(acting(headers)).toEqual({
      user: { name: 'alice', groups: ['system:authenticated'], uid: '7', extra: { 'acme.com/project': ['a', 'b'] } },
      needed: [
        'impersonate users/alice',
        'impersonate authentication.k8s.io/uids/7',
        'impersonate authentication.k8s.io/userextras/acme.com/project/a',
        'impersonate authentication.k8s.io/userextras/acme.com/project/b',
      ],
    });
  });

  it('gives the anonymous user no authenticated group', () => {
    expect(acting({ 'impersonate-user': 'system:anonymous' }).user.groups).toEqual(['system:unauthenticated']);
  });

  it('needs each right: one missing right refuses the request', () => {
    const headers = { 'impersonate-user': 'alice', 'impersonate-group': 'system:masters' };
    expect(() => acting(headers, ({ resource }) => resource !== 'groups')).toThrow(
      'groups "system:masters" is forbidden: User "jo" cannot impersonate resource "groups" in API group "" at the cluster scope',
    );
  });

  it.each([
    [{ 'impersonate-group': 'dev' }, /^Impersonate-Group: these headers act as no user: add Impersonate-User/],
    [{ 'impersonate-user': '' }, /^Impersonate-User: these headers act as no user/],
    [{ 'impersonate-user': 'alice', 'impersonate-role': 'x' }, /^Impersonate-Role is no header of impersonation/],
  ])('is refused for %o', (headers, message) => {
    expect(() => acting(headers as Record<string, string>)).toThrow(message);
  });

  it('is the request of the user without these headers', () => {
    expect(acting({ 'x-impersonate-user': 'alice' })).toEqual({ user: jo, needed: [] });
  });
});

describe('an API server', () => {
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
  const asked = (path: string, headers: Record<string, string>) => answerOf(api.open('GET', path, headers, true));

  it.each([
    '/version',
    '/apis',
    '/metrics',
    '/api/v1/namespaces/shop/configmaps',
    '/tree/eu:paris:store-17/cluster/api/v1/pods',
  ])('answers with the rights of the other user at every URL: %s', async (path) => {
    expect((await asked(path, { 'impersonate-user': 'alice' })).status).toBe(403);
    expect(handedOn).toEqual([]);
    const powerful = { 'impersonate-user': 'alice', 'impersonate-group': 'system:masters' };
    expect((await asked(path, powerful)).status).toBe(200);
    handedOn.length = 0;
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
});
