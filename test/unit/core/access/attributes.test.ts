import { describe, expect, it } from 'vitest';
import { requestAttributes, reviewedAttributes } from '../../../../core/access/attributes.ts';
import { accessRefused } from '../../../../core/access/refusal.ts';
import { routeOf } from '../../../../core/apiserver/http/route.ts';
import { user } from './rbac-objects.ts';

const eve = user('eve');

/** `verb resource.group/subresource namespace name`, or `verb path`. */
function seen(method: string, url: string): string {
  const { pathname, searchParams } = new URL(url, 'https://node');
  const route = routeOf(pathname);
  const line = { method, path: pathname, query: searchParams };
  const attributes = requestAttributes(eve, route.type === 'resource' ? { ...line, route } : line);
  if ('path' in attributes) return `${attributes.verb} ${attributes.path}`;
  const { verb, resource, apiGroup, subresource, namespace, name } = attributes;
  return [verb, `${resource}.${apiGroup}/${subresource}`, namespace || '-', name || '-'].join(' ');
}

describe('the attributes of a request', () => {
  it.each([
    ['GET', '/api/v1/pods', 'list pods./ - -'],
    ['GET', '/api/v1/namespaces/shop/pods?watch=true', 'watch pods./ shop -'],
    ['GET', '/api/v1/namespaces/shop/pods?watch=', 'watch pods./ shop -'],
    ['GET', '/api/v1/namespaces/shop/pods?watch=FALSE', 'list pods./ shop -'],
    ['GET', '/api/v1/namespaces/shop/pods?watch=0&watch=1', 'list pods./ shop -'],
    ['GET', '/api/v1/namespaces/shop/pods/till?watch=true', 'get pods./ shop till'],
    ['HEAD', '/api/v1/namespaces/shop/pods/till', 'get pods./ shop till'],
    ['POST', '/apis/apps/v1/namespaces/shop/deployments?dryRun=All', 'create deployments.apps/ shop -'],
    ['PUT', '/apis/apps/v1/namespaces/shop/deployments/till/scale', 'update deployments.apps/scale shop till'],
    ['PATCH', '/apis/apps/v1/namespaces/shop/deployments/till', 'patch deployments.apps/ shop till'],
    ['DELETE', '/api/v1/namespaces/shop/pods/till', 'delete pods./ shop till'],
    ['DELETE', '/api/v1/namespaces/shop/pods', 'deletecollection pods./ shop -'],
    ['OPTIONS', '/api/v1/namespaces/shop/pods', ' pods./ shop -'],
    ['GET', '/metrics', 'get /metrics'],
    ['HEAD', '/metrics', 'head /metrics'],
    ['GET', '/apis/apps/v1', 'get /apis/apps/v1'],
  ])('%s %s', (method, url, expected) => {
    expect(seen(method, url)).toBe(expected);
  });

  it.each([
    ['/api/v1/namespaces/shop', 'get namespaces./ shop shop'],
    ['/api/v1/namespaces/shop/status', 'get namespaces./status shop shop'],
    ['/api/v1/namespaces', 'list namespaces./ - -'],
  ])('have the namespace of a request for one Namespace: %s', (url, expected) => {
    expect(seen('GET', url)).toBe(expected);
  });

  it.each([
    ['metadata.name=till', 'till'],
    ['metadata.name==till', 'till'],
    [',spec.nodeName!=a,metadata.name=till,', 'till'],
    ['metadata.name=till,metadata.name=other', 'till'],
    ['metadata.name=a\\,b', 'a,b'],
    ['metadata.name=a\\=b', 'a=b'],
    ['metadata.name=a\\\\b', 'a\\b'],
    ['metadata.name= till', ' till'],
    ['metadata.name!=till', '-'],
    ['metadata.name=', '-'],
    ['metadata.name=,metadata.name=till', '-'],
    ['metadata.namespace=till', '-'],
    [' metadata.name=till', '-'],
    ['metadata.name=till,broken', '-'],
    ['metadata.name=a=b', '-'],
    ['metadata.name=a\\b', '-'],
    ['metadata.name=a\\', '-'],
    ['metadata.name=..', '-'],
    ['metadata.name=a/b', '-'],
    ['metadata.name=a%', '-'],
  ])('take the name from the field selector %s', (selector, name) => {
    const url = `/api/v1/namespaces/shop/pods?fieldSelector=${encodeURIComponent(selector)}`;
    expect(seen('GET', url)).toBe(`list pods./ shop ${name}`);
    expect(seen('GET', `${url}&watch=1`)).toBe(`watch pods./ shop ${name}`);
  });

  it('have no name for the deletion of a collection, even with a field selector', () => {
    expect(seen('DELETE', '/api/v1/namespaces/shop/pods?fieldSelector=metadata.name=till')).toBe(
      'deletecollection pods./ shop -',
    );
  });

  it('come from the review of another user too', () => {
    const resourceAttributes = { verb: 'get', resource: 'pods', subresource: 'log', namespace: 'shop', name: 'till' };
    const expected = { user: eve, verb: 'get', apiGroup: '', resource: 'pods', subresource: 'log', namespace: 'shop' };
    expect(reviewedAttributes(eve, { resourceAttributes })).toEqual({ ...expected, name: 'till' });
    const nonResourceAttributes = { verb: 'get', path: '/metrics' };
    expect(reviewedAttributes(eve, { nonResourceAttributes })).toEqual({ user: eve, verb: 'get', path: '/metrics' });
    expect(reviewedAttributes(eve, {})).toEqual({ user: eve, verb: '', path: '' });
  });
});

describe('the refusal of a request', () => {
  const attributes = {
    user: eve,
    verb: 'list',
    apiGroup: '',
    resource: 'pods',
    subresource: '',
    namespace: 'shop',
    name: '',
  };

  it('names user, verb, resource, group and namespace', () => {
    const error = accessRefused(attributes, '');
    expect(error.message).toBe(
      'pods is forbidden: User "eve" cannot list resource "pods" in API group "" in the namespace "shop"',
    );
    expect(error.code).toBe('Forbidden');
    expect(error.details).toEqual({ group: '', kind: 'pods' });
  });

  it('names the object, the subresource and the reason', () => {
    const more = {
      verb: 'update',
      apiGroup: 'apps',
      resource: 'deployments',
      subresource: 'scale',
      namespace: '',
      name: 'till',
    };
    const error = accessRefused(
      { ...attributes, ...more },
      'RBAC: clusterrole.rbac.authorization.k8s.io "x" not found',
    );
    expect(error.message).toBe(
      'deployments.apps "till" is forbidden: User "eve" cannot update resource "deployments/scale" in API group "apps" at the cluster scope: RBAC: clusterrole.rbac.authorization.k8s.io "x" not found',
    );
    expect(error.details).toEqual({ group: 'apps', kind: 'deployments', name: 'till' });
  });

  it('names the path of a request for no resource', () => {
    const error = accessRefused({ user: eve, verb: 'get', path: '/metrics' }, '');
    expect(error.message).toBe('forbidden: User "eve" cannot get path "/metrics"');
  });

  it('contains no markup that a browser would show', () => {
    const error = accessRefused({ user: user('<b>&'), verb: 'get', path: '/x' }, '');
    expect(error.message).toBe('forbidden: User "&lt;b&gt;&amp;" cannot get path "/x"');
  });
});
