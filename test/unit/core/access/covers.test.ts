import { describe, expect, it } from 'vitest';
import { describeRules, fullAuthority, missingRules } from '../../../../core/access/covers.ts';
import type { PolicyRule } from '../../../../core/access/rbac-objects.ts';
import { rule } from './rbac-objects.ts';

const url = (path: string, verbs = 'get'): PolicyRule => ({ verbs: verbs.split(' '), nonResourceURLs: [path] });
const covers = (held: readonly PolicyRule[], ...wanted: readonly PolicyRule[]) =>
  missingRules(held, wanted).length === 0;

describe('held rules cover wanted rules', () => {
  it('if each verb of each resource is in one held rule', () => {
    const held = [rule('get', 'pods'), rule('list', 'pods'), rule('get list', 'secrets')];
    expect(covers(held, rule('get list', 'pods secrets'))).toBe(true);
    expect(covers(held, rule('get watch', 'pods'))).toBe(false);
    expect(covers(held, rule('get', 'pods', { apiGroups: ['', 'apps'] }))).toBe(false);
  });

  it('by stars, and never a star by all items', () => {
    expect(covers(fullAuthority, rule('*', '*', { apiGroups: ['*'] }), url('*', '*'))).toBe(true);
    expect(covers([rule('*', '*')], rule('get', 'pods/log'))).toBe(true);
    expect(covers([rule('get list watch create update patch delete', 'pods')], rule('*', 'pods'))).toBe(false);
    expect(covers([rule('get', 'pods')], rule('get', '*'))).toBe(false);
  });

  it('about subresources', () => {
    expect(covers([rule('get', '*/scale')], rule('get', 'deployments/scale'))).toBe(true);
    expect(covers([rule('get', '*/scale')], rule('get', 'deployments'))).toBe(false);
    expect(covers([rule('get', 'pods')], rule('get', 'pods/log'))).toBe(false);
    expect(covers([rule('get', 'pods/*')], rule('get', 'pods/log'))).toBe(false);
    expect(covers([rule('get', 'pods/log')], rule('get', '*/log'))).toBe(false);
  });

  it('about names', () => {
    const named = rule('get', 'pods', { resourceNames: ['a', 'b'] });
    expect(covers([rule('get', 'pods')], named)).toBe(true);
    expect(covers([named], rule('get', 'pods', { resourceNames: ['b'] }))).toBe(true);
    expect(covers([named], rule('get', 'pods', { resourceNames: ['b', 'c'] }))).toBe(false);
    expect(covers([named], rule('get', 'pods'))).toBe(false);
    expect(
      covers(
        [
          { ...named, resourceNames: ['a'] },
          { ...named, resourceNames: ['b'] },
        ],
        named,
      ),
    ).toBe(true);
  });

  it('about URLs', () => {
    expect(covers([url('/healthz/*')], url('/healthz/etcd'))).toBe(true);
    expect(covers([url('/healthz/*')], url('/healthz/etcd/*'))).toBe(true);
    expect(covers([url('/healthz/*')], url('/healthz*'))).toBe(false);
    expect(covers([url('/healthz')], url('/healthz', 'get post'))).toBe(false);
    expect(covers([rule('*', '*', { apiGroups: ['*'] })], url('/healthz'))).toBe(false);
    expect(covers([url('*', '*')], rule('get', 'pods'))).toBe(false);
  });

  it('if the wanted rules allow nothing', () => {
    expect(covers([], rule('get', 'pods', { apiGroups: [] }), { verbs: [], nonResourceURLs: ['/x'] })).toBe(true);
    expect(covers([])).toBe(true);
  });
});

describe('the description of missing rules', () => {
  it('joins the verbs of one resource, and sorts', () => {
    const wanted = [
      rule('list get', 'secrets pods', { apiGroups: ['', 'apps'] }),
      rule('get', 'pods', { resourceNames: ['b', 'a'] }),
      rule('watch', 'pods'),
      url('/x', 'post get'),
      url('/x'),
    ];
    expect(describeRules(missingRules([], wanted)).split('\n')).toEqual([
      '{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["get"]}',
      '{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}',
      '{APIGroups:[""], Resources:["pods"], Verbs:["list" "get" "watch"]}',
      '{APIGroups:[""], Resources:["secrets"], Verbs:["list" "get"]}',
      '{APIGroups:["apps"], Resources:["pods"], Verbs:["list" "get"]}',
      '{APIGroups:["apps"], Resources:["secrets"], Verbs:["list" "get"]}',
      '{NonResourceURLs:["/x"], Verbs:["get"]}',
      '{NonResourceURLs:["/x"], Verbs:["post"]}',
    ]);
  });
});
