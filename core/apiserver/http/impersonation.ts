/**
 * Requests to act as another user: kubectl's --as, --as-group, --as-uid and --as-user-extra, with the headers and rights of Kubernetes
 * (https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation).
 */
import type { AccessAttributes } from '../../access/attributes.ts';
import { type AccessDecision, accessRefused } from '../../access/refusal.ts';
import {
  authenticatedGroup,
  serviceAccountGroups,
  serviceAccountOf,
  unauthenticatedGroup,
} from '../../access/subjects.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { UserInfo } from '../space.ts';
import { decodePart } from './route.ts';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

const prefix = 'impersonate-';
const extraPrefix = 'impersonate-extra-';
const anonymous = 'system:anonymous';

/**
 * The user as whom the request acts. Throws Forbidden if the user lacks the verb `impersonate` on anything that the headers name, and BadRequest for headers
 * that name no user. `decide`: decides about the user in the system space of the node.
 */
export function impersonated(
  headers: Headers,
  user: UserInfo,
  decide: (attributes: AccessAttributes) => AccessDecision,
): UserInfo {
  // The client chooses the end of the name Impersonate-Extra-*. A header with an empty value counts too.
  const names = Object.keys(headers).filter((header) => header.startsWith(prefix));
  if (names.length === 0) return user;
  const unknown = names.find((name) => !known.has(name) && !name.startsWith(extraPrefix));
  if (unknown !== undefined)
    throw new BanyanError('BadRequest', `${headerName(unknown)} is no header of impersonation`);
  const name = textOf(headers, 'impersonate-user');
  if (name === '') {
    const remedy = 'add Impersonate-User (kubectl: --as)';
    throw new BanyanError('BadRequest', `${names.map(headerName).join(', ')}: these headers act as no user: ${remedy}`);
  }
  const asked = { name, groups: groupsOf(headers), uid: textOf(headers, 'impersonate-uid'), extra: extraOf(headers) };
  for (const attributes of rightsFor(asked)) {
    const wanted = { user, verb: 'impersonate', namespace: '', subresource: '', ...attributes };
    const { allowed, reason } = decide(wanted);
    if (!allowed) throw accessRefused(wanted, reason);
  }
  return actingAs(asked);
}

const known: ReadonlySet<string> = new Set(['impersonate-user', 'impersonate-group', 'impersonate-uid']);

interface Asked {
  readonly name: string;
  readonly groups: readonly string[];
  readonly uid: string;
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

interface Right {
  readonly apiGroup: string;
  readonly resource: string;
  readonly name: string;
  readonly namespace?: string;
  readonly subresource?: string;
}

function rightsFor({ name, groups, uid, extra }: Asked): Right[] {
  const authentication = 'authentication.k8s.io';
  const account = serviceAccountOf(name);
  const who = account ? { resource: 'serviceaccounts', ...account } : { resource: 'users', name };
  return [
    { apiGroup: '', ...who },
    ...groups.map((group) => ({ apiGroup: '', resource: 'groups', name: group })),
    ...(uid === '' ? [] : [{ apiGroup: authentication, resource: 'uids', name: uid }]),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((value) => ({ apiGroup: authentication, resource: 'userextras', subresource: key, name: value })),
    ),
  ];
}

/** A ServiceAccount gets its own groups if the headers name none. Every user but the anonymous one is authenticated. */
function actingAs({ name, groups, uid, extra }: Asked): UserInfo {
  const account = serviceAccountOf(name);
  const own = groups.length === 0 && account ? serviceAccountGroups(account.namespace) : groups;
  const standing = name === anonymous ? unauthenticatedGroup : authenticatedGroup;
  return {
    name,
    groups: own.includes(standing) || own.includes(unauthenticatedGroup) ? own : [...own, standing],
    ...(uid === '' ? {} : { uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

function groupsOf(headers: Headers): string[] {
  return valuesOf(headers, 'impersonate-group');
}

/** The name of an extra is encoded, because names of headers have few characters. */
function extraOf(headers: Headers): Record<string, string[]> {
  const names = Object.keys(headers).filter((name) => name.startsWith(extraPrefix));
  return Object.fromEntries(names.map((name) => [decodePart(name.slice(extraPrefix.length)), valuesOf(headers, name)]));
}

function textOf(headers: Headers, name: string): string {
  return [headers[name] ?? ''].flat().join(', ');
}

/** Node's HTTP server joins repeated headers by ", ", and HTTP/2 may keep them apart. */
function valuesOf(headers: Headers, name: string): string[] {
  const value = headers[name];
  return value === undefined ? [] : [value].flat().flatMap((one) => one.split(', '));
}

/** The name as the Kubernetes documentation writes it. Node's HTTP server returns names in lower case. */
function headerName(name: string): string {
  return name.replaceAll(/(^|-)[a-z]/g, (letter) => letter.toUpperCase());
}
