/** Who may have a stream pass or end at a node, as long as rights can't be given (docs/decisions/0003-users.md). */
import type { RequestOrigin, StreamRequest } from './stream.ts';

const administrators = 'system:masters';

/**
 * Administrators only. Whoever is above is believed who it speaks for: it could send workloads just as well. Whoever is below is not, unless
 * that is configured: an agent in a shop could name any user it likes.
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
