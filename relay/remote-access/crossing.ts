/** Whether users of other nodes may pass through this node, and whether they may ask the node at all. */
import type { Authorizer } from '../../core/access/authorizer.ts';
import { fromAboveGroup } from '../../core/access/subjects.ts';
import { shownPath } from '../../core/identity/node-path.ts';
import { apiKind, clusterKind } from '../../core/stream/http.ts';
import type { StreamRulesPorts } from '../../core/stream/rules.ts';

export interface CrossingPorts {
  /** The path of this node. */
  readonly path: string;
  readonly authorizer: Pick<Authorizer, 'reaches'>;
  /** `access.fromAbove` of the node's configuration. */
  readonly fromAbove: string;
}

/**
 * A node on the way sees no request, only where the stream goes. So the node asks whether the user has any right there. At its end, the API decides about each
 * request.
 */
export function crossingRefusal({ path, authorizer, fromAbove }: CrossingPorts): StreamRulesPorts['refusal'] {
  return (user, { path: target, kind }) => {
    if (fromAbove === 'none' && user.groups.includes(fromAboveGroup)) {
      return `${shownPath(path)} gives no rights to users of nodes above: access.fromAbove of its configuration is none`;
    }
    if (target === path && kind === apiKind) return undefined;
    if (authorizer.reaches(user, kind === clusterKind ? { cluster: target } : { node: target })) return undefined;
    return `no AccessGrant of ${shownPath(path)} gives User ${JSON.stringify(user.name)} a right at ${shownPath(target)}`;
  };
}
