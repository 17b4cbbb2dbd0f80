import { expect, it } from 'vitest';
import { agentAuthorizer } from '../../../edge-agent/agent-authorizer.ts';

const prometheus = 'center:system:serviceaccount:monitoring:prometheus';
const above = ['system:authenticated', 'banyan:from-above'];

it.each([
  ['a member of system:masters', { name: 'admin', groups: ['system:masters'] }, {}, true, true],
  ['a member of banyan:metrics', { name: 'p', groups: ['banyan:metrics'] }, {}, true, false],
  ['somebody else', { name: 'alice', groups: ['system:authenticated'] }, {}, false, false],
  ['a user of a node above', { name: prometheus, groups: above }, {}, false, false],
  ['the same, named in access.metrics', { name: prometheus, groups: above }, { metrics: [prometheus] }, true, false],
  ['the same, with cluster-admin', { name: prometheus, groups: above }, { fromAbove: 'cluster-admin' }, true, false],
] as const)('%s at an agent beside a real cluster', (_, user, access, metrics, version) => {
  const authorizer = agentAuthorizer({ fromAbove: 'grants', metrics: [], ...access } as Parameters<
    typeof agentAuthorizer
  >[0]);
  const asked = (path: string, verb = 'get') => authorizer.decide({ user, verb, path }, { node: 'eu:till' });
  expect([asked('/metrics').allowed, asked('/version').allowed, asked('/metrics', 'post').allowed]).toEqual([
    metrics,
    version,
    version,
  ]);
  if (!metrics) expect(asked('/metrics').reason).toContain('users in access.metrics of its configuration');
});
