import { describe, expect, it } from 'vitest';
import { requestAttributes } from '../../../../core/access/attributes.ts';
import { routeOf } from '../../../../core/apiserver/http/route.ts';
import { type AuditLevel, type AuditPolicy, type AuditRule, auditDecision } from '../../../../core/audit/policy.ts';

const joe = { name: 'joe', groups: ['ops', 'system:authenticated'] };

function asked(line: string) {
  const [method = '', url = ''] = line.split(' ');
  const { pathname: path, searchParams: query } = new URL(url, 'https://node');
  const route = routeOf(path);
  return requestAttributes(joe, { method, path, query, ...(route.type === 'resource' ? { route } : {}) });
}

function levelOf(rule: Omit<AuditRule, 'level'>, line: string): AuditLevel {
  return auditDecision({ rules: [{ level: 'Request', ...rule }] }, asked(line)).level;
}

const core = (resources: string[], resourceNames?: string[]) => ({
  resources: [{ group: '', resources, ...(resourceNames ? { resourceNames } : {}) }],
});

/** What kube-apiserver does with each rule and request. */
const facts: readonly (readonly [string, Omit<AuditRule, 'level'>, string, boolean])[] = [
  ['a rule without conditions', {}, 'GET /healthz/x', true],
  ['empty lists', { users: [], verbs: [], resources: [], namespaces: [] }, 'GET /api/v1/pods', true],
  ['the user', { users: ['joe'] }, 'GET /api/v1/pods', true],
  ['another user', { users: ['eve'] }, 'GET /api/v1/pods', false],
  ['one of the groups', { userGroups: ['none', 'ops'] }, 'GET /version', true],
  ['user and group together', { users: ['joe'], userGroups: ['none'] }, 'GET /version', false],
  ['the verb', { verbs: ['list'] }, 'GET /api/v1/pods', true],
  ['the watch as a verb', { verbs: ['list'] }, 'GET /api/v1/pods?watch=1', false],
  ['no wildcard in verbs', { verbs: ['*'] }, 'GET /api/v1/pods', false],
  ['a resource', core(['pods']), 'GET /api/v1/namespaces/a/pods/p', true],
  ['no subresource by the resource', core(['pods']), 'GET /api/v1/namespaces/a/pods/p/log', false],
  ['a subresource', core(['pods/log']), 'GET /api/v1/namespaces/a/pods/p/log', true],
  ['all of a resource', core(['pods/*']), 'GET /api/v1/namespaces/a/pods/p/log', true],
  ['a subresource of all', core(['*/status']), 'PATCH /api/v1/namespaces/a/pods/p/status', true],
  ['not the resource by a subresource of all', core(['*/status']), 'PATCH /api/v1/namespaces/a/pods/p', false],
  ['all in the group', core(['*']), 'GET /api/v1/namespaces/a/pods/p/log', true],
  ['the group without resources', { resources: [{ group: 'apps' }] }, 'GET /apis/apps/v1/deployments', true],
  ['another group', core(['*']), 'GET /apis/apps/v1/deployments', false],
  ['a name', core(['pods'], ['p']), 'GET /api/v1/namespaces/a/pods/p', true],
  ['another name', core(['pods'], ['q']), 'GET /api/v1/namespaces/a/pods/p', false],
  ['no name of a list', core(['pods'], ['p']), 'GET /api/v1/namespaces/a/pods', false],
  ['a namespace', { namespaces: ['a'] }, 'GET /api/v1/namespaces/a/pods', true],
  ['the empty namespace for what is in none', { namespaces: [''] }, 'GET /api/v1/nodes', true],
  ['the empty namespace for all namespaces', { namespaces: [''] }, 'GET /api/v1/pods', true],
  ['not the empty namespace for one', { namespaces: [''] }, 'GET /api/v1/namespaces/a/pods', false],
  ['no path by a namespace', { namespaces: [''] }, 'GET /healthz/x', false],
  ['a path', { nonResourceURLs: ['/version'] }, 'GET /version', true],
  ['a path with an end', { nonResourceURLs: ['/health*'] }, 'GET /healthz/x', true],
  ['all paths', { nonResourceURLs: ['*'] }, 'GET /version', true],
  ['no resource by all paths', { nonResourceURLs: ['*'] }, 'GET /api/v1/pods', false],
];

describe('a policy', () => {
  for (const [title, rule, line, matches] of facts) {
    it(`${matches ? 'matches' : 'does not match'}: ${title}`, () => {
      expect(levelOf(rule, line)).toBe(matches ? 'Request' : 'None');
    });
  }

  it('follows the first matching rule, and adds the omitted stages of the policy', () => {
    const policy: AuditPolicy = {
      omitStages: ['RequestReceived'],
      omitManagedFields: true,
      rules: [
        { level: 'None', verbs: ['list'] },
        { level: 'Metadata', ...core(['pods']), omitStages: ['ResponseStarted'], omitManagedFields: false },
        { level: 'RequestResponse' },
      ],
    };
    expect(auditDecision(policy, asked('GET /api/v1/pods')).level).toBe('None');
    expect(auditDecision(policy, asked('GET /api/v1/namespaces/a/pods/p'))).toEqual({
      level: 'Metadata',
      omitStages: ['RequestReceived', 'ResponseStarted'],
      omitManagedFields: false,
    });
    expect(auditDecision(policy, asked('POST /api/v1/namespaces/a/secrets'))).toEqual({
      level: 'RequestResponse',
      omitStages: ['RequestReceived'],
      omitManagedFields: true,
    });
  });
});
