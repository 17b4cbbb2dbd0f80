/** Decides who may open a stream that passes through a node or ends there. Finer rights for users do not exist yet (docs/decisions/0003-users.md). */
import type { RequestOrigin, StreamRequest } from './stream.ts';

const administrators = 'system:masters';

/**
 * Allows only administrators. The node trusts a node above about the name of the user, because a node above could also send workloads. It trusts a node below
 * only if the configuration says so: an agent in a shop could name any user.
 */
export function streamRules({
  fromBelow,
  authorizedAbove = [],
}: {
  readonly fromBelow: boolean;
  /** Kinds of streams about objects of the node above: the node above has decided about the user. */
  readonly authorizedAbove?: readonly string[];
}) {
  return ({ user, groups, kind }: StreamRequest, origin: RequestOrigin): string | undefined => {
    if (origin === 'above' && authorizedAbove.includes(kind)) return undefined;
    if (origin === 'below' && !fromBelow) {
      return 'streams from below are not taken here: ask a node further up, or set streams.fromBelow in its configuration';
    }
    if (groups.includes(administrators)) return undefined;
    return `${user} may not open a stream of the kind ${kind}: only members of ${administrators} may`;
  };
}
