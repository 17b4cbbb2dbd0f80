/**
 * Who may ask an agent beside a real cluster. The agent serves only health and metrics, and has no roles: the configuration names who may read the metrics. The
 * cluster has an API of its own.
 */
import { isForResource } from '../core/access/attributes.ts';
import type { Authorizer } from '../core/access/authorizer.ts';
import { onlyPrivileged } from '../core/access/authorizer.ts';
import { fromAboveGroup, isPrivileged, metricsRole } from '../core/access/subjects.ts';
import type { AgentConfig } from './config/config.ts';

export function agentAuthorizer({ fromAbove, metrics }: AgentConfig['access']): Authorizer {
  return {
    ...onlyPrivileged,
    decide(attributes) {
      const { user, verb } = attributes;
      const asksMetrics = !isForResource(attributes) && verb === 'get' && attributes.path === '/metrics';
      const mayRead =
        user.groups.includes(metricsRole) ||
        metrics.includes(user.name) ||
        (fromAbove === 'cluster-admin' && user.groups.includes(fromAboveGroup));
      const allowed = isPrivileged(user) || (asksMetrics && mayRead);
      const who = asksMetrics ? `, users in access.metrics of its configuration, and the group ${metricsRole}` : '';
      return { allowed, reason: allowed ? '' : `only members of system:masters${who} may ask this agent` };
    },
  };
}
