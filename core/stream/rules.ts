/** Who may open a stream that passes or ends at a node, until users can have other rights (docs/decisions/0003-users.md). */
import type { RequestOrigin, StreamRequest } from './stream.ts';

const administrators = 'system:masters';

/**
 * Only administrators may. A node above is believed about the user that it names: it could send workloads just as well. A node below is not believed unless
 * that is configured: an agent in a shop could name any user.
 */
export function streamRules({ fromBelow }: { readonly fromBelow: boolean }) {
  return ({ user, groups, kind }: StreamRequest, origin: RequestOrigin): string | undefined => {
    if (origin === 'below' && !fromBelow) {
      return 'streams from below are not taken here: ask a node further up, or set streams.fromBelow in its configuration';
    }
    if (groups.includes(administrators)) return undefined;
    return `${user} may not open a stream of the kind ${kind}: only members of ${administrators} may`;
  };
}
