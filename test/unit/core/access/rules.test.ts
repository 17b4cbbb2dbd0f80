import { describe, expect, it } from 'vitest';
import { ruleAllows } from '../../../../core/access/rules.ts';
import { rule, user } from './rbac-objects.ts';

const eve = user('eve');

/** `get apps/deployments/scale till`: verb, group, resource, subresource, name. */
function request(text: string) {
  const [verb = '', what = '', name = ''] = text.split(' ');
  const [apiGroup = '', resource = '', subresource = ''] = what.split('/');
  return { user: eve, verb, apiGroup, resource, subresource, namespace: 'shop', name };
}

const allows = (one: Parameters<typeof ruleAllows>[0], text: string) => ruleAllows(one, request(text));
const allowsPath = (url: string, path: string, verb = 'get') =>
  ruleAllows({ verbs: ['get'], nonResourceURLs: [url] }, { user: eve, verb, path });

describe('a rule', () => {
  it('allows only its verbs, groups and resources', () => {
    const one = rule('get list', 'pods services');
    expect(allows(one, 'get /pods')).toBe(true);
    expect(allows(one, 'list /services')).toBe(true);
    expect(allows(one, 'watch /pods')).toBe(false);
    expect(allows(one, 'GET /pods')).toBe(false);
    expect(allows(one, 'get apps/pods')).toBe(false);
    expect(allows(one, 'get /secrets')).toBe(false);
  });

  it('with stars allows everything', () => {
    const one = rule('*', '*', { apiGroups: ['*'] });
    expect(allows(one, 'frobnicate apps/deployments/scale till')).toBe(true);
    expect(ruleAllows(one, { user: eve, verb: 'get', path: '/x' })).toBe(false);
  });

  it('names a subresource, one subresource of all resources, or everything', () => {
    expect(allows(rule('get', 'pods'), 'get /pods/log')).toBe(false);
    expect(allows(rule('get', 'pods/log'), 'get /pods/log')).toBe(true);
    expect(allows(rule('get', 'pods/log'), 'get /pods')).toBe(false);
    expect(allows(rule('get', '*/log'), 'get /pods/log')).toBe(true);
    expect(allows(rule('get', '*/log'), 'get /pods/status')).toBe(false);
    expect(allows(rule('get', '*/log'), 'get /log')).toBe(false);
    expect(allows(rule('get', '*'), 'get /pods/log')).toBe(true);
    expect(allows(rule('get', '*/*'), 'get /pods/log')).toBe(false);
    expect(allows(rule('get', '*/'), 'get /pods')).toBe(false);
    expect(allows(rule('get', 'pods/*'), 'get /pods/log')).toBe(false);
  });

  it('with names allows only requests with one of these names', () => {
    const one = rule('get list create', 'pods', { resourceNames: ['till', 'bar'] });
    expect(allows(one, 'get /pods till')).toBe(true);
    expect(allows(one, 'list /pods bar')).toBe(true);
    expect(allows(one, 'get /pods foo')).toBe(false);
    expect(allows(one, 'list /pods')).toBe(false);
    expect(allows(one, 'create /pods')).toBe(false);
    expect(allows(rule('get', 'pods', { resourceNames: ['*'] }), 'get /pods till')).toBe(false);
    expect(allows(rule('get', 'pods', { resourceNames: [] }), 'get /pods till')).toBe(true);
    expect(allows(rule('list', 'pods', { resourceNames: [''] }), 'list /pods')).toBe(true);
  });

  it('without a list allows nothing', () => {
    expect(ruleAllows({ verbs: ['get'] }, request('get /pods'))).toBe(false);
    expect(ruleAllows({ verbs: ['get'], resources: ['*'] }, request('get /pods'))).toBe(false);
    expect(ruleAllows({ verbs: [], resources: ['*'], apiGroups: ['*'] }, request('get /pods'))).toBe(false);
  });

  it('about URLs allows one path, or all that begin alike', () => {
    expect(allowsPath('/metrics', '/metrics')).toBe(true);
    expect(allowsPath('/metrics', '/metrics/')).toBe(false);
    expect(allowsPath('/metrics', '/metrics', 'post')).toBe(false);
    expect(allowsPath('/healthz/*', '/healthz/etcd')).toBe(true);
    expect(allowsPath('/healthz/*', '/healthz/')).toBe(true);
    expect(allowsPath('/healthz/*', '/healthz')).toBe(false);
    expect(allowsPath('/heal**', '/healthz')).toBe(true);
    expect(allowsPath('/x*y', '/xay')).toBe(false);
    expect(allowsPath('*', '/anything')).toBe(true);
    expect(ruleAllows({ verbs: ['get'], nonResourceURLs: ['*'] }, request('get /pods'))).toBe(false);
  });
});

describe('a path with a million stars', () => {
  const stars = '*'.repeat(1_000_000);

  it.each([
    [stars, '/healthz', true],
    [`/a${stars}`, '/a/b', true],
    [`/a${stars}/*`, '/a/b', false],
  ])('is compared without a search from each star', (url, path, allowed) => {
    expect(allowsPath(url, path)).toBe(allowed);
  });
});
