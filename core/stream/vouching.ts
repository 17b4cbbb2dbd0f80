/**
 * Who asks for a stream. The first node on the way has authenticated the user, and vouches for the user with its own path. Every other node sees the user under
 * the name `VOUCHER:USER`: a node can give rights to `eu:alice`, and `alice` of another node gets none of them.
 */
import type { Requester } from '../access/attributes.ts';
import { authenticatedGroup, fromAboveGroup } from '../access/subjects.ts';
import { isAtOrBelow, shownPath } from '../identity/node-path.ts';
import type { StreamRequest } from './stream.ts';

type Vouched = Pick<StreamRequest, 'voucher' | 'user' | 'groups'>;

/** The user as the node at `ownPath` names the user. */
export function vouchedUser({ voucher, user, groups }: Vouched, ownPath: string): Requester {
  if (voucher === ownPath) return { name: user, groups };
  const named = (name: string) => `${shownPath(voucher)}:${name}`;
  const known = groups.filter((group) => group !== authenticatedGroup);
  const origin = isAtOrBelow(voucher, ownPath) ? [] : [fromAboveGroup];
  return { name: named(user), groups: [...known.map(named), authenticatedGroup, ...origin] };
}

/** The names of the request that other nodes see and that have a colon, with the text before the colon. */
export function firstSegments({ user, groups }: Pick<Vouched, 'user' | 'groups'>): {
  readonly what: 'user' | 'group';
  readonly name: string;
  readonly first: string;
}[] {
  const known = groups.filter((group) => group !== authenticatedGroup);
  const named = [{ what: 'user' as const, name: user }, ...known.map((name) => ({ what: 'group' as const, name }))];
  return named.flatMap(({ what, name }) => {
    const end = name.indexOf(':');
    return end > 0 ? [{ what, name, first: name.slice(0, end) }] : [];
  });
}

/**
 * Why the path can't be the voucher of a request. Undefined: it can. `child`: the path of the child that sent the request. Absent: the parent sent the request.
 * A node vouches for its own users, so nobody else in the tree can take their names.
 */
export function wrongVoucher(voucher: string, ownPath: string, child?: string): string | undefined {
  const shown = shownPath(voucher);
  if (shown === 'system' || shown.startsWith('system:')) {
    return `the node ${shown} can't vouch for users: names that begin with system: belong to Kubernetes; give the node another name`;
  }
  if (child !== undefined) {
    return isAtOrBelow(voucher, child)
      ? undefined
      : `${child} can't vouch for users of ${shown}, which is not below it`;
  }
  return isAtOrBelow(voucher, ownPath) ? `the parent can't vouch for users of ${shown}, which is not above` : undefined;
}
