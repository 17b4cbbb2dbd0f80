import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { routeOf } from '../../../../../core/apiserver/http/route.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';

function resource(group: string, version: string, plural: string, namespace = '', name = '', subresource = '') {
  return { type: 'resource', of: { group, resource: plural }, version, namespace, name, subresource };
}

describe('the URL of a resource', () => {
  it.each([
    ['/api/v1/configmaps', resource('', 'v1', 'configmaps')],
    ['/api/v1/namespaces/shop/configmaps', resource('', 'v1', 'configmaps', 'shop')],
    ['/api/v1/namespaces/shop/configmaps/a', resource('', 'v1', 'configmaps', 'shop', 'a')],
    ['/api/v1/namespaces/shop/pods/a/status', resource('', 'v1', 'pods', 'shop', 'a', 'status')],
    ['/apis/apps/v1/deployments', resource('apps', 'v1', 'deployments')],
    ['/apis/apps/v1/namespaces/shop/deployments/a/scale', resource('apps', 'v1', 'deployments', 'shop', 'a', 'scale')],
    [
      '/apis/edge.banyan.io/v1alpha1/edgeplacements/a',
      resource('edge.banyan.io', 'v1alpha1', 'edgeplacements', '', 'a'),
    ],
    ['/apis/edge.banyan.io/v1alpha1/edgeplacements/', resource('edge.banyan.io', 'v1alpha1', 'edgeplacements')],
  ])('%s', (path, route) => {
    expect(routeOf(path)).toEqual(route);
  });

  it.each([
    ['/api/v1/namespaces', resource('', 'v1', 'namespaces')],
    ['/api/v1/namespaces/shop', resource('', 'v1', 'namespaces', '', 'shop')],
    ['/api/v1/namespaces/shop/status', resource('', 'v1', 'namespaces', '', 'shop', 'status')],
    ['/api/v1/namespaces/shop/finalize', resource('', 'v1', 'namespaces', '', 'shop', 'finalize')],
    ['/api/v1/namespaces/shop/services', resource('', 'v1', 'services', 'shop')],
    ['/api/v1/namespaces/status/services', resource('', 'v1', 'services', 'status')],
  ])('distinguishes a Namespace from its contents: %s', (path, route) => {
    expect(routeOf(path)).toEqual(route);
  });

  it('is decoded part by part', () => {
    expect(routeOf('/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Aa%2Fb')).toEqual(
      resource('rbac.authorization.k8s.io', 'v1', 'clusterroles', '', 'system:a/b'),
    );
  });

  it('round-trips, whatever the names', () => {
    const part = fc.string({ minLength: 1, unit: 'binary' }).filter((text) => text === Buffer.from(text).toString());
    fc.assert(
      fc.property(part, part, part, part, part, (group, version, namespace, plural, name) => {
        fc.pre(plural !== 'status' && plural !== 'finalize');
        const parts = ['apis', group, version, 'namespaces', namespace, plural, name];
        expect(routeOf(`/${parts.map(encodeURIComponent).join('/')}`)).toEqual(
          resource(group, version, plural, namespace, name),
        );
      }),
    );
  });
});

describe('every other URL', () => {
  it.each([
    ['/version', { type: 'version' }],
    ['/api', { type: 'api' }],
    ['/api/', { type: 'api' }],
    ['/apis', { type: 'apis' }],
    ['/api/v1', { type: 'group-version', group: '', version: 'v1' }],
    ['/apis/apps', { type: 'group', group: 'apps' }],
    ['/apis/apps/v1', { type: 'group-version', group: 'apps', version: 'v1' }],
    ['/openapi/v2', { type: 'openapi-v2' }],
    ['/openapi/v3', { type: 'openapi-v3' }],
    ['/openapi/v3/api/v1', { type: 'openapi-v3-document', group: '', version: 'v1' }],
    ['/openapi/v3/apis/apps/v1', { type: 'openapi-v3-document', group: 'apps', version: 'v1' }],
  ])('%s is a document', (path, route) => {
    expect(routeOf(path)).toEqual(route);
  });

  it.each([
    '/',
    '/ui',
    '/version/x',
    '/openapi',
    '/openapi/v4',
    '/openapi/v3/apis/apps',
    '/api/v1/namespaces/shop/pods/a/status/x',
    '/api/v1/configmaps/a/status/x',
    '/api//v1',
    '/api/v1//configmaps',
    '/api/v1/namespaces//configmaps',
    '/api/v1/configmaps//',
  ])('%s is unknown', (path) => {
    expect(routeOf(path)).toEqual({ type: 'unknown' });
  });

  it.each(['/%', '/api/v1/%zz', '/api/v1/configmaps/%ff'])('%s is refused for its escape', (path) => {
    expect(() => routeOf(path)).toThrow(BanyanError);
    expect(() => routeOf(path)).toThrow('the URL is malformed at "%');
  });
});
