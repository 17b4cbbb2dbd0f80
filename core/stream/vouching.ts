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

/**
 * Why the node at `ownPath` can't vouch for its user at other nodes: these would write `paris:jo` of this node as they write `jo` of its child `paris`. Undefined:
 * the node can. `isChild`: whether the node has a child of this name.
 */
export function namedAsOfChild(
  { user, groups }: Pick<Vouched, 'user' | 'groups'>,
  ownPath: string,
  isChild: (name: string) => boolean,
): string | undefined {
  // The names of the center begin with `center:` elsewhere, and no node is below a node of this name.
  if (ownPath === '') return undefined;
  const known = groups.filter((group) => group !== authenticatedGroup);
  const named = [['user', user] as const, ...known.map((group) => ['group', group] as const)];
  for (const [what, name] of named) {
    const child = name.slice(0, Math.max(0, name.indexOf(':')));
    if (child !== '' && isChild(child)) {
      return `other nodes would take the ${what} ${JSON.stringify(name)} for a ${what} of node ${ownPath}:${child}: give such names another prefix where they come from`;
    }
  }
  return undefined;
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
