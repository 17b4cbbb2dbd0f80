/** The rights of users in the system space of a node. They come from its RBAC objects, and from the AccessGrants for the node itself. */
import type { AccessGrants } from './access-grants.ts';
import type { Rbac, Rights } from './rbac.ts';

/** The result follows all later changes of `rbac` and `grants`. `path` is the path of the node. */
export function systemRights(rbac: Rbac, grants: AccessGrants, path: string): Rights {
  const place = { node: path };
  return {
    decide(attributes) {
      const byRoles = rbac.decide(attributes);
      if (byRoles.allowed) return byRoles;
      const byGrants = grants.decide(attributes, place);
      if (byGrants.allowed) return byGrants;
      return { allowed: false, reason: [byRoles.reason, byGrants.reason].filter((text) => text !== '').join('; ') };
    },
    rulesOf(user, namespace) {
      const byRoles = rbac.rulesOf(user, namespace);
      const byGrants = grants.rulesOfPart(user, { place });
      return {
        rules: [...byRoles.rules, ...byGrants.rules],
        missing: [...byRoles.missing, ...byGrants.missing],
      };
    },
    rulesOfRole: (ref, namespace) => rbac.rulesOfRole(ref, namespace),
    rolesThatGet: (role) => rbac.rolesThatGet(role),
  };
}
