/**
 * Refuses requests to act as another user: kubectl's --as, --as-group, --as-uid and --as-user-extra. If a node ignored these headers, it would answer with
 * the rights of the real user. Then a test of another user's rights would always succeed.
 */
import { BanyanError } from '../../runtime/errors.ts';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

const prefix = 'impersonate-';

/** Throws Forbidden, with kube-apiserver's message for a client that is not allowed to impersonate. */
export function refuseImpersonation(headers: Headers, user: string): void {
  // The client chooses the end of the name Impersonate-Extra-*. A header with an empty value counts too.
  const name = Object.keys(headers).find((header) => header.startsWith(prefix));
  if (name === undefined) return;
  const { kind, value } = askedFor(headers, name);
  const refusal = `${kind} ${JSON.stringify(value)} is forbidden: User ${JSON.stringify(user)} cannot impersonate ${kind}`;
  const remedy = `this node offers no impersonation: leave out ${headerName(name)} (kubectl: --as, --as-group, --as-uid, --as-user-extra)`;
  throw new BanyanError('Forbidden', `${refusal}: ${remedy}`, { kind, name: value });
}

/** The user header is reported first, because the other headers only add facts about this user. */
function askedFor(headers: Headers, first: string): { kind: string; value: string } {
  const user = headers['impersonate-user'];
  if (user !== undefined) return { kind: 'users', value: String(user) };
  const kind = { 'impersonate-group': 'groups', 'impersonate-uid': 'uids' }[first] ?? 'userextras';
  return { kind, value: String(headers[first] ?? '') };
}

/** The name as the Kubernetes documentation writes it. Node's HTTP server returns names in lower case. */
function headerName(name: string): string {
  return name.replaceAll(/(^|-)[a-z]/g, (letter) => letter.toUpperCase());
}
