import { describe, expect, it } from 'vitest';
import { askedAccess } from '../../../../../core/apiserver/http/asked-access.ts';

const user = { name: 'jo', groups: [] };

/** The place, the attributes without the user, and the path at the place, of a request at the node `eu`. */
function asked(method: string, url: string) {
  const { pathname, searchParams } = new URL(`https://node${url}`);
  const { place, attributes, path } = askedAccess({ user, method, path: pathname, query: searchParams }, 'eu');
  const { user: _user, ...rest } = attributes;
  return { place, path, ...rest };
}

const inShop = { apiGroup: '', subresource: '', namespace: 'shop', name: '' };

describe('a request is about', () => {
  it.each([
    ['GET', '/api/v1/namespaces/shop/pods', { place: { node: 'eu' }, verb: 'list', resource: 'pods', ...inShop }],
    ['GET', '/metrics', { place: { node: 'eu' }, verb: 'get', path: '/metrics' }],
    [
      'GET',
      '/spaces/retail/api/v1/namespaces/shop/pods?watch=1',
      { place: { space: 'retail' }, verb: 'watch', resource: 'pods', ...inShop },
    ],
    [
      'GET',
      '/fleet/retail/api/v1/namespaces/shop/pods',
      { place: { space: 'retail' }, verb: 'list', resource: 'pods', ...inShop },
    ],
    ['GET', '/spaces/retail', { place: { space: 'retail' }, verb: 'get', path: '/' }],
    ['GET', '/spaces/a%2Fb/api', { place: { space: 'a/b' }, verb: 'get', path: '/api' }],
    ['GET', '/mailboxes/paris~1/apis', { place: { mailbox: 'paris~1' }, verb: 'get', path: '/apis' }],
    [
      'GET',
      '/reported/eu:paris:till/api/v1/namespaces/shop/pods',
      { place: { cluster: 'eu:paris:till' }, verb: 'list', resource: 'pods', ...inShop },
    ],
  ])('%s %s', (method, url, expected) => {
    expect(asked(method, url)).toMatchObject(expected);
  });

  it.each([
    [
      'POST',
      '/spaces/retail/plan',
      { place: { space: 'retail' }, verb: 'create', resource: 'edgeplacements', subresource: 'plan' },
    ],
    ['POST', '/spaces/retail/plan/rows', { verb: 'create', resource: 'edgeplacements', subresource: 'plan', name: '' }],
    [
      'POST',
      '/mailboxes/till/plan',
      { place: { mailbox: 'till' }, verb: 'create', resource: 'mailboxes', subresource: 'plan', name: 'till' },
    ],
    [
      'GET',
      '/spaces/retail/history/shop',
      { verb: 'get', resource: 'edgeplacements', subresource: 'history', name: 'shop' },
    ],
    [
      'GET',
      '/spaces/retail/undo/shop?to=3',
      { verb: 'get', resource: 'edgeplacements', subresource: 'undo', name: 'shop' },
    ],
  ])('%s %s, as a subresource of placements', (method, url, expected) => {
    expect(asked(method, url)).toMatchObject(expected);
  });

  it.each([
    ['/tree/eu:paris/api/v1/namespaces/shop/pods', { place: { node: 'eu:paris' }, resource: 'pods', ...inShop }],
    ['/tree/center/spaces/retail/api/v1/namespaces/shop/pods', { place: { node: '' }, resource: 'pods', ...inShop }],
    ['/tree/eu:paris/mailboxes/till/apis', { place: { node: 'eu:paris' }, path: '/apis' }],
    [
      '/tree/eu:paris:till/cluster/api/v1/namespaces/shop/pods',
      { place: { cluster: 'eu:paris:till' }, resource: 'pods', ...inShop },
    ],
    ['/tree/eu:paris:till/cluster', { place: { cluster: 'eu:paris:till' }, path: '/' }],
    ['/tree/eu:paris/healthz', { place: { node: 'eu:paris' }, path: '/healthz' }],
    ['/tree/eu:paris/tree/us/api', { place: { node: 'eu:paris' }, path: '/tree/us/api' }],
    ['/tree/eu/%2e%2e/us/api', { place: { node: 'us' }, path: '/api' }],
  ])('GET %s, at another node', (url, expected) => {
    expect(asked('GET', url)).toMatchObject(expected);
  });
});
